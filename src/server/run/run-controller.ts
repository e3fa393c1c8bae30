/**
 * Implementation of `Run`, with the methods by which the manager drives and ends it.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import { readParams } from '../../core/validate.js'
import { readOptions, requireBoolean } from '../../runtime/options.js'
import type { JournalEntry } from '../../core/events.js'
import type { TaskState } from '../../core/lifecycle.js'
import type { JsonObject } from '../../core/json-types.js'
import type { ArtifactInput, MessageInput, TaskUpdate } from '../../core/params.js'
import type { Message, TaskKey, TaskSnapshot } from '../../core/task.js'
import { textOf } from '../../wire/text.js'
import type { Follower } from '../../remote/follower.js'
import { lineageOf, nextLineage, readLineage } from '../../core/lineage/lineage.js'
import { agentIdOf } from '../../core/lineage/mark.js'
import { RunBudget } from './budget.js'
import { originOf } from './message-queue.js'
import type { AskingState, RunContext, RunPort } from './run-context.js'
import { Turn } from './turn.js'
import { toArtifact, toMessage, toProgress, toPrompt, toReply } from './agent-message.js'
import type { Result } from './output.js'
import { refuseComplete, type StandardSchema } from '../standard-schema.js'
import type {
  ArtifactOptions,
  ContinuedInput,
  ConversationOptions,
  ConversationPage,
  Progress,
  ReadonlyMessage,
  Run,
  Say,
} from './run.js'
import type { InputOptions } from './ask-types.js'
import { NewTask, RunTask } from './run-task.js'
import type { MaybePromise } from '../../core/managers.js'
import type { Principal } from '../caller.js'

/** The first response to a message: its task, or a reply without a task. */
type FirstResponse =
  { readonly type: 'task'; readonly taskId: string } | { readonly type: 'message'; readonly message: Message }

/** A value that is known later. Unlike a promise, it can be read synchronously. It has at most one waiter. */
class Deferred<T> {
  #value: T | undefined
  #failure: Error | undefined
  #waiter: { resolve(value: T): void; reject(reason: Error): void } | undefined

  /** The value, `undefined` until it is known. */
  get value(): T | undefined {
    return this.#value
  }

  resolve(value: T): void {
    this.#value = value
    this.#waiter?.resolve(value)
  }

  /** The first reason counts. Has no effect on a waiter that has its value. */
  reject(reason: Error): void {
    this.#failure ??= reason
    this.#waiter?.reject(this.#failure)
  }

