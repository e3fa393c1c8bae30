/**
 * One run, as the handler holds it.
 *
 * @module
 */
import { A2AError, ended } from '../core/errors.js'
import { isTerminal, shortestPath, type TaskState } from '../core/lifecycle.js'
import type { OwnerFilter } from '../core/queries.js'
import type { ArtifactInput, MessageInput } from '../core/params.js'
import type { DeepReadonly, JsonObject, Message, TaskSnapshot } from '../core/task.js'
import type { SendRequest } from '../wire/index.js'
import type { Settings } from './options.js'
import { toMessage, toReply } from './say.js'
import { textOf } from './text.js'
import type { ArtifactOptions, Progress, Run, Say } from './run.js'
import type { Caller, Principal } from './visibility.js'

/** What came of a message: a task, or a message and no task. */
export type Decision =
  { readonly type: 'task'; readonly taskId: string } | { readonly type: 'message'; readonly message: Message }

/** What a run is given by whoever starts it. */
export interface RunContext<P extends Principal> {
  readonly settings: Settings<P>
  readonly request: SendRequest
  readonly caller: Caller<P>
  readonly owner: OwnerFilter
  /** Is told of the task as soon as there is one. */
  readonly onTask: (taskId: string) => void
  /** The next message that waits to be answered, if any does. */
  readonly nextMessage: (taskId: string) => SendRequest | undefined
  /** The clock of the run stops while it waits for the user. */
  readonly onWaiting: (isWaiting: boolean) => void
}

interface Prompt {
  resolve(answer: DeepReadonly<Message>): void
  reject(reason: Error): void
}

export class TaskRun<P extends Principal> implements Run<P> {
  readonly message: Message
  readonly #context: RunContext<P>
  #taskId: string | undefined
  #contextId: string | undefined
  #controller: AbortController | undefined
  #abortReason: Error | undefined
  #prompt: Prompt | undefined
  #replied: Promise<void> | undefined
  #isWorking = false
  /** Whether the task may have a status message. */
  #hasSpoken: boolean
  #decision: Decision | undefined
  #failure: Error | undefined
  #asker: { resolve(decision: Decision): void; reject(reason: Error): void } | undefined

  constructor(context: RunContext<P>, taskId?: string) {
    this.#context = context
    this.#taskId = taskId
    this.#hasSpoken = taskId !== undefined
    this.message = context.request.message
    // A message to a task has the task's context by now.
    this.#contextId = this.message.contextId
  }

  get text(): string {
    return textOf(this.message)
  }

  get task(): TaskSnapshot {
    const id = this.#open()
    const task = this.#tasks.peekTask(id)
    if (task === null) throw this.#abortReason ?? ended('TASK_EXPIRED', id)
    return task
  }

  get messages(): readonly DeepReadonly<Message>[] {
    return this.#taskId === undefined ? [this.message] : this.task.messages
  }

