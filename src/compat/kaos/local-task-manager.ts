/**
 * Task manager that does the work in this process while the client waits.
 *
 * @module
 */
import { onAbort } from '../../runtime/abort.js'
import { requireDelay, requireFunction } from '../../runtime/options.js'
import { A2AError, invalidParams, type ErrorCode } from '../../core/errors.js'
import type { LeasedTasks, LeasedTasksListener, SharedTasks, SyncTasks } from '../../core/managers.js'
import { wellFormed } from '../../core/json.js'
import { readParams } from '../../core/validate.js'
import { describe } from '../../runtime/describe.js'
import { settleWithin } from '../../runtime/shutdown.js'
import { unavailable } from '../../server/unavailable.js'
import { isTerminal } from '../../core/lifecycle.js'
import type { Task, TaskSnapshot } from '../../core/task.js'
import { isShared } from '../../server/tasks.js'
import { FAILED, isAbort, SHUT_DOWN } from '../../server/run/failure-texts.js'
import { joinText } from './join-text.js'
import { toLocalSettings, type LocalSettings, type LocalTaskManagerOptions } from './local-options.js'
import type { ProcessFn } from './local-options.js'
import type { CompletionOptions, SessionMessageOptions, SessionTaskManager } from './session-task-manager.js'

const MESSAGE_KEYS = ['sessionId', 'metadata', 'owner', 'onText']
const COMPLETION_KEYS = ['timeoutMs', 'signal']
const SHUTDOWN_KEYS = ['graceMs']
/** How long `shutdown` waits for the store, in ms. */
const STORING_MS = 5_000

const CANCELED = 'Canceled by request'
const DONE = { state: 'completed', message: 'Done' } as const
/** Errors of waiting for a task that does not exist or is removed during the wait. */
const GONE: readonly ErrorCode[] = ['TASK_NOT_FOUND', 'TASK_EXPIRED', 'MANAGER_DESTROYED']
/** Errors of canceling a task that does not exist or has ended. */
const NOT_LIVE: readonly ErrorCode[] = ['TASK_NOT_FOUND', 'TASK_NOT_CANCELABLE']

/** Managers of shared tasks that a LocalTaskManager works for: it continues the work of processes that have died. */
const managersInUse = new WeakSet<SharedTasks>()

/** The work on one task. */
interface Work {
  /** Aborts when the task's signal does, and when the task is handed over. */
  readonly controller: AbortController
  /** Rejects what `sendMessage` returned. */
  readonly breakOff: (reason: Error) => void
  readonly ended: Promise<void>
}

/**
 * Runs a function on each text at once, in this process, and returns the ended task.
 *
 * A task moves from `submitted` to `working` (with the text `Processing`), and then to `completed` (`Done`) or `failed`. The
 * answer joins the conversation of a completed task. When a task is canceled during the work, its answer is dropped. All
 * tasks returned are copies.
 *
 * Over a `DurableTaskManager`, a task is stored before the work on it begins, and this process holds its lease until it ends.
 * Any process reads, awaits and cancels the tasks of all. With `recover: 'resume'` another process begins the work again
 * when this one has died or shut down; with `'fail'` the task fails.
 *
 * Unlike KAOS' class of the same name, it hides errors of the function from clients, generates ids of 122 random bits (not
 * 48), limits the number of tasks, and does not poll.
 *
 * @throws {TypeError | RangeError} from the constructor, naming the option that is wrong.
 * @example
 * const manager = new LocalTaskManager((text) => `You said: ${text}`)
 * const task = await manager.sendMessage('Hello', { sessionId: 'session-1' })
 * task.messages.at(-1) // { role: 'agent', parts: [{ text: 'You said: Hello' }], … }
 */
