/**
 * Task manager that does the work in this process while the client waits.
 *
 * @module
 */
import {
  readOptions,
  requireClock,
  requireDelay,
  requireFunction,
  requireFunctions,
} from '../../runtime/options.js'
import { A2AError, invalidParams, type ErrorCode } from '../../core/errors.js'
import { readParams } from '../../core/validate.js'
import { describe } from '../../runtime/describe.js'
import { systemClock, type Clock } from '../../runtime/clock.js'
import type { ReadonlyJson } from '../../core/json-types.js'
import { settleWithin } from '../../runtime/shutdown.js'
import { unavailable } from '../unavailable.js'
import { reportError } from '../../runtime/report.js'
import { isTerminal } from '../../core/lifecycle.js'
import { TaskManager } from '../../core/task-manager.js'
import type { Task } from '../../core/task.js'
import { withResult } from '../runs/finish-run.js'
import { guarded, requireTasks, type ErrorContext } from '../options.js'
import { FAILED, isAbort, SHUT_DOWN } from '../runs/failure-texts.js'
import type { CompletionOptions, SessionMessageOptions, SessionTaskManager } from './session-task-manager.js'

/** The context of the work on one text. */
export interface ProcessContext {
  /** The conversation of the text: the task's `contextId`. Clients choose it, so it does not identify a user. */
  readonly sessionId: string
  readonly taskId: string
  /** The metadata of the message. */
  readonly metadata: { readonly [key: string]: ReadonlyJson }
  /** The task's owner: with `authenticate`, the id of the principal. */
  readonly owner: string | undefined
  /** Aborts when the task is canceled, times out or expires, and when the manager shuts down. */
  readonly signal: AbortSignal
}

/** The agent's work on one text. Returns the answer, whole or in chunks. When it throws, the task fails. */
export type ProcessFn = (
  text: string,
  context: ProcessContext,
) => string | AsyncIterable<string> | Promise<string | AsyncIterable<string>>

export interface LocalTaskManagerOptions {
  /**
   * Stores the tasks. Default is a new `TaskManager` that holds 10,000 tasks for 24 hours. When it is full, it removes the
   * tasks that ended longest ago.
   */
  readonly tasks?: TaskManager | undefined
  /**
   * Returns the status message of a task whose `processFn` threw. Clients read it; `String` exposes the whole error. Default
   * is always `The agent could not finish this task`.
   */
  readonly describeError?: ((error: unknown) => string) | undefined
  /** Receives what `processFn` throws. Default is a process warning, where the runtime has them. */
  readonly onError?: ((error: unknown, context: ErrorContext) => void) | undefined
  /** How long `shutdown` waits for aborted work to end, in ms. Default is `10_000` (10 seconds). */
  readonly graceMs?: number | undefined
  /** Default is the runtime's clock. `tasks` uses its own clock. */
  readonly clock?: Clock | undefined
}

export const OPTION_KEYS = ['tasks', 'describeError', 'onError', 'graceMs', 'clock']
const MESSAGE_KEYS = ['sessionId', 'metadata', 'owner']
const COMPLETION_KEYS = ['timeoutMs', 'signal']
const SHUTDOWN_KEYS = ['graceMs']
const MAX_TASKS = 10_000

const CANCELED = 'Canceled by request'
/** Errors of waiting for a task that does not exist or is removed during the wait. */
const GONE: readonly ErrorCode[] = ['TASK_NOT_FOUND', 'TASK_EXPIRED', 'MANAGER_DESTROYED']