  get referenceTasks(): readonly TaskSnapshot[] {
    return (this.message.referenceTaskIds ?? [])
      .map((id) => this.#tasks.peekTask(id, this.#context.owner))
      .filter((task) => task !== null)
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
      else if (this.#taskId !== undefined) this.#follow(this.#taskId)
    }
    return this.#controller.signal
  }

  start(): void {
    if (this.#isWorking) return
    const wasWaiting = this.isWaiting
    this.#prompt = undefined
    this.#move('working')
    if (wasWaiting) this.#context.onWaiting(false)
  }

  update(report: string | Progress): void {
    const tasks = this.#tasks
    const { message, current, total } = typeof report === 'string' ? { message: report } : report
    if (message === undefined && current === undefined) {
      throw new TypeError('run.update() takes a text, or an object with "message" or "current"')
    }
    const id = this.#begin()
    const said = this.#say(message ?? (total === undefined ? `${current}` : `${current} of ${total}`))
    const progress = { current, ...(total !== undefined && { total }) }
    const metadata = { ...said.metadata, progress }
    this.#do(() => tasks.updateTask(id, { message: current === undefined ? said : { ...said, metadata } }))
    this.#hasSpoken = true
  }

  artifact(artifact: string | ArtifactInput, options?: ArtifactOptions): string {
    const id = this.#begin()
    const given = typeof artifact === 'string' ? { parts: [{ text: artifact }] } : artifact
    try {
      const event = this.#tasks.appendArtifact(id, given, options)
      // The manager gives an id to those that have none.
      return event.artifact.artifactId ?? ''
    } catch (error) {
      throw this.#reasonOf(error)
    }
  }

  requireInput(prompt: Say): Promise<DeepReadonly<Message>> {
    return this.#ask('input-required', prompt)
  }

  requireAuth(prompt: Say): Promise<DeepReadonly<Message>> {
    return this.#ask('auth-required', prompt)
  }

  complete(message?: Say): void {
    this.#end('completed', message)
  }

  fail(message?: Say): void {
    this.#end('failed', message)
  }

  reject(message?: Say): void {
    this.#end('rejected', message)
  }

  reply(message: Say | Promise<Say>): Promise<void> {
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
    if (this.#decision?.type === 'message') throw new TypeError('run.reply() has answered already')
    if (this.#taskId !== undefined) {
      this.complete(said)
      return
    }
    const { generateId } = this.#context.settings
    const contextId = this.message.contextId ?? generateId()
    this.#settle({ type: 'message', message: toReply(said, generateId(), contextId) })
  }

  /** What comes of the message: known as soon as there is a task or a reply. Rejects when there can be neither. */
  decided(): Promise<Decision> {
    if (this.#decision !== undefined) return Promise.resolve(this.#decision)
    return new Promise((resolve, reject: (reason: Error) => void) => {
      if (this.#failure === undefined) this.#asker = { resolve, reject }
      else reject(this.#failure)
    })
  }

  /** The run could not even make a task. */
  giveUp(reason: Error): void {
    this.#failure ??= reason
    this.#asker?.reject(this.#failure)
  }

  get taskId(): string | undefined {
    return this.#taskId
  }

  /** Whether the task has ended, or is gone. */
  get hasEnded(): boolean {
    if (this.#taskId === undefined) return false
    const task = this.#tasks.peekTask(this.#taskId)
    return task === null || isTerminal(task.state)
  }

  get hasReplied(): boolean {
    return this.#decision?.type === 'message'
  }

  /** Why the run is over, where it was ended from outside. */
  get abortReason(): unknown {
    if (this.#abortReason !== undefined || this.#taskId === undefined) return this.#abortReason
    const task = this.#tasks.peekTask(this.#taskId)
    if (task !== null && !isTerminal(task.state)) return undefined
    const signal = task === null ? undefined : this.#tasks.signalOf(this.#taskId)
    return signal?.aborted ? (signal.reason as unknown) : undefined
  }

  /** The run waits for something: a client that does not want to wait gets a task. */
  openUnlessReplying(): void {
    if (this.#replied === undefined && this.#taskId === undefined) this.start()
  }

  /** The user has answered, or said something to a task that waits. The message is in the conversation already. */
  resume(answer: Message): void {
    this.#move('working')
    const prompt = this.#prompt
    this.#prompt = undefined
    this.#context.onWaiting(false)
    prompt?.resolve(answer)
  }

  get isWaiting(): boolean {
    return this.#prompt !== undefined
  }

  /** The executor has returned: nobody waits for an answer any more. */
  leave(): void {
    this.#prompt = undefined
  }

  /** Ends the run from outside. The task is the caller's to end. */
  abort(reason: Error): void {
    this.#abortReason ??= reason
    this.#controller?.abort(reason)
    this.#prompt?.reject(reason)
    this.#prompt = undefined
  }

  /** Completes the task with `text` as an artifact, all at once. */
  completeWith(text: string): void {
    const id = this.#begin()
    const artifact = { artifactId: this.#context.settings.generateId(), parts: [{ text }] }
    this.#do(() =>
      this.#tasks.updateTask(id, { state: 'completed', artifacts: [artifact], ...this.#silence() }),
    )
  }

  get #tasks(): Settings<P>['tasks'] {
    return this.#context.settings.tasks
  }

  /** The task's id; makes the task where there is none yet. */
  #open(): string {
    if (this.#taskId !== undefined) return this.#taskId
    if (this.#decision !== undefined) throw new TypeError('run.reply() has answered: there is no task')
    if (this.#abortReason !== undefined) throw this.#abortReason
    const { settings, owner } = this.#context
    const { contextId, referenceTaskIds } = this.message
    const [skill] = settings.card.skills
    const task = this.#tasks.createTask({
      skill: skill?.id ?? 'default',
      contextId,
      referenceTaskIds,
      ...(typeof owner.owner === 'string' && { owner: owner.owner }),
    })
    this.#taskId = task.id
    this.#contextId = task.contextId
    try {
      this.#tasks.addMessage(task.id, { ...this.message, taskId: task.id, contextId: task.contextId })
    } catch (error) {
      this.#tasks.updateTask(task.id, { state: 'rejected' })
      throw error
    }
    if (this.#controller !== undefined) this.#follow(task.id)
    this.#context.onTask(task.id)
    this.#settle({ type: 'task', taskId: task.id })
    return task.id
  }

  /** Reporting work says that there is work, unless the run waits for the user meanwhile. */
  #begin(): string {
    const id = this.#open()
    if (!this.isWaiting) this.start()
    return id
  }

  #settle(decision: Decision): void {
    this.#decision = decision
    this.#asker?.resolve(decision)
  }

  #follow(taskId: string): void {
    const signal = this.#tasks.signalOf(taskId)
    const abort = (): void => this.abort(signal.reason as Error)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  }

  #ask(state: 'input-required' | 'auth-required', prompt: Say): Promise<DeepReadonly<Message>> {
    if (this.isWaiting) throw new TypeError('The run waits for an answer already')
    const waiting = this.#context.nextMessage(this.#open())
    if (waiting !== undefined) return Promise.resolve(waiting.message)
    this.#tell(state, prompt)
    const { signal } = this
    const answer = new Promise<DeepReadonly<Message>>((resolve, reject: (reason: Error) => void) => {
      this.#prompt = { resolve, reject }
    })
    // Whoever does not wait for it is not to be killed by its rejection.
    answer.catch(() => undefined)
    this.#context.onWaiting(true)
    if (signal.aborted) this.abort(signal.reason as Error)
    return answer
  }

  #end(state: TaskState, message: Say | undefined): void {
    if (message === undefined) this.#move(state)
    else this.#tell(state, message)
  }

  /** Moves the task, with a message that joins the conversation. */
  #tell(state: TaskState, say: Say): void {
    const id = this.#open()
    const message = this.#say(say)
    this.#do(() => this.#tasks.addMessage(id, message))
    this.#move(state, message)
  }

  /** Moves the task by the shortest way: agents jump, the lifecycle has steps. */
  #move(to: TaskState, message?: MessageInput): void {
    const id = this.#open()
    const tasks = this.#tasks
    const path = tasks.can(id, to) ? [to] : (shortestPath(this.task.state, to) ?? [to])
    this.#do(() => {
      for (const state of path.slice(0, -1)) tasks.updateTask(id, { state, ...this.#silence() })
      if (path.length > 0) tasks.updateTask(id, { state: to, ...(message ? { message } : this.#silence()) })
      else if (message !== undefined) tasks.updateTask(id, { message })
    })
    this.#isWorking = to === 'working'
    this.#hasSpoken ||= message !== undefined
  }

  /** A status message belongs to what it was said of: the next state begins without one. */
  #silence(): { message: null } | undefined {
    if (!this.#hasSpoken) return undefined
    this.#hasSpoken = false
    return { message: null }
  }

  #say(say: Say): MessageInput {
    const { settings } = this.#context
    const taskId = this.#open()
    const contextId = this.#contextId
    return { messageId: settings.generateId(), ...toMessage(say), taskId, contextId }
  }

  /** Changes the task. */
  #do(change: () => void): void {
    try {
      change()
    } catch (error) {
      throw this.#reasonOf(error)
    }
  }

  /** When the task was ended from outside, the run learns why. */
  #reasonOf(error: unknown): unknown {
    return (A2AError.is(error, 'TASK_TERMINAL') ? this.abortReason : undefined) ?? error
  }
}
