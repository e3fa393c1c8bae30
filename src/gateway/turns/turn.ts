/**
 * One turn of a task at its service, from the message to the end or the next question.
 *
 * @module
 */
import { MAX_DELAY_MS, type Clock } from '../../runtime/clock.js'
import { yieldToEventLoop } from '../../runtime/timers.js'
import { A2AError, ended, type ErrorCode } from '../../core/errors.js'
import { isInterrupted, isTerminal } from '../../core/lifecycle.js'
import type { TaskManager } from '../../core/task-manager.js'
import type { RegisteredAgent } from '../registry/agent.js'
import { applyUpdate, requireUpdate } from './apply-update.js'
import type { AgentProvider, ProviderTask, TaskRef, TaskUpdate } from '../provider.js'

/** What clients read when the service fails: what really happened is the operator's business. */
export const SERVICE_FAILED = 'The agent could not finish this task'
export const TIMED_OUT = 'Task timed out'

export interface TurnSettings {
  readonly tasks: TaskManager
  readonly clock: Clock
  /** How long a turn may take, in ms. */
  readonly taskTimeoutMs: number
  /** The first pause between two looks at a task, in ms; they grow to ten times that. */
  readonly pollIntervalMs: number
  /** How long a service may take to cancel, and to say where it keeps a task that is canceled while it is sent, in ms. */
  readonly cancelTimeoutMs: number
  readonly onError: (
    error: unknown,
    context: { readonly during: string; readonly taskId: string; readonly agentId: string },
  ) => void
}

/** How a turn begins: by a message, streamed or not, or, with none, by a look at the task, which may have been taken. */
export type TurnStart =
  | { readonly mode: 'send' | 'stream'; readonly task: ProviderTask }
  | { readonly mode: 'follow'; readonly ref: TaskRef; readonly known?: TaskUpdate }

/** What a turn shows of a service: `undefined` for nothing. */
export type ServiceOutcome = 'succeeded' | 'failed' | undefined

/** How often in a row a look at a task may fail before the task does. */
const MAX_FAILED_POLLS = 8

/** Who is told what the service shows of itself. */
export interface TurnListeners {
  /** It has said where it keeps the task, or something else than before. */
  readonly ref: (ref: TaskRef) => void
  /** It has answered, for the first time in this turn. */
  readonly responded: () => void
}

/** After how many updates of a stream everybody else has a turn: a provider may yield without a pause. */
const UPDATES_PER_YIELD = 100

export class Turn {
  readonly agent: RegisteredAgent
  /** Settles when the turn is ended from without, while what was asked of the service may go on. */
  readonly stopped: Promise<void>
  /** Settles when the service has said where it keeps the task, or never will. */
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
  /** Nothing that was asked of the service goes on. */
  #isSettled = false
  /** The service has said that the task has ended, or that it has none. */
  #isTerminalAtService = false
  #hasResponded = false
  #outcome: ServiceOutcome
  /** What broke the stream. */
  #streamError: A2AError | undefined
  #done = Promise.resolve()

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

  /** What the turn has shown of the service. */
  get outcome(): ServiceOutcome {
    return this.#outcome
  }

  /** Settles when the turn, once begun, is over, and with it all that was asked of the service. Never rejects. */
  get done(): Promise<void> {
    return this.#done
  }

  begin(): void {
    this.#done = this.#run()
  }

