/**
 * The task manager of an agent that does its work while the client waits.
 *
 * @module
 */
import { readOptions, requireDelay, requireFunction, requireFunctions } from '../../runtime/options.js'
import { A2AError, invalidParams, type ErrorCode } from '../../core/errors.js'
import { read } from '../../core/validate.js'
import { describe } from '../../runtime/describe.js'
import { systemClock, type Clock } from '../../runtime/clock.js'
import type { ReadonlyJson } from '../../core/json-types.js'
import { settleWithin } from '../../runtime/shutdown.js'
import { unavailable } from '../unavailable.js'
import { reportError } from '../../runtime/report.js'
import { isTerminal } from '../../core/lifecycle.js'
import { TaskManager } from '../../core/task-manager.js'
import type { Task } from '../../core/task.js'
import { joinText } from './join-text.js'
import { guarded, requireTasks, type ErrorContext } from '../options.js'
import { FAILED, isAbort, SHUT_DOWN } from '../runs/run-failures.js'
import type { CompletionOptions, SessionMessageOptions, SessionTaskManager } from './session-task-manager.js'

/** What a text is worked on with. */
export interface ProcessContext {
  /** The conversation that the text belongs to: the task's `contextId`. Clients choose it: it proves nothing. */
  readonly sessionId: string
  readonly taskId: string
  /** What came with the text. */
  readonly metadata: { readonly [key: string]: ReadonlyJson }
  /** To whom the task belongs: the id of the principal where there is one. */
  readonly owner: string | undefined
  /** Aborts when the work is no longer wanted: the task was canceled, timed out or expired, or the manager shuts down. */
  readonly signal: AbortSignal
}

/** The agent's work on one text: an answer, or the pieces of one. May throw: the task then fails. */
export type ProcessFn = (
  text: string,
  context: ProcessContext,
) => string | AsyncIterable<string> | Promise<string | AsyncIterable<string>>

export interface LocalTaskManagerOptions {
  /**
   * Where tasks live. Default is a manager of its own, which holds 10 000 tasks for 24 hours and drops those that ended
   * longest ago when it is full.
   */
  readonly tasks?: TaskManager | undefined
  /**
   * What a failed task says of what `processFn` threw: clients read it. `String` tells everything. Default is
   * `The agent could not finish this task`, whatever was thrown.
   */
  readonly describeError?: ((error: unknown) => string) | undefined
  /** Is told what `processFn` threw. Default is a warning of the process, where the runtime has them. */
  readonly onError?: ((error: unknown, context: ErrorContext) => void) | undefined
  /** How long `shutdown` waits, in ms, for work that it has aborted to end. Default is `10_000` (10 seconds). */
  readonly graceMs?: number | undefined
  /** Default is the runtime's clock. A given `tasks` has its own. */
  readonly clock?: Clock | undefined
}

export const OPTION_KEYS = ['tasks', 'describeError', 'onError', 'graceMs', 'clock']
const MESSAGE_KEYS = ['sessionId', 'metadata', 'owner']
const COMPLETION_KEYS = ['timeoutMs', 'signal']
const SHUTDOWN_KEYS = ['graceMs']
const MAX_TASKS = 10_000

const CANCELED = 'Canceled by request'
/** A task that is gone while somebody waits for it is as one that never was. */
const GONE: readonly ErrorCode[] = ['TASK_NOT_FOUND', 'TASK_EXPIRED', 'MANAGER_DESTROYED']

/**
 * Works on each text at once, in this process, and answers with the task that has ended.
 *
 * A task goes from `submitted` to `working` (`Processing`) to `completed` (`Done`), with the answer in the conversation,
 * or to `failed`, without. What comes of a task that was canceled meanwhile is dropped. Tasks are the caller's own
 * copies.
 *
 * It differs from KAOS' class of this name where that one tells clients what was thrown, has ids of 48 random bits,
 * hands out live tasks, adds answers to canceled ones, grows without bound when no task has ended, and polls.
 *
 * @throws {TypeError | RangeError} from the constructor, naming the option that makes no sense.
 * @example
 * const manager = new LocalTaskManager((text) => `You said: ${text}`)
 * const task = await manager.sendMessage('Hello', { sessionId: 'session-1' })
 * task.messages.at(-1) // { role: 'agent', parts: [{ text: 'You said: Hello' }], … }
 */
