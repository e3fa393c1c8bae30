/**
 * Runs in progress, their queues and deadlines, and the limit on their number.
 *
 * @module
 */
import { A2AError, endError } from '../../core/errors.js'
import type { TaskKey } from '../../core/task.js'
import type { Clock } from '../../runtime/clock.js'
import type { ActiveRun } from './active-run.js'
import { Deadlines } from './deadlines.js'
import { MessageQueues } from './message-queue.js'
import type { Principal } from '../caller.js'
import { unavailable } from '../unavailable.js'

/** Reasons for which this process stops working on a task that still exists. */
const MOVED_CODES = ['LEASE_LOST', 'STORE_FAILED', 'UNAVAILABLE'] as const

/** The state that the run manager and its scheduler share. */
export class RunRegistry<P extends Principal> {
  readonly queues = new MessageQueues<P>()
  readonly deadlines: Deadlines
  readonly #active = new Set<ActiveRun<P>>()
  readonly #byTask = new Map<string, ActiveRun<P>>()
  readonly #maxRuns: number
  #isClosing = false

  constructor(clock: Clock, maxRuns: number) {
    this.deadlines = new Deadlines(clock)
    this.#maxRuns = maxRuns
  }

  get isClosing(): boolean {
    return this.#isClosing
  }

  /** Refuses new work from now on. */
  close(): void {
    this.#isClosing = true
  }

  /** All runs in progress, also those whose task is gone. */
  [Symbol.iterator](): IterableIterator<ActiveRun<P>> {
    return this.#active.values()
  }

  has(active: ActiveRun<P>): boolean {
    return this.#active.has(active)
  }

  add(active: ActiveRun<P>): void {
    this.#active.add(active)
  }

  delete(active: ActiveRun<P>): void {
    this.#active.delete(active)
  }

  /** The run that works on a task in this process. */
  runOf(taskId: string): ActiveRun<P> | undefined {
    return this.#byTask.get(taskId)
  }

  assign(taskId: string, active: ActiveRun<P>): void {
    this.#byTask.set(taskId, active)
  }

  unassign(taskId: string): void {
    this.#byTask.delete(taskId)
  }

  /** @throws {A2AError} `UNAVAILABLE` once the agent shuts down. */
  requireOpen(): void {
    if (this.#isClosing) throw unavailable()
  }

  /** @throws {A2AError} `UNAVAILABLE` when no run can begin now. */
  requireRoom(): void {
    this.requireOpen()
    if (!this.hasRoom(0)) throw unavailable('has too much to do')
  }

  /**
   * Whether one more run can begin, beside `others` that are about to. Runs that wait for the user do not count. Runs
   * whose task has ended count for as long as their executor goes on.
   */
  hasRoom(others: number): boolean {
    if (this.#active.size + others < this.#maxRuns) return true
    let working = others
    for (const { run } of this.#active) if (!run.isWaiting) working += 1
    return working < this.#maxRuns
  }

  /** Detaches the task's run with `reason`, and drops its queue. Default is that the task is gone. */
  drop(taskId: string, reason?: Error): void {
    this.queues.delete(taskId)
    this.#byTask.get(taskId)?.run.detach(reason ?? endError('TASK_EXPIRED', taskId))
    this.#byTask.delete(taskId)
  }

  /**
   * Drops a task that this process no longer holds.
   *
   * @param task - The task where no run works on it.
   */
  lose(taskId: string, reason: Error, task?: TaskKey): void {
    const active = this.#byTask.get(taskId)
    this.drop(taskId, reason)
    active?.break(reason)
    const key = active?.task ?? task
    // A task that moved to another process keeps its deadline here. One that is gone or was never stored does not.
    const isMoved = MOVED_CODES.some((code) => A2AError.is(reason, code))
    if (key !== undefined && !isMoved) this.deadlines.clear(key)
  }
}