  /** Ends the turn without a word to the service: the task has ended here, or somebody else goes on with it. */
  abandon(reason: Error): void {
    if (this.#isStopped) return
    this.#markStopped()
    this.#controller.abort(reason)
    this.#onRefKnown()
  }

  /** Ends the turn, and has the service stop. Resolves when it has been told. Never rejects. */
  async cancel(reason: Error): Promise<void> {
    // What the service itself has said, it need not be told.
    if (this.#isStopped || this.#isTerminalAtService) return
    this.#markStopped()
    // A task that is being sent may have arrived: as soon as it is known where, it can be canceled.
    if (this.#isAwaitingRef) await this.#waitForRef()
    this.#controller.abort(reason)
    const ref = this.#refToCancel
    if (ref !== undefined) await cancelAt(this.#settings, this.agent, this.#provider, this.#taskId, ref)
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
    // Whoever listens may have ended it by now.
    if (isTerminal(this.#settings.tasks.stateOf(this.#taskId) ?? 'canceled')) return
    if (start.mode === 'send') {
      this.#apply(await raced(signal, this.#provider.sendTask(this.agent, start.task, this.#call)))
    }
    if (start.mode === 'stream') await this.#stream(start.task)
    if (start.mode === 'follow' && start.known !== undefined) this.#apply(start.known)
    let failedPolls = 0
    for (let polls = 0; !this.#isFinished; polls += 1) {
      if (this.#ref === undefined) throw new Error('The service has not said where it keeps the task')
      await this.#pause(polls + failedPolls)
      if (this.#isStopped) return
      try {
        this.#apply(await raced(signal, this.#provider.getTask(this.agent, this.#ref, this.#call)))
        failedPolls = 0
      } catch (error) {
        // It keeps no tasks: what broke the stream is what the task failed of.
        if (this.#streamError !== undefined && A2AError.is(error, 'UNSUPPORTED_OPERATION'))
          throw this.#streamError
        failedPolls += 1
        if (failedPolls >= MAX_FAILED_POLLS || !isTransient(error)) throw error
      }
    }
  }

  /** A stream that breaks is no end of the task, if it is known where the task is. */
  async #stream(task: ProviderTask): Promise<void> {
    const updates = this.#provider.streamTask(this.agent, task, this.#call)[Symbol.asyncIterator]()
    try {
      for (let count = 1; !this.#isFinished || (this.#isStopped && this.#isAwaitingRef); count += 1) {
        const next = await raced(this.#controller.signal, updates.next())
        if (next.done) return
        this.#apply(next.value)
        if (count % UPDATES_PER_YIELD === 0) await yieldToEventLoop()
      }
    } catch (error) {
      if (this.#isStopped || this.#ref === undefined || !isTransient(error)) throw error
      this.#streamError = error
      this.#report(error, 'streamTask')
    } finally {
      // Nobody waits for it: it may heed nothing.
      void (async () => await updates.return?.())().catch(() => undefined)
    }
  }

  #apply(update: TaskUpdate): void {
    requireUpdate(update, this.agent)
    const { ref, state } = update
    if (!this.#hasResponded) this.#listeners.responded()
    this.#hasResponded = true
    this.#isTerminalAtService = state !== undefined && isTerminal(state)
    if (ref !== undefined) {
      this.#ref = ref
      // Of a task that has ended here, nobody asks where it was.
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

  /** Whether the service may yet say where it keeps the task. */
  get #isAwaitingRef(): boolean {
    const { aborted } = this.#controller.signal
    return this.#ref === undefined && this.#provider.keepsTasks !== false && !this.#isSettled && !aborted
  }

  get #call() {
    return { signal: this.#controller.signal }
  }

  #pause(polls: number): Promise<void> {
    const { clock, pollIntervalMs } = this.#settings
    const { signal } = this.#controller
    return new Promise((resolve) => {
      const pauseMs = pollIntervalMs * Math.min(1.5 ** polls, 10)
      const stop = clock.schedule(end, Math.min(pauseMs, MAX_DELAY_MS))
      function end(): void {
        stop()
        signal.removeEventListener('abort', end)
        resolve()
      }
      signal.addEventListener('abort', end, { once: true })
      if (signal.aborted) end()
    })
  }

  #timeOut(): void {
    const { tasks } = this.#settings
    if (this.#isStopped || isTerminal(tasks.stateOf(this.#taskId) ?? 'canceled')) return
    const reason = ended('TASK_TIMED_OUT', this.#taskId)
    // Who says nothing at all does not work.
    if (!this.#hasResponded) this.#outcome = 'failed'
    this.#report(reason, 'timeout')
    void this.cancel(reason)
    this.#failTask(TIMED_OUT, { code: 'TASK_TIMED_OUT', retryable: true })
  }

  #fail(error: unknown): void {
    this.#isSettled = true
    // Whoever stopped the turn has seen to the task.
    if (this.#isStopped) return
    if (isTransient(error)) this.#outcome = 'failed'
    if (A2AError.is(error, 'TASK_NOT_FOUND')) this.#isTerminalAtService = true
    this.#report(error, 'work')
    this.#failTask(SERVICE_FAILED, {
      code: A2AError.is(error) ? error.code : 'INTERNAL',
      retryable: isTransient(error),
    })
  }

  #failTask(message: string, failure: { readonly code: string; readonly retryable: boolean }): void {
    const { tasks } = this.#settings
    try {
      applyUpdate(tasks, this.#taskId, { state: 'failed', message, failure })
    } catch {
      // It has ended meanwhile, or there is no room left in it for a word.
      if (tasks.can(this.#taskId, 'failed')) tasks.patchTask(this.#taskId, { state: 'failed' })
    }
  }

  #markStopped(): void {
    this.#isStopped = true
    // Of a turn that is over by itself nobody need be told twice.
    if (!this.#isSettled) this.#onStopped()
  }

  #waitForRef(): Promise<void> {
    const { clock, cancelTimeoutMs } = this.#settings
    return new Promise((resolve) => {
      const stop = clock.schedule(resolve, cancelTimeoutMs)
      this.#onRefKnown = () => {
        stop()
        resolve()
      }
    })
  }

  #report(error: unknown, during: string): void {
    this.#settings.onError(error, { during, taskId: this.#taskId, agentId: this.agent.id })
  }
}

/** The service cannot stop it, or need not. */
const NOT_CANCELABLE: readonly ErrorCode[] = [
  'UNSUPPORTED_OPERATION',
  'TASK_NOT_FOUND',
  'TASK_NOT_CANCELABLE',
]

/** Has the service stop. Never rejects: one that fails is reported, one that cannot is left alone. */
export async function cancelAt(
  settings: TurnSettings,
  agent: RegisteredAgent,
  provider: AgentProvider,
  taskId: string,
  ref: TaskRef,
): Promise<void> {
  try {
    await within(settings, taskId, (signal) => provider.cancelTask(agent, ref, { signal }))
  } catch (error) {
    if (A2AError.is(error) && NOT_CANCELABLE.includes(error.code)) return
    settings.onError(error, { during: 'cancelTask', taskId, agentId: agent.id })
  }
}

/** What `work` gives within the time that a cancel may take, whether it heeds its signal or not. */
export async function within<T>(
  { clock, cancelTimeoutMs }: Pick<TurnSettings, 'clock' | 'cancelTimeoutMs'>,
  taskId: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController()
  const stop = clock.schedule(() => limit.abort(waitTimedOut(taskId, cancelTimeoutMs)), cancelTimeoutMs)
  try {
    return await raced(limit.signal, work(limit.signal))
  } finally {
    stop()
  }
}

function waitTimedOut(taskId: string, timeoutMs: number): A2AError<'WAIT_TIMED_OUT'> {
  const text = `The service of task ${taskId} did not answer within ${timeoutMs} ms`
  return new A2AError('WAIT_TIMED_OUT', text, { taskId, timeoutMs })
}

/** What `work` gives, or the reason of the abort, also where `work` does not heed it. */
async function raced<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  let settle = (): void => {}
  const aborted = new Promise<never>((_, reject) => {
    const onAbort = (): void => reject(signal.reason as Error)
    signal.addEventListener('abort', onAbort, { once: true })
    settle = () => signal.removeEventListener('abort', onAbort)
    if (signal.aborted) onAbort()
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    settle()
  }
}

/** Whether the same call may well succeed later. */
function isTransient(error: unknown): error is A2AError {
  return A2AError.is(error, 'PROVIDER_ERROR') ? error.data.retryable : A2AError.is(error, 'UNAVAILABLE')
}

/** @throws The reason of the signal, as soon as there is one. */
export function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const onAbort = (): void => reject(signal.reason as Error)
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
  })
}