export class LocalTaskManager implements SessionTaskManager {
  readonly keepsTasks = true
  readonly #processFn: ProcessFn
  readonly #tasks: TaskManager
  readonly #describeError: (error: unknown) => string
  readonly #onError: (error: unknown, context: ErrorContext) => void
  readonly #graceMs: number
  readonly #clock: Clock
  /** What is going on, by its task: an end that was asked for may be some time away. */
  readonly #work = new Map<string, Promise<void>>()
  #isShutDown = false

  constructor(processFn: ProcessFn, options: LocalTaskManagerOptions = {}) {
    const given = readOptions(options, OPTION_KEYS, 'LocalTaskManager')
    const { describeError = () => FAILED, clock = systemClock, onError } = given
    requireFunction('processFn', processFn)
    requireFunction('describeError', describeError)
    if (given.tasks !== undefined) requireTasks(given.tasks)
    requireFunctions(given, ['onError'])
    this.#processFn = processFn
    this.#tasks = given.tasks ?? new TaskManager({ maxTasks: MAX_TASKS, whenFull: 'evict-terminal', clock })
    this.#describeError = describeError
    this.#onError = onError === undefined ? reportError : guarded(onError)
    this.#graceMs = requireDelay('graceMs', given.graceMs ?? 10_000)
    this.#clock = clock
  }

