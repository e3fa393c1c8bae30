/**
 * Implementation of `Run`, with the methods by which the manager drives and ends it.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import { readParams } from '../../core/validate.js'
import type { TaskState } from '../../core/lifecycle.js'
import type { ArtifactInput, MessageInput, TaskUpdate } from '../../core/params.js'
import type { Message, TaskSnapshot } from '../../core/task.js'
import type { JsonObject } from '../../core/json-types.js'
import type { QueuedMessage } from './message-queue.js'
import { Question } from './question.js'
import { Deferred, type FirstResponse } from './first-response.js'
import { toArtifact, toMessage, toProgress, toReply } from './agent-message.js'
import { textOf } from '../../wire/text.js'
import type { ArtifactOptions, Progress, ReadonlyMessage, Run, Say } from './run.js'
import type { RunContext } from './run-context.js'
import { RunTask } from './run-task.js'
import type { WorkedTasks } from '../tasks.js'
import type { MaybePromise } from '../../core/managers.js'
import type { Principal } from '../caller.js'

export class RunController<P extends Principal> implements Run<P> {
  readonly message: Message
  readonly response = new Deferred<FirstResponse>()
  readonly #context: RunContext<P>
  #task: RunTask | undefined
  #contextId: string | undefined
  #controller: AbortController | undefined
  #abortReason: Error | undefined
  #question: Question<P> | undefined
  readonly #answered: Question<P>[] = []
  /** Whether the executor has returned. */
  #hasReturned = false
  #replied: Promise<void> | undefined
  /** Whether this run has moved the task to `working`, so that `start()` has nothing to do. */
  #isWorking = false

  constructor(context: RunContext<P>, taskId?: string) {
    this.#context = context
    this.#task = taskId === undefined ? undefined : new RunTask(taskId, context.tasks, true)
    this.message = context.message.request.message
    // A message to an existing task has the task's context.
    this.#contextId = this.message.contextId
  }

  get text(): string {
    return textOf(this.message)
  }

  get task(): TaskSnapshot {
    return (this.#task ?? this.#requireTask()).show(this.#abortReason)
  }

  get messages(): readonly ReadonlyMessage[] {
    return this.#task === undefined ? [this.message] : this.task.messages
  }

  get referenceTasks(): readonly TaskSnapshot[] {
    return this.#context.referenceTasks()
  }

  get principal(): P | undefined {
    return this.#context.message.caller.principal
  }

  get tenant(): string | undefined {
    return this.#context.message.request.tenant
  }

  get metadata(): JsonObject {
    return this.#context.message.request.metadata ?? {}
  }

  get extensions(): readonly string[] {
    return this.#context.message.caller.extensions
  }

  get acceptedOutputModes(): readonly string[] {
    return this.#context.message.request.acceptedOutputModes
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#abortReason !== undefined) this.#controller.abort(this.#abortReason)
      else this.#followTaskSignal()
    }
    return this.#controller.signal
  }

  readonly start = (): void => {
    if (this.#isWorking) return
    this.#move('working')
    this.#dropQuestion()
  }

  readonly update = (report: string | Progress): void => {
    const progress = toProgress(report)
    const task = this.#requireWorking()
    const message = this.#toMessage(progress)
    this.#change(() => task.setStatusMessage(message))
  }

  readonly artifact = (artifact: string | ArtifactInput, options?: ArtifactOptions): string => {
    const given = toArtifact(artifact)
    const checked = options && readParams(options, ['append', 'lastChunk'], 'run.artifact')
    const { id } = this.#requireWorking()
    const event = this.#change(() => this.#tasks.appendArtifact(id, given, checked))
    // The task manager adds an id where the artifact has none.
    return event.artifact.artifactId ?? ''
  }

  readonly requireInput = (prompt: Say): Promise<ReadonlyMessage> => this.#ask('input-required', prompt)

  readonly requireAuth = (prompt: Say): Promise<ReadonlyMessage> => this.#ask('auth-required', prompt)

  readonly complete = (message?: Say): void => this.#end('completed', message)

  readonly fail = (message?: Say): void => this.#end('failed', message)

  readonly reject = (message?: Say): void => this.#end('rejected', message)

  readonly reply = (message: Say | Promise<Say>): Promise<void> => {
    const replied = this.#reply(message)
    // The run itself awaits the reply and fails with it, so it must not be an unhandled rejection here.
    replied.catch(() => undefined)
    this.#replied = replied
    return replied
  }

  /** The pending or finished `reply()`; `undefined` when the executor has not called it. */
  get replied(): Promise<void> | undefined {
    return this.#replied
  }

  async #reply(message: Say | Promise<Say>): Promise<void> {
    const reply = await message
    if (this.response.value?.type === 'message') throw new TypeError('run.reply() has answered already')
    if (this.#task !== undefined) {
      this.complete(reply)
      return
    }
    const { generateId } = this.#context.settings
    const contextId = this.message.contextId ?? generateId()
    this.response.resolve({ type: 'message', message: toReply(reply, generateId(), contextId) })
  }

  get taskId(): string | undefined {
    return this.#task?.id
  }

  /** Whether the task is terminal, or gone. */
  get isTerminal(): boolean {
    return this.#task?.isTerminal ?? false
  }

  get hasReplied(): boolean {
    return this.response.value?.type === 'message'
  }

  /** The reason for which the run was ended from outside; `undefined` when it was not. */
  get abortReason(): Error | undefined {
    if (this.#abortReason !== undefined || !this.#task?.isTerminal) return this.#abortReason
    const { signal } = this.#task
    if (!signal?.aborted) return undefined
    // Every call of `signalOf` may create another reason: the run keeps the first.
    this.#abortReason = signal.reason as Error
    return this.#abortReason
  }

  /** Starts the task, so that clients get it while the executor waits. */
  startUnlessReplying(): void {
    if (this.#replied === undefined && this.#task === undefined) this.start()
  }

  /**
   * Moves a waiting task to `working` and answers the run's question with a message that is in the conversation already.
   *
   * @returns `false` when the run has no open question: the message is then for another run.
   */
  resume(message: QueuedMessage<P>): boolean {
    const question = this.#question
    this.#question = undefined
    this.#move('working')
    this.#context.onWaiting(false)
    if (question === undefined) return false
    this.#answered.push(question)
    question.resolve(message)
    return true
  }

  get isWaiting(): boolean {
    return this.#question !== undefined
  }

  /** Removes and returns the answers that the executor has not read, oldest first. */
  removeUnread(): QueuedMessage<P>[] {
    const unread = this.#answered.flatMap((question) => question.unread ?? [])
    this.#answered.length = 0
    return unread
  }

  /** The executor has returned: drops its question, and rejects the response if there is none. */
  leave(): void {
    this.#hasReturned = true
    this.#task?.keepLast()
    this.#question?.drop()
    this.#question = undefined
    if (this.response.value === undefined) this.response.reject(new Error('The run came to nothing'))
  }

  /** Aborts the run's signal and its question. Does not change the task. */
  abort(reason: Error): void {
    this.#abortReason ??= reason
    this.#controller?.abort(reason)
    this.#question?.drop(reason)
    this.#question = undefined
  }

  /** Aborts the run, and cuts it off from a task that is gone or held elsewhere. */
  detach(reason: Error): void {
    this.#task?.detach(reason)
    this.#answered.length = 0
    this.abort(reason)
  }

  /**
   * Completes the task, with `text` as an artifact, in one change.
   *
   * @returns `false`, with nothing changed, when a change of another process came first.
   */
  finish(text?: string): MaybePromise<boolean> {
    const { id } = this.#requireTask()
    if (!this.#tasks.can(id, 'completed')) this.#isWorking = false
    this.start()
    const update: TaskUpdate = {
      state: 'completed',
      ...(text !== undefined && {
        artifacts: [{ artifactId: this.#context.settings.generateId(), parts: [{ text }] }],
      }),
      ...(this.#task?.hasStatusMessage && { message: null }),
    }
    if (this.#tasks.finish === undefined) {
      this.#change(() => this.#tasks.patchTask(id, update))
      return true
    }
    return this.#tasks.finish(id, update).catch((error: unknown) => {
      throw this.#reasonOf(error)
    })
  }

  get #tasks(): WorkedTasks {
    return this.#context.tasks
  }

  /** The task, open to changes. Creates it first where there is none. */
  #requireTask(): RunTask {
    this.#task?.requireOpen(this.#abortReason)
    if (this.#task !== undefined) return this.#task
    if (this.response.value !== undefined) throw new TypeError('run.reply() has answered: there is no task')
    if (this.#abortReason !== undefined) throw this.#abortReason
    const { settings, message, note } = this.#context
    const { request, owner } = message
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
    this.#task = new RunTask(task.id, this.#tasks, false)
    this.#contextId = task.contextId
    try {
      this.#tasks.addMessage(task.id, { ...this.message, taskId: task.id, contextId: task.contextId })
    } catch (error) {
      this.#tasks.patchTask(task.id, { state: 'rejected' })
      this.response.reject(error as Error)
      throw error
    }
    if (this.#controller !== undefined) this.#followTaskSignal()
    this.#context.onTask(task)
    this.response.resolve({ type: 'task', taskId: task.id })
    return this.#task
  }

  /** As {@link #requireTask}. Moves the task to `working`, unless it waits for the answer to a question. */
  #requireWorking(): RunTask {
    const task = this.#requireTask()
    if (!this.isWaiting) this.start()
    return task
  }

  #followTaskSignal(): void {
    const signal = this.#task?.signal
    if (signal === undefined) return
    const abort = (): void => this.abort(signal.reason as Error)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  }

  #ask(state: 'input-required' | 'auth-required', prompt: Say): Promise<ReadonlyMessage> {
    if (this.isWaiting) throw new TypeError('The run waits for an answer already')
    if (this.#hasReturned) throw new TypeError('The run is over: nobody would get the answer')
    const { id } = this.#requireTask()
    const question = new Question<P>(id)
    const next = this.#context.nextMessage(id)
    if (next !== undefined) {
      this.#answered.push(question)
      question.resolve(next)
      return question.answer
    }
    // Before the task changes: a listener of the change may answer synchronously.
    this.#question = question
    try {
      this.#moveWithMessage(state, prompt)
    } catch (error) {
      this.#question = undefined
      throw error
    }
    this.#context.onWaiting(this.isWaiting)
    const { signal } = this
    if (signal.aborted) this.abort(signal.reason as Error)
    return question.answer
  }

  /** Rejects the open question, if any: the run goes on without its answer, or has ended its task. */
  #dropQuestion(): void {
    if (this.#question === undefined) return
    this.#question.drop()
    this.#question = undefined
    this.#context.onWaiting(false)
  }

  #end(state: TaskState, message: Say | undefined): void {
    if (message === undefined) this.#move(state)
    else this.#moveWithMessage(state, message)
    this.#dropQuestion()
  }

  /** Moves the task and adds `say` to the conversation. */
  #moveWithMessage(state: TaskState, say: Say): void {
    const { id } = this.#requireTask()
    const message = this.#toMessage(say)
    this.#change(() => this.#tasks.addMessage(id, message))
    this.#move(state, message)
  }

  #move(to: TaskState, message?: MessageInput): void {
    const task = this.#requireTask()
    const path = task.stepsTo(to, this.#abortReason)
    // Before the task changes: a listener of the change may move the task on, and its value has to stay.
    this.#isWorking = to === 'working' && path.length > 0
    this.#change(() => task.enter(path, message))
  }

  #toMessage(say: Say): MessageInput {
    const { settings } = this.#context
    const { id: taskId } = this.#requireTask()
    const contextId = this.#contextId
    return { messageId: settings.generateId(), ...toMessage(say), taskId, contextId }
  }

  /** Runs `change`. Throws the reason for which the run was ended instead of the error that results from it. */
  #change<T>(change: () => T): T {
    try {
      return change()
    } catch (error) {
      throw this.#reasonOf(error)
    }
  }

  #reasonOf(error: unknown): unknown {
    const isClosed = A2AError.is(error, 'TASK_TERMINAL') || A2AError.is(error, 'TASK_NOT_FOUND')
    return (isClosed ? this.abortReason : undefined) ?? error
  }
}