  wait(): Promise<T> {
    if (this.#value !== undefined) return Promise.resolve(this.#value)
    return new Promise((resolve, reject: (reason: Error) => void) => {
      if (this.#failure === undefined) this.#waiter = { resolve, reject }
      else reject(this.#failure)
    })
  }
}

export class RunController<P extends Principal> implements Run<P> {
  readonly message: Message
  readonly attempt: number
  readonly response = new Deferred<FirstResponse>()
  readonly #context: RunContext<P>
  readonly #tasks: RunContext<P>['tasks']
  #task: RunTask | undefined
  readonly #new: NewTask<P>
  #contextId: string | undefined
  #controller: AbortController | undefined
  #ended: Error | undefined
  /** What the code does in this turn, and did in earlier attempts of it. */
  readonly turn: Turn<P>
  #hasRecorded = false
  /** `null` without one. */
  #budget: RunBudget | null | undefined
  /** Whether the executor has returned. */
  #hasReturned = false
  /** The pending or finished `reply()`; `undefined` when the executor has not called it. */
  replied: Promise<void> | undefined
  /** Whether this run has moved the task to `working`, so that `start()` has nothing to do. */
  #isWorking = false

  constructor(context: RunContext<P>, taskId?: string) {
    this.#context = context
    this.#tasks = context.tasks
    this.message = context.message.request.message
    this.attempt = context.earlier?.attempt ?? 1
    this.#task = taskId === undefined ? undefined : new RunTask(taskId, context.tasks, true)
    this.#new = new NewTask(context, (id, error) => {
      this.#task = new RunTask(id, context.tasks, false)
      this.response.reject(error)
    })
    // A message to an existing task has the task's context.
    this.#contextId = this.message.contextId
    this.turn = new Turn(this.#toPort())
  }

  get text(): string {
    return textOf(this.message)
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

  get taskId(): string {
    return this.createdId ?? this.#new.id
  }

  get deadline(): number | undefined {
    const { message, deadlineOf, settings } = this.#context
    const createdAt = this.#task?.peek()?.createdAt
    const created = createdAt === undefined ? settings.clock.now() : Date.parse(createdAt)
    const timeout = created + (settings.tasks.taskTimeoutMs ?? Infinity)
    const earliest = Math.min(deadlineOf() ?? Infinity, message.deadline ?? Infinity, timeout)
    return earliest === Infinity ? undefined : earliest
  }

  /** The budget of the task; `undefined` without one. */
  get budget(): RunBudget | undefined {
    this.#budget ??= this.#toBudget() ?? null
    return this.#budget ?? undefined
  }

  get contextId(): string {
    return (this.#contextId ??= this.taskId)
  }

  get task(): TaskSnapshot {
    return (this.#task ?? this.#requireTask()).show(this.#abortReason)
  }

  get messages(): readonly ReadonlyMessage[] {
    if (this.#task === undefined) return [this.message]
    const { messages } = this.task
    const isOver = this.#hasReturned || (this.isTerminal && !this.turn.isReplaying)
    return isOver ? messages : this.turn.conversation(messages)
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#abortReason !== undefined) this.#controller.abort(this.#abortReason)
      else this.#task?.follow((reason) => this.abort(reason))
    }
    return this.#controller.signal
  }

  readonly start = (): void => {
    if (this.#isWorking || (this.#context.staysWaiting === true && this.turn.isReplaying)) return
    this.#move('working')
    this.#dropQuestion()
  }

  readonly update = (report: string | Progress, other?: unknown): void => {
    const progress = toProgress(report, other)
    // A replay makes it too, so that later ones are the same.
    const id = this.turn.newMessageId()
    if (this.turn.isReplaying || this.turn.isUndone) return
    const task = this.#requireWorking()
    const message = this.#toMessage(progress, id)
    // While a question is open, it is the status message.
    if (this.turn.isAsking || this.turn.isAskingAgain) task.hold(message)
    else this.#change(() => task.setStatusMessage(message))
  }

  readonly setMetadata = (changes: object): void => {
    if (this.turn.isChanged(changes) || this.turn.isUndone) return
    const { id } = this.#requireWorking()
    this.#change(() => this.#tasks.patchTask(id, { metadata: changes }))
  }

  readonly artifact = (artifact: string | ArtifactInput, options?: ArtifactOptions): string => {
    const given = toArtifact(artifact)
    const checked = options && readParams(options, ['append', 'lastChunk'], 'run.artifact')
    const artifactId = given.artifactId ?? this.turn.newArtifactId(given)
    if (!this.turn.isReplaying && !this.turn.isUndone) this.#requireWorking()
    this.turn.write({ ...given, artifactId }, checked)
    return artifactId
  }

  readonly conversation = (options?: ConversationOptions): Promise<ConversationPage> =>
    this.#context.conversation(this, options)

  // Getters, so that runs which use none of these methods have none of them.
  get ask(): Run<P>['ask'] {
    return this.turn.parts.typed.ask
  }

  get approve(): Run<P>['approve'] {
    return this.turn.parts.typed.approve
  }

  get step(): Run<P>['step'] {
    return this.turn.parts.steps.step
  }

  get transaction(): Run<P>['transaction'] {
    return this.turn.parts.steps.transaction
  }

  get delegate(): Run<P>['delegate'] {
    return this.turn.parts.delegations.delegate
  }

  get sleep(): Run<P>['sleep'] {
    return this.turn.parts.waits.sleep
  }

  get waitFor(): Run<P>['waitFor'] {
    return this.turn.parts.waits.waitFor
  }

  get now(): Run<P>['now'] {
    return this.turn.parts.values.now
  }

  get random(): Run<P>['random'] {
    return this.turn.parts.values.random
  }

  get uuid(): Run<P>['uuid'] {
    return this.turn.parts.values.uuid
  }

  get changed(): Run<P>['changed'] {
    return this.turn.parts.values.changed
  }

  get spend(): Run<P>['spend'] {
    return this.turn.spend
  }

  readonly lineageTo: Run<P>['lineageTo'] = (agent, options = {}) => {
    const { mayRepeat = false } = readOptions(options, ['mayRepeat'], 'run.lineageTo')
    requireBoolean('mayRepeat', mayRepeat)
    const { card, limits } = this.#context.settings
    const received = readLineage(this.#context.message.request.message.metadata)
    const sender = { taskId: this.taskId, received, own: agentIdOf(card), deadline: this.deadline }
    return nextLineage(sender, agent, { maxDepth: limits.maxDelegationDepth, mayRepeat })
  }

  readonly requireInput: Run<P>['requireInput'] = <S extends StandardSchema>(
    prompt: Say,
    options?: InputOptions<S>,
  ) =>
    options === undefined
      ? this.#ask('input-required', [prompt])
      : this.turn.parts.typed.requireInput(prompt, options)

  get authorize(): Run<P>['authorize'] {
    return this.turn.parts.typed.authorize
  }

  readonly requireAuth: Run<P>['requireAuth'] = (...said) => this.#ask('auth-required', said)

  readonly continueAs = (input: ContinuedInput): Promise<never> => {
    if (this.#hasReturned || this.replied !== undefined)
      throw new TypeError('The run has ended or replied, so it cannot continue')
    const { id: taskId } = this.#requireWorking()
    const again = this.turn.continueAs(input)
    this.letGo(new A2AError('LEASE_LOST', 'The run has continued as another one', { taskId }))
    this.#context.onContinued(again)
    return new Promise(() => undefined)
  }

  readonly complete = (message?: Say): void => this.#endAs('completed', message)
  readonly fail = (message?: Say): void => this.#end('failed', message)

  /** Fails the task, whose last attempt threw `error`. */
  failForGood(text: string, error: unknown): void {
    this.#end('failed', text, this.turn.failureEntries(this.attempt, error))
  }

  readonly reject = (message?: Say): void => this.#endAs('rejected', message)
  readonly cancel = (message?: Say): void => this.#endAs('canceled', message)

  readonly reply = (message: Say | Promise<Say | undefined>): Promise<void> => {
    const replied = this.#reply(message)
    // The run itself awaits the reply and fails with it, so it must not be an unhandled rejection here.
    replied.catch(() => undefined)
    this.replied = replied
    return replied
  }

  async #reply(message: Say | Promise<Say | undefined>): Promise<void> {
    const reply = await message
    if (reply === undefined) {
      this.replied = undefined
      this.startUnlessReplying()
      return
    }
    if (this.hasReplied || this.#new.isWithdrawn) throw new TypeError('run.reply() has answered already')
    if (this.#task === undefined) {
      const { generateId } = this.#context.settings
      const contextId = this.#contextId ?? generateId()
      const answer = toReply(reply, generateId(), contextId)
      if (!this.#new.isProposed || (await this.#new.withdraw())) {
        this.response.resolve({ type: 'message', message: answer })
        return
      }
    }
    this.complete(reply)
  }

  /** The id of the task; `undefined` when there is none yet. */
  get createdId(): string | undefined {
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
    this.#ended = signal.reason as Error
    return this.#ended
  }

  /** Creates the task before the executor is called, which may yet reply without it. */
  propose(): TaskKey {
    const task = this.#new.propose()
    this.#contextId = task.contextId
    return task
  }

  /** Others know of the proposed task: a reply completes it. */
  adopt(): void {
    if (this.#new.isProposed) this.#requireTask()
  }

  /** Removes a proposed task, whose client sends its message again. */
  withdraw(): void {
    // A task that cannot be removed continues in another process.
    this.#new.withdraw().catch(() => undefined)
  }

  /** Starts the task, so that clients get it, and see that it is worked on, while the executor waits. */
  startUnlessReplying(): void {
    const isToStart = this.#task === undefined || this.#task.peek()?.state === 'submitted'
    if (this.replied === undefined && isToStart) this.start()
  }

  /**
   * Cuts the run off from its task without ending it: what it awaits stays pending, and the turn continues elsewhere.
   *
   * @returns The agents' tasks that it waits for.
   */
  letGo(reason: Error): ReadonlySet<Follower> {
    const followers = this.turn.abandon()
    this.#task?.unfollow()
    this.#task?.detach(reason)
    return followers
  }

  /** The executor has returned: drops its question, and rejects the response if there is none. */
  leave(): void {
    this.#hasReturned = true
    // Last of all, as the reason needs a signal of the task.
    if (this.#task !== undefined && !this.isTerminal && this.abortReason === undefined) this.turn.end()
    this.#task?.keepLast(this.#controller)
    this.turn.drop()
    if (this.response.value === undefined) this.response.reject(new Error('The run ended without a result'))
  }

  /** Aborts the run's signal and its question. Does not change the task. */
  abort(reason: Error): void {
    this.#ended ??= reason
    this.#controller?.abort(reason)
    this.turn.drop(reason)
  }

  /** Aborts the run, and cuts it off from a task that is gone or held elsewhere. */
  detach(reason: Error): void {
    this.#task?.detach(reason)
    this.#new.drop()
    this.response.reject(reason)
    this.turn.removeUnread()
    this.abort(reason)
  }

  /** Completes the task, in one change. Returns `false`, with nothing changed, when another change came first. */
  finish({ artifact, message }: Result = {}): MaybePromise<boolean> {
    const { id } = this.#requireTask()
    this.turn.endChunks()
    if (!this.#tasks.can(id, 'completed')) this.#isWorking = false
    this.start()
    const update: TaskUpdate = {
      state: 'completed',
      ...(artifact !== undefined && {
        artifacts: [{ artifactId: this.turn.newArtifactId(), ...artifact }],
      }),
      ...((message !== undefined || this.#task?.hasStatusMessage) && { message: message ?? null }),
    }
    if (this.#tasks.finish === undefined) {
      this.#change(() => this.#tasks.patchTask(id, update))
      return true
    }
    return this.#tasks.finish(id, update).catch((error: unknown) => {
      throw this.#reasonOf(error)
    })
  }

  /** Why the run was aborted. Once the executor has returned, an abort reaches the signal and nothing else. */
  get #abortReason(): Error | undefined {
    return this.#ended ?? (this.#controller?.signal.reason as Error | undefined)
  }

  #toBudget(): RunBudget | undefined {
    const { settings, onExceeded } = this.#context
    const task = this.#task?.peek() ?? { messages: [this.message] }
    const own = settings.limits.budget
    const inherited = lineageOf(task)?.budget
    const { owner = null } = this.#task?.peek() ?? this.#context.message.owner
    const windows = settings.windows?.of(owner) ?? []
    if (own === undefined && inherited === undefined && windows.length === 0) return undefined
    return new RunBudget({
      ...{ own, inherited, windows, onBudget: settings.onBudget },
      peek: () => this.#task?.peek() ?? null,
      signal: () => this.signal,
      record: (entry) => this.turn.record(entry),
      stored: () => this.#context.stored(this.#requireTask().id),
      exceed: (reason) => onExceeded?.(reason),
      onError: (error) => settings.onError(error, { during: 'onBudget', taskId: this.taskId }),
    })
  }

  #toPort(): RunPort<P> {
    const context = this.#context
    const { settings, tasks, earlier, marks, listen, onStep } = context
    const requireRunning = (): void => this.#task?.requireRunning(this.#abortReason)
    return {
      context,
      settings,
      tasks,
      earlier,
      marks,
      listen,
      onStep,
      requireRunning,
      message: this.message,
      origin: originOf(context.message),
      task: () => this.#requireTask(),
      taskId: () => this.taskId,
      signal: () => this.signal,
      work: () => {
        requireRunning()
        this.#requireWorking()
      },
      change: (change) => this.#change(change),
      budget: () => this.budget,
      record: tasks.recordJournal && ((entries) => this.#record(entries)),
      stored: () => context.stored(this.#requireTask().id),
      ask: (prompt) => this.turn.parts.questions.ask('input-required', prompt),
      lineageTo: this.lineageTo,
      move: (state, entries, said) => this.#moveWith(state, said?.say, entries, said?.messageId),
      showAgain: (state, { say, messageId }) => {
        if (this.task.state !== state) this.#move(state, this.#toMessage(say, messageId))
      },
    }
  }

  #record(entries: readonly JournalEntry[]): void {
    this.#task?.requireRunning(this.#abortReason)
    const task = this.#requireTask()
    const isFirst = !this.#hasRecorded && task.peek()?.state === 'submitted'
    this.#hasRecorded = true
    // In one change: a quick first step costs no other commit.
    if (isFirst) this.#moveWith('working', undefined, entries)
    else this.#change(() => this.#tasks.recordJournal?.(task.id, entries))
  }

  /** The task, open to changes. Creates it first where there is none. */
  #requireTask(): RunTask {
    this.#context.requireInTime?.()
    this.#task?.requireOpen(this.#abortReason)
    if (this.#task !== undefined) return this.#task
    if (this.hasReplied || this.#new.isWithdrawn)
      throw new TypeError('run.reply() has answered: there is no task')
    // A proposed task that others have ended is shown.
    if (!this.#new.isProposed && this.#abortReason !== undefined) throw this.#abortReason
    this.#new.take((task) => {
      this.#contextId = task.contextId
      this.#task = new RunTask(task.id, this.#tasks, false)
      if (this.#controller !== undefined) this.#task.follow((reason) => this.abort(reason))
      this.#context.onTask(task)
      this.response.resolve({ type: 'task', taskId: task.id })
    })
    return this.#requireTask()
  }

  /** As {@link #requireTask}. Moves the task to `working`, unless it waits for the answer to a question. */
  #requireWorking(): RunTask {
    const task = this.#requireTask()
    const isAsking = this.turn.isAsking || (this.#context.staysWaiting === true && this.turn.isAskingAgain)
    if (!isAsking) this.start()
    return task
  }

  #ask(state: AskingState, said: readonly [Say, unknown?]): Promise<ReadonlyMessage> {
    this.turn.requireOutsideOfSteps(state === 'input-required' ? 'requireInput' : 'requireAuth')
    if (this.#hasReturned) throw new TypeError('The run has ended, so it cannot receive an answer')
    // Refuses a prompt that is no message, before the task changes.
    const prompt = toPrompt(state, said)
    return this.turn.parts.questions.ask(state, prompt)
  }

  /** Rejects the open question, if any: the run continues without its answer, or has ended its task. */
  #dropQuestion(): void {
    if (!this.turn.isAsking) return
    this.turn.parts.questions.drop()
    this.#context.onWaiting(false)
  }

  #endAs(state: TaskState, message: Say | undefined): void {
    this.turn.requireReplayed(state)
    this.#end(state, message)
  }

  #end(state: TaskState, message: Say | undefined, entries?: readonly JournalEntry[]): void {
    if (state === 'completed') refuseComplete(this.#context.settings.output)
    this.turn.endChunks()
    this.#moveWith(state, message, entries)
    this.#dropQuestion()
  }

  /** Moves the task, and adds `say` to the conversation. */
  #moveWith(state: TaskState, say?: Say, entries: readonly JournalEntry[] = [], id?: string): void {
    if (say === undefined) this.#move(state, undefined, entries)
    else this.#move(state, entries.length === 0 ? this.say(say, id) : this.#toMessage(say, id), entries)
  }

  /** Adds a message to the conversation. */
  say(say: Say, messageId?: string): MessageInput {
    const message = this.#toMessage(say, messageId)
    this.#change(() => this.#tasks.addMessage(message.taskId, message))
    return message
  }

  #move(to: TaskState, message?: MessageInput, entries?: readonly JournalEntry[]): void {
    const task = this.#requireTask()
    const path = task.stepsTo(to, this.#abortReason, this.#context.settings.tasks.lifecycle)
    // Before the task changes: a listener of the change may move the task on, and its value has to stay.
    this.#isWorking = to === 'working' && path.length > 0
    this.#change(() => task.enter(path, message, entries))
  }

  #toMessage(say: Say, id?: string): MessageInput & { readonly taskId: string } {
    const { id: taskId } = this.#requireTask()
    const message = toMessage(say)
    const messageId = message.messageId ?? id ?? this.turn.newMessageId()
    return { ...message, messageId, taskId, contextId: this.#contextId }
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
