/**
 * One run, as the handler holds it.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import { read } from '../../core/validate.js'
import { shortestPath, type TaskState } from '../../core/lifecycle.js'
import type { ArtifactInput, MessageInput, TaskUpdate } from '../../core/params.js'
import type { Message, TaskSnapshot } from '../../core/task.js'
import type { JsonObject } from '../../core/json-types.js'
import { Question, type Queued } from './question.js'
import { Deciding } from './first-response.js'
import { toArtifact, toMessage, toProgress, toReply } from './agent-message.js'
import { textOf } from '../../wire/text.js'
import type { ArtifactOptions, Progress, ReadonlyMessage, Run, Say } from './run.js'
import type { RunContext } from './run-context.js'
import { RunTask } from './run-task.js'
import type { WorkedTasks } from '../tasks.js'
import type { MaybePromise } from '../../core/managers.js'
import type { Principal } from '../caller.js'

export class TaskRun<P extends Principal> implements Run<P> {
  readonly message: Message
  readonly decision = new Deciding()
  readonly #context: RunContext<P>
  #task: RunTask | undefined
  #contextId: string | undefined
  #controller: AbortController | undefined
  #abortReason: Error | undefined
  #question: Question<P> | undefined
  readonly #answered: Question<P>[] = []
  #isOver = false
  #replied: Promise<void> | undefined
  #isWorking = false
  /** Whether the task may have a status message. */
  #hasSpoken: boolean

  constructor(context: RunContext<P>, taskId?: string) {
    this.#context = context
    this.#task = taskId === undefined ? undefined : new RunTask(taskId, context.tasks)
    this.#hasSpoken = taskId !== undefined
    this.message = context.request.message
    // A message to a task has the task's context by now.
    this.#contextId = this.message.contextId
  }

  get text(): string {
    return textOf(this.message)
  }

  get task(): TaskSnapshot {
    return (this.#task ?? this.#open()).show(this.#abortReason)
  }

  get messages(): readonly ReadonlyMessage[] {
    return this.#task === undefined ? [this.message] : this.task.messages
  }

  get referenceTasks(): readonly TaskSnapshot[] {
    return this.#context.referenceTasks()
  }

  get principal(): P | undefined {
    return this.#context.caller.principal
  }

  get tenant(): string | undefined {
    return this.#context.request.tenant
  }

  get metadata(): JsonObject {
    return this.#context.request.metadata ?? {}
  }

  get extensions(): readonly string[] {
    return this.#context.caller.extensions
  }

  get acceptedOutputModes(): readonly string[] {
    return this.#context.request.acceptedOutputModes
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#abortReason !== undefined) this.#controller.abort(this.#abortReason)
      else this.#follow()
    }
    return this.#controller.signal
  }

  readonly start = (): void => {
    if (this.#isWorking) return
    this.#move('working')
    this.#drop()
  }

  readonly update = (report: string | Progress): void => {
    const progress = toProgress(report)
    const { id } = this.#begin()
    const message = this.#say(progress)
    this.#do(() => this.#tasks.patchTask(id, { message }))
    this.#hasSpoken = true
  }

  readonly artifact = (artifact: string | ArtifactInput, options?: ArtifactOptions): string => {
    const given = toArtifact(artifact)
    const checked = options && read(options, ['append', 'lastChunk'], 'run.artifact')
    const { id } = this.#begin()
    const event = this.#do(() => this.#tasks.appendArtifact(id, given, checked))
    // The manager gives an id to those that have none.
    return event.artifact.artifactId ?? ''
  }

  readonly requireInput = (prompt: Say): Promise<ReadonlyMessage> => this.#ask('input-required', prompt)

  readonly requireAuth = (prompt: Say): Promise<ReadonlyMessage> => this.#ask('auth-required', prompt)

  readonly complete = (message?: Say): void => this.#end('completed', message)

  readonly fail = (message?: Say): void => this.#end('failed', message)

  readonly reject = (message?: Say): void => this.#end('rejected', message)

  readonly reply = (message: Say | Promise<Say>): Promise<void> => {
    const replied = this.#reply(message)
    // The run waits for it in any case, and fails when it does.
    replied.catch(() => undefined)
    this.#replied = replied
    return replied
  }

  /** Settles when what the run is about to reply is known. */
  get replied(): Promise<void> | undefined {
    return this.#replied
  }

  async #reply(message: Say | Promise<Say>): Promise<void> {
    const said = await message
    if (this.decision.made?.type === 'message') throw new TypeError('run.reply() has answered already')
    if (this.#task !== undefined) {
      this.complete(said)
      return
    }
    const { generateId } = this.#context.settings
    const contextId = this.message.contextId ?? generateId()
    this.decision.make({ type: 'message', message: toReply(said, generateId(), contextId) })
  }

  get taskId(): string | undefined {
    return this.#task?.id
  }

  /** Whether the task has ended, or is gone. */
  get hasEnded(): boolean {
    return this.#task?.hasEnded ?? false
  }

  get hasReplied(): boolean {
    return this.decision.made?.type === 'message'
  }

  /** Why the run is over, where it was ended from outside. */
  get abortReason(): Error | undefined {
    if (this.#abortReason !== undefined || !this.#task?.hasEnded) return this.#abortReason
    const { signal } = this.#task
    if (!signal?.aborted) return undefined
    // Each signal has a reason of its own: the first that is seen is the run's.
    this.#abortReason = signal.reason as Error
    return this.#abortReason
  }

  /** The run waits for something: a client that does not want to wait gets a task. */
  openUnlessReplying(): void {
    if (this.#replied === undefined && this.#task === undefined) this.start()
  }

  /**
   * The user has said something to a task that waits. The message is in the conversation already.
   *
   * @returns Whether the run had asked.
   */
  resume(message: Queued<P>): boolean {
    const question = this.#question
    this.#question = undefined
    this.#move('working')
    this.#context.onWaiting(false)
    if (question === undefined) return false
    this.#answered.push(question)
    question.give(message)
    return true
  }

  get isWaiting(): boolean {
    return this.#question !== undefined
  }

  /** The answers that the executor has not looked at, oldest first. */
  takeUnread(): Queued<P>[] {
    const unread = this.#answered.flatMap((question) => question.unread ?? [])
    this.#answered.length = 0
    return unread
  }

  /** The executor has returned: nobody waits for an answer any more. */
  leave(): void {
    this.#isOver = true
    this.#task?.leave()
    this.#question?.drop()
    this.#question = undefined
    if (this.decision.made === undefined) this.decision.giveUp(new Error('The run came to nothing'))
  }

  /** Ends the run from outside. The task is the caller's to end. */
  abort(reason: Error): void {
    this.#abortReason ??= reason
    this.#controller?.abort(reason)
    this.#question?.drop(reason)
    this.#question = undefined
  }

  /** The task is gone, or not this process's any more. */
  detach(reason: Error): void {
    this.#task?.detach(reason)
    this.#answered.length = 0
    this.abort(reason)
  }

  /**
   * Completes the task, with `text` as an artifact, all at once.
   *
   * @returns `false`, and nothing has changed, when another process has changed the task meanwhile.
   */
  finish(text?: string): MaybePromise<boolean> {
    const { id } = this.#open()
    if (!this.#tasks.can(id, 'completed')) this.#isWorking = false
    this.start()
    const update: TaskUpdate = {
      state: 'completed',
      ...(text !== undefined && {
        artifacts: [{ artifactId: this.#context.settings.generateId(), parts: [{ text }] }],
      }),
      ...(this.#hasSpoken && { message: null }),
    }
    if (this.#tasks.finish === undefined) {
      this.#do(() => this.#tasks.patchTask(id, update))
      return true
    }
    return this.#tasks.finish(id, update).catch((error: unknown) => {
      throw this.#reasonOf(error)
    })
  }

  get #tasks(): WorkedTasks {
    return this.#context.tasks
  }

  /** The task, to be changed; makes it where there is none yet. */
  #open(): RunTask {
    this.#task?.requireOpen(this.#abortReason)
    if (this.#task !== undefined) return this.#task
    if (this.decision.made !== undefined) throw new TypeError('run.reply() has answered: there is no task')
    if (this.#abortReason !== undefined) throw this.#abortReason
    const { settings, owner, request, note } = this.#context
    const { contextId, referenceTaskIds } = this.message
    const [skill] = settings.card.skills
    const params = {
      skill: skill?.id ?? 'default',
      id: request.chosenId,
      contextId,
      referenceTaskIds,
      ...(typeof owner.owner === 'string' && { owner: owner.owner }),
    }
    const task = this.#tasks.createTask(params, note)
    this.#task = new RunTask(task.id, this.#tasks)
    this.#contextId = task.contextId
    try {
      this.#tasks.addMessage(task.id, { ...this.message, taskId: task.id, contextId: task.contextId })
    } catch (error) {
      this.#tasks.patchTask(task.id, { state: 'rejected' })
      this.decision.giveUp(error as Error)
      throw error
    }
    if (this.#controller !== undefined) this.#follow()
    this.#context.onTask(task)
    this.decision.make({ type: 'task', taskId: task.id })
    return this.#task
  }

  /** Reporting work says that there is work, unless the run waits for the user meanwhile. */
  #begin(): RunTask {
    const task = this.#open()
    if (!this.isWaiting) this.start()
    return task
  }

  #follow(): void {
    const signal = this.#task?.signal
    if (signal === undefined) return
    const abort = (): void => this.abort(signal.reason as Error)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  }

  #ask(state: 'input-required' | 'auth-required', prompt: Say): Promise<ReadonlyMessage> {
    if (this.isWaiting) throw new TypeError('The run waits for an answer already')
    if (this.#isOver) throw new TypeError('The run is over: nobody would get the answer')
    const { id } = this.#open()
    const question = new Question<P>(id)
    const next = this.#context.nextMessage(id)
    if (next !== undefined) {
      this.#answered.push(question)
      question.give(next)
      return question.answer
    }
    // Before anybody is told: a listener may answer at once.
    this.#question = question
    try {
      this.#tell(state, prompt)
    } catch (error) {
      this.#question = undefined
      throw error
    }
    this.#context.onWaiting(this.isWaiting)
    const { signal } = this
    if (signal.aborted) this.abort(signal.reason as Error)
    return question.answer
  }

  /** Nobody waits for the answer any more: the run goes on without, or has ended its task. */
  #drop(): void {
    if (this.#question === undefined) return
    this.#question.drop()
    this.#question = undefined
    this.#context.onWaiting(false)
  }

  #end(state: TaskState, message: Say | undefined): void {
    if (message === undefined) this.#move(state)
    else this.#tell(state, message)
    this.#drop()
  }

  /** Moves the task, with a message that joins the conversation. */
  #tell(state: TaskState, say: Say): void {
    const { id } = this.#open()
    const message = this.#say(say)
    this.#do(() => this.#tasks.addMessage(id, message))
    this.#move(state, message)
  }

  /** Moves the task by the shortest way: agents jump, the lifecycle has steps. */
  #move(to: TaskState, message?: MessageInput): void {
    const { id } = this.#open()
    const tasks = this.#tasks
    const path = tasks.can(id, to) ? [to] : (shortestPath(this.task.state, to) ?? [to])
    // Before anybody is told: what a listener does about it comes after. Wrong is only to believe it of no working task.
    this.#isWorking = to === 'working' && path.length > 0
    this.#do(() => {
      for (const state of path.slice(0, -1)) tasks.patchTask(id, { state, ...this.#silence() })
      if (message !== undefined) this.#hasSpoken = true
      if (path.length > 0) tasks.patchTask(id, { state: to, ...(message ? { message } : this.#silence()) })
      else if (message !== undefined) tasks.patchTask(id, { message })
    })
  }

  /** A status message belongs to what it was said of: the next state begins without one. */
  #silence(): { message: null } | undefined {
    if (!this.#hasSpoken) return undefined
    this.#hasSpoken = false
    return { message: null }
  }

  #say(say: Say): MessageInput {
    const { settings } = this.#context
    const { id: taskId } = this.#open()
    const contextId = this.#contextId
    return { messageId: settings.generateId(), ...toMessage(say), taskId, contextId }
  }

  /** Changes the task. */
  #do<T>(change: () => T): T {
    try {
      return change()
    } catch (error) {
      throw this.#reasonOf(error)
    }
  }

  /** When the task was ended from outside, or is not this process's any more, the run learns why. */
  #reasonOf(error: unknown): unknown {
    const isOver = A2AError.is(error, 'TASK_TERMINAL') || A2AError.is(error, 'TASK_NOT_FOUND')
    return (isOver ? this.abortReason : undefined) ?? error
  }
}
