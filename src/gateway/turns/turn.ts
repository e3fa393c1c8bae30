/**
 * One turn of a task at its service: from a message to the end or the next question.
 *
 * @module
 */
import type { Amounts } from '../../core/spending.js'
import type { Clock } from '../../runtime/clock.js'
import { raceAbort } from '../../runtime/abort.js'
import { settleWithin } from '../../runtime/shutdown.js'
import { sleep, yieldToEventLoop } from '../../runtime/timers.js'
import { A2AError, endError, type ErrorCode } from '../../core/errors.js'
import { isInterrupted, isTerminal } from '../../core/lifecycle.js'
import type { RegisteredAgent } from '../registry/agent.js'
import { applyUpdate, requireUpdate } from './apply-update.js'
import type { AgentProvider, ProviderTask, TaskRef, TaskUpdate } from '../provider.js'
import type { TurnTasks } from './tasks.js'

/** Text for clients when the service fails. The cause is for `onError` only. */
export const SERVICE_FAILED = 'The agent could not finish this task'
export const TIMED_OUT = 'Task timed out'
/** Text for clients when the process of a turn has died, and the service cannot be asked for the task. */
export const CANNOT_FOLLOW = 'The gateway stopped while the agent worked, and cannot follow the task'

export interface TurnSettings {
  readonly tasks: TurnTasks
  readonly clock: Clock
  /** Time limit of a turn, in ms. */
  readonly taskTimeoutMs: number
  /** First pause between two polls of a task, in ms. Pauses grow up to ten times that. */
  readonly pollIntervalMs: number
  /**
   * Time limit, in ms, for a service to cancel a task, and to report the `ref` of a task that is canceled while it is
   * being sent.
   */
  readonly cancelTimeoutMs: number
  readonly onError: (
    error: unknown,
    context: { readonly during: string; readonly taskId: string; readonly agentId: string },
  ) => void
}

type RepeatTask = NonNullable<AgentProvider['repeatTask']>

/**
 * The first step of a turn: sending a message, with or without a stream; repeating one that a process which has died may
 * have sent; or following a task, from an update if one is known.
 */
export type TurnStart =
  | { readonly mode: 'send' | 'stream'; readonly task: ProviderTask }
  | { readonly mode: 'repeat'; readonly task: ProviderTask; readonly repeatTask: RepeatTask }
  | { readonly mode: 'follow'; readonly ref: TaskRef; readonly known?: TaskUpdate }

/** The health of a service as the turn shows it. `undefined` when the turn shows nothing. */
export type ServiceOutcome = 'succeeded' | 'failed' | undefined

/** Number of consecutive polls that may fail before the task fails. */
const MAX_FAILED_POLLS = 8

/** Callbacks of a turn. */
export interface TurnListeners {
  /** The service has reported a `ref`, or a different one. */
  readonly ref: (ref: TaskRef) => void
  /** The service has responded for the first time in this turn. */
  readonly responded: () => void
}

/**
 * Number of stream updates after which the turn yields to the event loop, since a provider may yield without a pause.
 */
const UPDATES_PER_YIELD = 100

export class Turn {
  readonly agent: RegisteredAgent
  /** Settles when the turn is stopped from outside. Requests to the service may still be running then. */
  readonly stopped: Promise<void>
  /** Settles when the service has reported a `ref`, or the turn is over. */
  readonly located: Promise<void>
  readonly #settings: TurnSettings
  readonly #provider: AgentProvider
  readonly #taskId: string
  readonly #start: TurnStart
  readonly #listeners: TurnListeners
  readonly #controller = new AbortController()
  #ref: TaskRef | undefined
  #onRefKnown: () => void = () => {}
  #onLocated: () => void = () => {}
  #onStopped: () => void = () => {}
  #isStopped = false
  /** No request to the service is running. */
  #isSettled = false
  /** The service has reported a terminal state, or does not have the task. */
  #isTerminalAtService = false
  #hasResponded = false
  #outcome: ServiceOutcome
  #spent: Amounts | undefined
  /** The error that broke the stream. */
  #streamError: A2AError | undefined
  #done = Promise.resolve()
  #canceling: Promise<boolean> | undefined

