/**
 * Runs in progress, their queues and deadlines, and the limit on their number.
 *
 * @module
 */
import { A2AError, endError } from '../../core/errors.js'
import { isSameOwner, type OwnerFilter } from '../../core/queries.js'
import type { TaskKey } from '../../core/task.js'
import type { Clock } from '../../runtime/clock.js'
import type { ActiveRun } from './active-run.js'
import { Deadlines } from './deadlines.js'
import { HeldRequests, MessageQueues } from '../run/message-queue.js'
import type { Principal } from '../caller.js'
import type { CompleteLimits } from '../limits.js'
import { tooManyOf } from '../owner-counts.js'
import { unavailable } from '../unavailable.js'

/** Reasons for which this process stops working on a task that still exists. */
const MOVED_CODES = ['LEASE_LOST', 'STORE_FAILED', 'UNAVAILABLE'] as const

type RunLimits = Pick<CompleteLimits, 'maxRuns' | 'maxRunsPerOwner'>

/** The state that the run manager and its scheduler share. */
export class RunRegistry<P extends Principal> {
  readonly held = new HeldRequests()
  readonly queues = new MessageQueues<P>(this.held)
  /** Absent until a message limits the time of its task. */
  deadlines: Deadlines | undefined
  readonly #clock: Clock
  readonly #active = new Set<ActiveRun<P>>()
  readonly #byTask = new Map<string, ActiveRun<P>>()
  readonly #limits: RunLimits
  /** Runs that are about to begin, by a message that is not stored yet. */
  readonly #reserved = new Set<OwnerFilter>()
  #isClosing = false
  #onEmpty = (): void => {}

  constructor(clock: Clock, limits: RunLimits) {
    this.#clock = clock
    this.#limits = limits
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
    this.held.add(active.message)
  }

  delete(active: ActiveRun<P>): void {
    if (this.#active.delete(active)) this.held.remove(active.message)
    if (this.#active.size === 0) this.#onEmpty()
  }

  /** Resolves when no run is in progress. */
  empty(): Promise<void> {
    if (this.#active.size === 0) return Promise.resolve()
    return new Promise((resolve) => (this.#onEmpty = resolve))
  }

  /** See {@link Deadlines.set}. */
  limitTime(task: TaskKey, at: number, onTime: () => void): void {
    this.deadlines ??= new Deadlines(this.#clock)
    this.deadlines.set(task, at, onTime)
  }

  /** The run that works on a task in this process. */
  runOf(taskId: string): ActiveRun<P> | undefined {
    return this.#byTask.get(taskId)
  }

  assign({ id, createdAt }: TaskKey, active: ActiveRun<P>): void {
    active.task = { id, createdAt }
    this.#byTask.set(id, active)
  }

  unassign(taskId: string): void {
    this.#byTask.delete(taskId)
  }

  /** @throws {A2AError} `UNAVAILABLE` once the agent shuts down. */
  requireOpen(): void {
    if (this.#isClosing) throw unavailable()
  }

  /** @throws {A2AError} `UNAVAILABLE` when no run can begin now; `RATE_LIMITED` when no more run of this owner can. */
  requireRoom({ owner = null }: OwnerFilter): void {
    this.requireOpen()
    if (!this.hasRoom(0)) throw unavailable('has too much to do')
    const { maxRunsPerOwner } = this.#limits
    if (maxRunsPerOwner === Infinity) return
    let working = this.#countOf(owner, ({ run }) => !run.turn.isIdle)
    for (const other of this.#reserved) if (isSameOwner(other.owner, owner)) working += 1
    if (working >= maxRunsPerOwner) throw tooManyOf('runs')
  }

  /**
   * Keeps room for a run that is about to begin, until the returned function is called.
   *
   * @throws {A2AError} As {@link requireRoom}.
   */
  reserve({ owner = null }: OwnerFilter): () => void {
    this.requireRoom({ owner })
    const place = { owner }
    this.#reserved.add(place)
    return () => void this.#reserved.delete(place)
  }

  /** How many runs of this owner may yet begin a task, or have begun one that its manager does not count. */
  beginning({ owner = null }: OwnerFilter): number {
    return this.#countOf(owner, ({ isCounted, run }) => !isCounted && !run.hasReplied)
  }

  /**
   * Whether one more run can begin, beside `others` that are about to. Runs that only wait do not count. Runs
   * whose task has ended count for as long as their executor continues.
   */
  hasRoom(others: number): boolean {
    const { maxRuns } = this.#limits
    let working = others + this.#reserved.size
    if (this.#active.size + working < maxRuns) return true
    for (const { run } of this.#active) if (!run.turn.isIdle) working += 1
    return working < maxRuns
  }

  #countOf(owner: string | null, isMeant: (active: ActiveRun<P>) => boolean): number {
    let count = 0
    for (const active of this.#active) {
      if (isSameOwner(active.message.owner.owner, owner) && isMeant(active)) count += 1
    }
    return count
  }

  /** How many runs are at work, and how many wait. */
  count(): { readonly working: number; readonly waiting: number } {
    let waiting = 0
    for (const { run } of this.#active) if (run.turn.isIdle) waiting += 1
    return { working: this.#active.size - waiting, waiting }
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
    if (key !== undefined && !isMoved) this.deadlines?.clear(key)
  }
}