/**
 * Works on each text immediately, in this process, and answers with the ended task.
 *
 * A task moves from `submitted` to `working` (`Processing`) to `completed` (`Done`), with the answer in the conversation, or
 * to `failed`, without. The answer of a task that is canceled during the work is dropped. All tasks returned are copies.
 *
 * Unlike KAOS' class of the same name, it does not show clients what was thrown, has ids of 122 random bits (not 48),
 * returns no live tasks, adds no answer to a canceled task, is bounded, and does not poll.
 *
 * @throws {TypeError | RangeError} from the constructor, naming the option that is wrong.
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
  /** Work in progress by task id: canceled work may take some time to end. */
  readonly #work = new Map<string, Promise<void>>()
  #isShutDown = false

  constructor(processFn: ProcessFn, options: LocalTaskManagerOptions = {}) {
    const given = readOptions(options, OPTION_KEYS, 'LocalTaskManager')
    const { describeError = () => FAILED, clock = systemClock, onError } = given
    requireFunction('processFn', processFn)
    requireFunction('describeError', describeError)
    if (given.tasks !== undefined) requireTasks(given.tasks)
    requireFunctions(given, ['onError'])
    requireClock(clock)
    this.#processFn = processFn
    this.#tasks = given.tasks ?? new TaskManager({ maxTasks: MAX_TASKS, whenFull: 'evict-terminal', clock })
    this.#describeError = describeError
    this.#onError = onError === undefined ? reportError : guarded(onError)
    this.#graceMs = requireDelay('graceMs', given.graceMs ?? 10_000)
    this.#clock = clock
  }

  /**
   * Works on the text. When `processFn` throws, the task fails and this still resolves.
   *
   * @throws {A2AError} As a rejection: `UNAVAILABLE` after `shutdown`; `TASK_LIMIT_REACHED` when the manager is full
   *   and no task has ended; `INVALID_PARAMS` and `LIMIT_EXCEEDED` for a text or options that the manager refuses; `TASK_EXPIRED` and `MANAGER_DESTROYED`
   *   when the task is removed before it ends.
   */
  async sendMessage(text: string, options: SessionMessageOptions = {}): Promise<Task> {
    if (this.#isShutDown) throw unavailable()
    const task = this.#createTask(text, options)
    const ended = this.#tasks.waitFor(task.id)
    // Begins on a later microtask, once it is in `#work`, where `shutdown` finds it.
    const work = Promise.resolve()
      .then(() => this.#process(text, task))
      .finally(() => this.#work.delete(task.id))
    this.#work.set(task.id, work)
    // The task may end before the work does. Work that rejects has not ended its task.
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
   * Waits for the task to end, on the manager's clock. Resolves at once when there is no such task.
   *
   * @throws {A2AError} As a rejection: `WAIT_ABORTED`; `INVALID_PARAMS`.
   */
  async waitForCompletion(taskId: string, options: CompletionOptions = {}): Promise<Task | null> {
    const { timeoutMs = 60_000, signal } = readParams(options, COMPLETION_KEYS, 'waitForCompletion')
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
   * Cancels all tasks that are worked on, and waits up to `graceMs` for the work to end. Default is the manager's
   * `graceMs`; `0` does not wait. Tasks can still be read.
   *
   * @throws {TypeError | RangeError | A2AError} As a rejection, naming the option that is wrong.
   */
  async shutdown(options: { readonly graceMs?: number | undefined } = {}): Promise<void> {
    const { graceMs = this.#graceMs } = readParams(options, SHUTDOWN_KEYS, 'shutdown')
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

  /** Creates a task with the text as its first message. When the message is refused, the task is rejected. */
  #createTask(text: string, options: SessionMessageOptions): Task {
    const { sessionId, metadata, owner } = readParams(options, MESSAGE_KEYS, 'sendMessage')
    if (typeof text !== 'string') throw invalidParams('text', `must be a string, got ${describe(text)}`)
    const task = this.#tasks.createTask({ skill: 'default', contextId: sessionId, metadata, owner })
    try {
      this.#addMessage(task, 'user', text)
    } catch (error) {
      if (this.#isLive(task.id)) {
        this.#tasks.patchTask(task.id, { state: 'rejected' })
        throw error
      }
    }
    return task
  }

  /** Never rejects, unless the task can be neither completed nor failed. */
  async #process(text: string, task: Task): Promise<void> {
    const { id, contextId: sessionId, metadata, owner } = task
    // A listener of its creation may have canceled the task, or shut the manager down.
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
      this.#addMessage(task, 'agent', answer)
      this.#tasks.patchTask(id, { state: 'completed', message: 'Done' })
    } catch (error) {
      this.#fail(id, error, signal)
    }
  }

  #addMessage({ id: taskId, contextId }: Task, role: 'user' | 'agent', text: string): void {
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
      // `describeError` threw, or its text was refused as a status message.
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

/**
 * Joins the result of a processing function to one text.
 *
 * @param signal - Stops reading when it aborts.
 * @param refuse - Called at once with the error of a chunk that is not a text, because closing the iterable may take long.
 * @throws {TypeError} As a rejection, when `outcome` is neither a text nor an async iterable; what the iterable throws; the
 *   signal's reason.
 */
async function joinText(
  outcome: unknown,
  signal: AbortSignal,
  refuse: (error: TypeError) => void,
): Promise<string> {
  if (typeof outcome === 'string') return outcome
  if (typeof outcome !== 'object' || outcome === null || !(Symbol.asyncIterator in outcome)) {
    throw new TypeError(
      `processFn() must return a string or an async iterable of strings, got ${describe(outcome)}`,
    )
  }
  const chunks: string[] = []
  // The loop checks each element.
  for await (const chunk of withResult(outcome as AsyncIterable<unknown, unknown>)) {
    signal.throwIfAborted()
    if (typeof chunk !== 'string') {
      refuse(new TypeError(`processFn() must yield strings, got ${describe(chunk)}`))
      return ''
    }
    chunks.push(chunk)
  }
  return chunks.join('')
}