  constructor(
    settings: TurnSettings,
    agent: RegisteredAgent,
    provider: AgentProvider,
    taskId: string,
    start: TurnStart,
    listeners: TurnListeners,
  ) {
    this.stopped = new Promise((resolve) => (this.#onStopped = resolve))
    this.located = new Promise((resolve) => (this.#onLocated = resolve))
    this.agent = agent
    this.#settings = settings
    this.#provider = provider
    this.#taskId = taskId
    this.#start = start
    this.#listeners = listeners
    this.#ref = start.mode === 'follow' ? start.ref : start.task.ref
    if (this.#ref !== undefined) this.#onLocated()
  }

  /** The health of the service as this turn shows it. */
  /** What the task has spent, as the service last said. */
  get spent(): Amounts | undefined {
    return this.#spent
  }

  get outcome(): ServiceOutcome {
    return this.#outcome
  }

  /** Settles when the turn and all its requests to the service are over. Never rejects. */
  get done(): Promise<void> {
    return this.#done
  }

  begin(): void {
    this.#done = this.#run()
  }

  /** Ends the turn without notifying the service: the task has ended here, or another turn continues it. */
  abandon(reason: Error): void {
    if (this.#isStopped) return
    this.#markStopped()
    this.#controller.abort(reason)
    this.#onRefKnown()
  }

  /**
   * Ends the turn and cancels the task at its service. Never rejects. Resolves when the service has answered: to `false`
   * when the task may still be at work there.
   */
  cancel(reason: Error): Promise<boolean> {
    return (this.#canceling ??= this.#cancel(reason))
  }

  /** The cancellation, if there is one. */
  get canceling(): Promise<boolean> | undefined {
    return this.#canceling
  }

  async #cancel(reason: Error): Promise<boolean> {
    // A service that reported the end needs no cancellation.
    if (this.#isStopped || this.#isTerminalAtService) return true
    this.#markStopped()
    // A task that is being sent may have arrived. It can be canceled as soon as its `ref` is known.
    if (this.#isAwaitingRef) await this.#waitForRef()
    this.#controller.abort(reason)
    const ref = this.#refToCancel
    return (
      ref === undefined || (await cancelAt(this.#settings, this.agent, this.#provider, this.#taskId, ref))
    )
  }

  async #run(): Promise<void> {
    const { clock, taskTimeoutMs } = this.#settings
    const stopTimer = clock.schedule(() => this.#timeOut(), taskTimeoutMs)
    try {
      await this.#work(this.#start)
      if (this.#hasResponded && !this.#isStopped) this.#outcome = 'succeeded'
    } catch (error) {
      this.#fail(error)
    } finally {
      this.#isSettled = true
      stopTimer()
      this.#onRefKnown()
      this.#onLocated()
    }
  }

  async #work(start: TurnStart): Promise<void> {
    const { signal } = this.#controller
    // A listener may have ended the task before the turn begins.
    if (isTerminal(this.#settings.tasks.stateOf(this.#taskId) ?? 'canceled')) return
    await this.#first(start)
    let failedPolls = 0
    for (let polls = 0; !this.#isFinished; polls += 1) {
      if (this.#ref === undefined) throw new Error('The service has not reported its id of the task')
      await this.#pause(polls + failedPolls)
      if (this.#isStopped) return
      try {
        this.#apply(await raceAbort(signal, this.#provider.getTask(this.agent, this.#ref, this.#call)))
        failedPolls = 0
      } catch (error) {
        // The service keeps no tasks, so the error of the stream is the reason of the failure.
        if (this.#streamError !== undefined && A2AError.is(error, 'UNSUPPORTED_OPERATION'))
          throw this.#streamError
        failedPolls += 1
        if (failedPolls >= MAX_FAILED_POLLS || !isTransient(error)) throw error
      }
    }
  }

  /** The first request of the turn. */
  async #first(start: TurnStart): Promise<void> {
    const { signal } = this.#controller
    switch (start.mode) {
      case 'send':
        this.#apply(await raceAbort(signal, this.#provider.sendTask(this.agent, start.task, this.#call)))
        return
      case 'stream':
        await this.#stream(start.task)
        return
      case 'repeat':
        this.#apply(await raceAbort(signal, start.repeatTask(this.agent, start.task, this.#call)))
        return
      case 'follow':
        if (start.known !== undefined) this.#apply(start.known)
    }
  }

  /** Streams updates. A broken stream does not end the turn if the task's `ref` is known. */
  async #stream(task: ProviderTask): Promise<void> {
    const updates = this.#provider.streamTask(this.agent, task, this.#call)[Symbol.asyncIterator]()
    try {
      for (let count = 1; !this.#isFinished || (this.#isStopped && this.#isAwaitingRef); count += 1) {
        const next = await raceAbort(this.#controller.signal, updates.next())
        if (next.done) return
        this.#apply(next.value)
        if (count % UPDATES_PER_YIELD === 0) await yieldToEventLoop()
      }
    } catch (error) {
      if (this.#isStopped || this.#ref === undefined || !isTransient(error)) throw error
      this.#streamError = error
      this.#report(error, 'streamTask')
    } finally {
      // Not awaited: the provider may ignore the request to stop.
      void (async () => await updates.return?.())().catch(() => undefined)
    }
  }

  #apply(update: TaskUpdate): void {
    requireUpdate(update, this.agent)
    const { ref, state } = update
    if (!this.#hasResponded) this.#listeners.responded()
    this.#hasResponded = true
    this.#spent = update.spent ?? this.#spent
    this.#isTerminalAtService = state !== undefined && isTerminal(state)
    if (ref !== undefined) {
      this.#ref = ref
      // The location of a task that has ended here is not needed.
      if (!this.#isStopped) this.#listeners.ref(ref)
      this.#onRefKnown()
      this.#onLocated()
    }
    if (!this.#isStopped) applyUpdate(this.#settings.tasks, this.#taskId, update)
  }

  get #isFinished(): boolean {
    if (this.#isStopped) return true
    const state = this.#settings.tasks.stateOf(this.#taskId)
    return state === null || isTerminal(state) || isInterrupted(state)
  }

  get #refToCancel(): TaskRef | undefined {
    return this.#isTerminalAtService ? undefined : this.#ref
  }

  /** Whether the service may still report the task's `ref`. */
  get #isAwaitingRef(): boolean {
    const { aborted } = this.#controller.signal
    return this.#ref === undefined && this.#provider.keepsTasks !== false && !this.#isSettled && !aborted
  }

  get #call() {
    return { signal: this.#controller.signal }
  }

  #pause(polls: number): Promise<void> {
    const { clock, pollIntervalMs } = this.#settings
    return sleep(pollIntervalMs * Math.min(1.5 ** polls, 10), this.#controller.signal, clock)
  }

  #timeOut(): void {
    const { tasks } = this.#settings
    if (this.#isStopped || isTerminal(tasks.stateOf(this.#taskId) ?? 'canceled')) return
    const reason = endError('TASK_TIMED_OUT', this.#taskId)
    // A service that sends nothing until the timeout counts as failing.
    if (!this.#hasResponded) this.#outcome = 'failed'
    this.#report(reason, 'timeout')
    void this.cancel(reason)
    this.#failTask(TIMED_OUT, { code: 'TASK_TIMED_OUT', retryable: true })
  }

  #fail(error: unknown): void {
    this.#isSettled = true
    // The caller that stopped the turn has handled the task.
    if (this.#isStopped) return
    if (isTransient(error)) this.#outcome = 'failed'
    if (A2AError.is(error, 'TASK_NOT_FOUND')) this.#isTerminalAtService = true
    this.#report(error, 'work')
    const { mode } = this.#start
    const cannotFollow =
      mode === 'repeat' || (mode === 'follow' && A2AError.is(error, 'UNSUPPORTED_OPERATION'))
    this.#failTask(cannotFollow ? CANNOT_FOLLOW : SERVICE_FAILED, {
      code: A2AError.is(error) ? error.code : 'INTERNAL',
      retryable: isTransient(error),
    })
  }

  #failTask(message: string, failure: { readonly code: string; readonly retryable: boolean }): void {
    const { tasks } = this.#settings
    try {
      applyUpdate(tasks, this.#taskId, { state: 'failed', message, failure })
    } catch {
      // The task has ended in the meantime, or its size limit leaves no room for a message.
      if (tasks.can(this.#taskId, 'failed')) tasks.patchTask(this.#taskId, { state: 'failed' })
    }
  }

  #markStopped(): void {
    this.#isStopped = true
    // After the turn has settled, `done` has notified its callers.
    if (!this.#isSettled) this.#onStopped()
  }

  #waitForRef(): Promise<void> {
    const { clock, cancelTimeoutMs } = this.#settings
    const refKnown = new Promise<void>((resolve) => (this.#onRefKnown = resolve))
    return settleWithin(clock, cancelTimeoutMs, [refKnown])
  }

  #report(error: unknown, during: string): void {
    this.#settings.onError(error, { during, taskId: this.#taskId, agentId: this.agent.id })
  }
}

/** The service cannot cancel the task, or does not have to. */
const NOT_CANCELABLE: readonly ErrorCode[] = [
  'UNSUPPORTED_OPERATION',
  'TASK_NOT_FOUND',
  'TASK_NOT_CANCELABLE',
]

/**
 * Cancels the task at its service. Never rejects: a failure goes to `onError`; a service that cannot cancel is left
 * alone. Resolves to `false` after a failure.
 */
export async function cancelAt(
  settings: Omit<TurnSettings, 'tasks'>,
  agent: RegisteredAgent,
  provider: AgentProvider,
  taskId: string,
  ref: TaskRef,
): Promise<boolean> {
  try {
    await withCancelTimeout(settings, taskId, (signal) => provider.cancelTask(agent, ref, { signal }))
    return true
  } catch (error) {
    if (A2AError.is(error) && NOT_CANCELABLE.includes(error.code)) return true
    settings.onError(error, { during: 'cancelTask', taskId, agentId: agent.id })
    return false
  }
}

/** Returns the result of `work`, limited to `cancelTimeoutMs` even if `work` ignores its signal. */
export async function withCancelTimeout<T>(
  { clock, cancelTimeoutMs }: Pick<TurnSettings, 'clock' | 'cancelTimeoutMs'>,
  taskId: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController()
  const stop = clock.schedule(() => limit.abort(waitTimedOut(taskId, cancelTimeoutMs)), cancelTimeoutMs)
  try {
    return await raceAbort(limit.signal, work(limit.signal))
  } finally {
    stop()
  }
}

function waitTimedOut(taskId: string, timeoutMs: number): A2AError<'WAIT_TIMED_OUT'> {
  const text = `The service of task ${taskId} did not answer within ${timeoutMs} ms`
  return new A2AError('WAIT_TIMED_OUT', text, { taskId, timeoutMs })
}

/** Whether the same call may succeed later. */
function isTransient(error: unknown): error is A2AError {
  return A2AError.is(error, 'PROVIDER_ERROR') ? error.data.retryable : A2AError.is(error, 'UNAVAILABLE')
}