export class LocalTaskManager implements SessionTaskManager {
  readonly keepsTasks = true
  readonly #settings: LocalSettings
  /** Where other processes share the tasks. */
  readonly #leased: LeasedTasks | undefined
  /** The tasks that the work changes. */
  readonly #worked: SyncTasks
  /** Work in progress by task id: canceled work may take some time to end. */
  readonly #work = new Map<string, Work>()
  /** The work that is still wanted. */
  readonly #live = new Set<AbortController>()
  #isShutDown = false

  readonly #listener: LeasedTasksListener = {
    // The signal of a task that another process has canceled aborts by itself.
    onNews: () => undefined,
    onLost: (taskId, reason) => {
      this.#settings.onError(reason, { during: 'processFn', taskId })
      this.#work.get(taskId)?.breakOff(reason)
    },
    worker: 'kaos',
    onOrphan: (task) => void this.#restart(task),
    hasRoom: () => !this.#isShutDown && this.#hasRoom,
  }

  constructor(processFn: ProcessFn, options: LocalTaskManagerOptions = {}) {
    this.#settings = toLocalSettings(processFn, options)
    const { tasks } = this.#settings
    if (!isShared(tasks)) {
      this.#worked = tasks
      return
    }
    if (managersInUse.has(tasks))
      throw new TypeError(
        '"tasks" has a LocalTaskManager already, whose function would continue the work of this one',
      )
    managersInUse.add(tasks)
    this.#worked = this.#leased = tasks.lease(this.#listener)
  }

  /**
   * Works on the text. When `processFn` throws, the task fails and this still resolves.
   *
   * @throws {A2AError} As a rejection: `UNAVAILABLE` after `shutdown`; `TASK_LIMIT_REACHED` when `maxTasks` are worked on, or
   *   the manager is full and no task has ended; `INVALID_PARAMS` and `LIMIT_EXCEEDED` for a text or options that the manager
   *   refuses; `TASK_EXPIRED` and `MANAGER_DESTROYED` when the task is removed before it ends. Over a store also
   *   `STORE_FAILED` and `LEASE_LOST`, and `UNAVAILABLE` when the task is handed over.
   */
  async sendMessage(text: string, options: SessionMessageOptions = {}): Promise<Task> {
    if (this.#isShutDown) throw unavailable()
    return await this.#begin(text, this.#createTask(text, options), options.onText)
  }

  /** Resolves to a copy of the task; `null` when there is none. */
  async getTask(taskId: string): Promise<Task | null> {
    return await this.#settings.tasks.getTask(taskId)
  }

  /** Cancels the task with the status message `Canceled by request`, and aborts the signal of the work on it. */
  async cancelTask(taskId: string): Promise<boolean> {
    return await this.#cancel(taskId, CANCELED)
  }

  /**
   * Waits for the task to end, on the manager's clock. Resolves at once when there is no such task.
   *
   * @throws {A2AError} As a rejection: `WAIT_ABORTED`; `INVALID_PARAMS`.
   */
  async waitForCompletion(taskId: string, options: CompletionOptions = {}): Promise<Task | null> {
    const { timeoutMs = 60_000, signal } = readParams(options, COMPLETION_KEYS, 'waitForCompletion')
    const { tasks } = this.#settings
    if (timeoutMs === 0) return await tasks.getTask(taskId)
    try {
      return await tasks.waitFor(taskId, { timeoutMs, signal })
    } catch (error) {
      if (A2AError.is(error, 'WAIT_TIMED_OUT')) return await tasks.getTask(taskId)
      if (A2AError.is(error) && GONE.includes(error.code)) return null
      throw error
    }
  }

  /**
   * Cancels all tasks that are worked on, and waits up to `graceMs` for the work to end. Default is the manager's
   * `graceMs`; `0` does not wait. Tasks can still be read.
   *
   * Over a `DurableTaskManager` with `recover: 'resume'` it hands the tasks over instead: it aborts the work, and another
   * process begins it again. It then waits up to 5 seconds more for the store.
   *
   * @throws {TypeError | RangeError | A2AError} As a rejection, naming the option that is wrong.
   */
  async shutdown(options: { readonly graceMs?: number | undefined } = {}): Promise<void> {
    const { clock, tasks } = this.#settings
    const { graceMs = this.#settings.graceMs } = readParams(options, SHUTDOWN_KEYS, 'shutdown')
    if (graceMs !== 0) requireDelay('graceMs', graceMs)
    this.#isShutDown = true
    if (isShared(tasks)) managersInUse.delete(tasks)
    const stopping = [...this.#work].map(([taskId, work]) => this.#stop(taskId, work))
    await settleWithin(clock, graceMs, [...stopping, ...[...this.#work.values()].map(({ ended }) => ended)])
    if (this.#leased !== undefined) await settleWithin(clock, STORING_MS, [this.#leased.close()])
  }

  get #hasRoom(): boolean {
    return this.#live.size < this.#settings.maxTasks
  }

  /** Creates a task with the text as its first message. When the message is refused, the task is rejected. */
  #createTask(text: string, options: SessionMessageOptions): Task {
    const { maxTasks } = this.#settings
    const { sessionId, metadata, owner, onText } = readParams(options, MESSAGE_KEYS, 'sendMessage')
    if (onText !== undefined) requireFunction('onText', onText)
    if (typeof text !== 'string') throw invalidParams('text', `must be a string, got ${describe(text)}`)
    if (!this.#hasRoom) {
      throw new A2AError('TASK_LIMIT_REACHED', `${maxTasks} tasks are being worked on`, { maxTasks })
    }
    const task = this.#worked.createTask({ skill: 'default', contextId: sessionId, metadata, owner })
    try {
      this.#addMessage(task, 'user', text)
    } catch (error) {
      if (this.#isLive(task.id)) {
        this.#worked.patchTask(task.id, { state: 'rejected' })
        void this.#release(task.id)
        throw error
      }
    }
    return task
  }

  /** Begins the work. Resolves to the ended task. */
  #begin(text: string, task: TaskSnapshot, onText?: SessionMessageOptions['onText']): Promise<Task> {
    const { id } = task
    const { tasks } = this.#settings
    const controller = new AbortController()
    let breakOff: Work['breakOff'] = () => {}
    const broken = new Promise<never>((_, reject) => (breakOff = reject))
    const stored = this.#leased?.stored(id)
    const result = stored === undefined ? tasks.waitFor(id) : stored.then(() => tasks.waitFor(id))
    // Begins on a later microtask, once it is in `#work`, where `shutdown` finds it.
    const ended = Promise.resolve(stored)
      .then(() => this.#process(text, task, controller, onText))
      .finally(() => this.#leave(id, controller))
    this.#work.set(id, { controller, breakOff, ended })
    this.#live.add(controller)
    // The task may end before the work does. Work that rejects has not ended its task.
    return Promise.race([broken, result, ended.then(() => result)])
  }

  /** Begins the work of a process that has died again, unless the answer is there already. */
  async #restart(task: TaskSnapshot): Promise<void> {
    const { id: taskId, messages } = task
    try {
      const said = messages.find(({ role }) => role === 'user')?.parts[0]?.text
      if (said !== undefined && messages.at(-1)?.role !== 'agent') await this.#begin(said, task)
      else {
        this.#worked.patchTask(taskId, said === undefined ? { state: 'failed', message: FAILED } : DONE)
        await this.#release(taskId)
      }
    } catch (error) {
      // The error of a lost task was reported before.
      if (!this.#isShutDown && this.#isLive(taskId))
        this.#settings.onError(error, { during: 'processFn', taskId })
    }
  }

  /** Never rejects, unless the task can be neither completed nor failed. */
  async #process(
    text: string,
    task: TaskSnapshot,
    controller: AbortController,
    onText: SessionMessageOptions['onText'],
  ): Promise<void> {
    const { id, contextId: sessionId, metadata, owner } = task
    const { signal } = controller
    // A listener of its creation may have canceled the task, or shut the manager down.
    if (this.#isShutDown && this.#leased?.handsOver !== true) await this.#cancel(id, SHUT_DOWN)
    if (signal.aborted || !this.#isLive(id)) return
    this.#follow(this.#worked.signalOf(id), controller)
    try {
      if (task.state !== 'working') this.#worked.patchTask(id, { state: 'working', message: 'Processing' })
      // A process that begins the work again has the text of the task.
      const said = wellFormed(text)
      const answer = await joinText(
        await this.#settings.processFn(said, { sessionId, taskId: id, metadata, owner, signal }),
        signal,
        (error) => this.#fail(id, error, signal),
        (piece) => onText?.(piece, { id, contextId: sessionId }),
      )
      if (controller.signal.aborted || !this.#isLive(id)) return
      this.#addMessage(task, 'agent', answer)
      this.#worked.patchTask(id, DONE)
    } catch (error) {
      this.#fail(id, error, signal)
    }
  }

  #follow(signal: AbortSignal, controller: AbortController): void {
    onAbort(signal, () => {
      this.#live.delete(controller)
      controller.abort(signal.reason)
    })
  }

  /** The work is over. The task may have been acquired again since, for other work. */
  async #leave(taskId: string, controller: AbortController): Promise<void> {
    this.#live.delete(controller)
    if (this.#work.get(taskId)?.controller !== controller) return
    this.#work.delete(taskId)
    // The lease of a task that is handed over stays until `shutdown` closes them all.
    if (!this.#isLive(taskId)) await this.#release(taskId)
  }

  /** Releases the lease of a task that has ended. */
  async #release(taskId: string): Promise<void> {
    try {
      while ((await this.#leased?.release(taskId)) === false);
    } catch (error) {
      this.#settings.onError(error, { during: 'processFn', taskId })
    }
  }

  #addMessage({ id: taskId, contextId }: TaskSnapshot, role: 'user' | 'agent', text: string): void {
    this.#worked.addMessage(taskId, { role, parts: [{ text }], taskId, contextId })
  }

  #fail(taskId: string, error: unknown, signal: AbortSignal): void {
    const { onError, describeError } = this.#settings
    const isExpected = signal.aborted && (error === signal.reason || isAbort(error))
    if (isExpected) return
    onError(error, { during: 'processFn', taskId })
    if (signal.aborted || !this.#isLive(taskId)) return
    try {
      const text: unknown = describeError(error)
      if (typeof text !== 'string')
        throw new TypeError(`describeError() must return a string, got ${describe(text)}`)
      this.#worked.patchTask(taskId, { state: 'failed', message: text })
    } catch (failure) {
      // `describeError` threw, or its text was refused as a status message.
      onError(failure, { during: 'describeError', taskId })
      if (this.#isLive(taskId)) this.#worked.patchTask(taskId, { state: 'failed', message: FAILED })
    }
  }

  async #stop(taskId: string, { controller, breakOff }: Work): Promise<void> {
    try {
      if (this.#leased?.handsOver !== true) await this.#cancel(taskId, SHUT_DOWN)
      else if (this.#isLive(taskId)) {
        this.#live.delete(controller)
        controller.abort(unavailable())
        breakOff(unavailable())
      }
    } catch (error) {
      this.#settings.onError(error, { during: 'shutdown', taskId })
    }
  }

  /** Resolves to `false` when there is no such task, or it has ended. */
  async #cancel(taskId: string, message: string): Promise<boolean> {
    try {
      await this.#settings.tasks.cancelTask(taskId, { message })
      return true
    } catch (error) {
      if (A2AError.is(error) && NOT_LIVE.includes(error.code)) return false
      throw error
    }
  }

  /** Whether this process works on the task, and it has not ended. */
  #isLive(taskId: string): boolean {
    const task = this.#worked.peekTask(taskId)
    return task !== null && !isTerminal(task.state)
  }
}