  /**
   * Works on the text. Whatever `processFn` throws becomes a failed task.
   *
   * @throws {A2AError} As a rejection: `UNAVAILABLE` after `shutdown`; `TASK_LIMIT_REACHED` when there is no room and no
   *   task has ended; `INVALID_PARAMS` and `LIMIT_EXCEEDED` for what makes no task; `TASK_EXPIRED` and `MANAGER_DESTROYED`
   *   when the task is removed before it ends.
   */
  async sendMessage(text: string, options: SessionMessageOptions = {}): Promise<Task> {
    if (this.#isShutDown) throw unavailable()
    const task = this.#open(text, options)
    const ended = this.#tasks.waitFor(task.id)
    // A moment later, so that whatever it calls finds it among the work.
    const work = Promise.resolve()
      .then(() => this.#process(text, task))
      .finally(() => this.#work.delete(task.id))
    this.#work.set(task.id, work)
    // Nobody waits for work whose task has ended without it; work that breaks is told of.
    return Promise.race([ended, work.then(() => ended)])
  }

  getTask(taskId: string): Promise<Task | null> {
    return Promise.resolve(this.#tasks.getTask(taskId))
  }

  /** Cancels the task with the status message `Canceled by request`, and aborts the signal of the work on it. */
  cancelTask(taskId: string): Promise<boolean> {
    return Promise.resolve(this.#cancel(taskId, CANCELED))
  }

  /**
   * Waits on the manager's clock, and not at all for a task that there is not.
   *
   * @throws {A2AError} As a rejection: `WAIT_ABORTED`; `INVALID_PARAMS`.
   */
  async waitForCompletion(taskId: string, options: CompletionOptions = {}): Promise<Task | null> {
    const { timeoutMs = 60_000, signal } = read(options, COMPLETION_KEYS, 'waitForCompletion')
    if (timeoutMs === 0) return this.#tasks.getTask(taskId)
    try {
      return await this.#tasks.waitFor(taskId, { timeoutMs, signal })
    } catch (error) {
      if (A2AError.is(error, 'WAIT_TIMED_OUT')) return this.#tasks.getTask(taskId)
      if (A2AError.is(error) && GONE.includes(error.code)) return null
      throw error
    }
  }

  /**
   * Cancels what is worked on, and waits for the work to end, for `graceMs` at most: by default that of the manager, and
   * 0 is no time. Tasks can still be asked for.
   *
   * @throws {RangeError | A2AError} As a rejection, naming the option that makes no sense.
   */
  async shutdown(options: { readonly graceMs?: number | undefined } = {}): Promise<void> {
    const { graceMs = this.#graceMs } = read(options, SHUTDOWN_KEYS, 'shutdown')
    if (graceMs !== 0) requireDelay('graceMs', graceMs)
    this.#isShutDown = true
    for (const taskId of this.#work.keys()) {
      try {
        this.#cancel(taskId, SHUT_DOWN)
      } catch (error) {
        this.#onError(error, { during: 'shutdown', taskId })
      }
    }
    await settleWithin(this.#clock, graceMs, this.#work.values())
  }

  /** A task with the text as its first message; where that is refused, one that nobody was told of. */
  #open(text: string, options: SessionMessageOptions): Task {
    const { sessionId, metadata, owner } = read(options, MESSAGE_KEYS, 'sendMessage')
    if (typeof text !== 'string') throw invalidParams('text', `must be a string, got ${describe(text)}`)
    const task = this.#tasks.createTask({ skill: 'default', contextId: sessionId, metadata, owner })
    try {
      this.#say(task, 'user', text)
    } catch (error) {
      if (this.#isLive(task.id)) {
        this.#tasks.patchTask(task.id, { state: 'rejected' })
        throw error
      }
    }
    return task
  }

  /** Rejects only when the task could not be made to say what became of it. */
  async #process(text: string, task: Task): Promise<void> {
    const { id, contextId: sessionId, metadata, owner } = task
    // Whoever was told of the task may have canceled it, or shut all down.
    if (this.#isShutDown) this.#cancel(id, SHUT_DOWN)
    if (!this.#isLive(id)) return
    const signal = this.#tasks.signalOf(id)
    try {
      this.#tasks.patchTask(id, { state: 'working', message: 'Processing' })
      const answer = await joinText(
        await this.#processFn(text, { sessionId, taskId: id, metadata, owner, signal }),
        signal,
        (error) => this.#fail(id, error, signal),
      )
      if (!this.#isLive(id)) return
      this.#say(task, 'agent', answer)
      this.#tasks.patchTask(id, { state: 'completed', message: 'Done' })
    } catch (error) {
      this.#fail(id, error, signal)
    }
  }

  #say({ id: taskId, contextId }: Task, role: 'user' | 'agent', text: string): void {
    this.#tasks.addMessage(taskId, { role, parts: [{ text }], taskId, contextId })
  }

  #fail(taskId: string, error: unknown, signal: AbortSignal): void {
    const isExpected = signal.aborted && (error === signal.reason || isAbort(error))
    if (isExpected) return
    this.#onError(error, { during: 'processFn', taskId })
    if (!this.#isLive(taskId)) return
    try {
      const text: unknown = this.#describeError(error)
      if (typeof text !== 'string')
        throw new TypeError(`describeError() must return a string, got ${describe(text)}`)
      this.#tasks.patchTask(taskId, { state: 'failed', message: text })
    } catch (failure) {
      // It has no text, or one that is no status message.
      this.#onError(failure, { during: 'describeError', taskId })
      if (this.#isLive(taskId)) this.#tasks.patchTask(taskId, { state: 'failed', message: FAILED })
    }
  }

  #cancel(taskId: string, message: string): boolean {
    if (!this.#isLive(taskId)) return false
    this.#tasks.cancelTask(taskId, { message })
    return true
  }

  #isLive(taskId: string): boolean {
    const task = this.#tasks.peekTask(taskId)
    return task !== null && !isTerminal(task.state, this.#tasks.lifecycle)
  }
}
