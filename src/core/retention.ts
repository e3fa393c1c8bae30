/**
 * Retention: expiry, timeouts, and eviction when a manager is full.
 *
 * @module
 */
import { A2AError } from './errors.js'
import { isTerminal } from './lifecycle.js'
import type { Settings } from './options.js'
import type { TaskRecord } from './task-record.js'
import type { TaskTable } from './task-table.js'
import type { Deadline, Instant, Timeline } from './timeline.js'

/** The maximum number of tasks that one eviction removes. */
const EVICTION_BATCH = 100

/** The actions of the manager on tasks that expire, time out or are evicted. */
export interface RetentionEffects<S extends string> {
  expire(record: TaskRecord<S>): void
  evict(record: TaskRecord<S>): void
  timeOut(record: TaskRecord<S>): void
  /** Called after the timer has removed expired tasks. */
  pruned(): void
}

export class Retention<S extends string> {
  readonly #table: TaskTable<S>
  readonly #timeline: Timeline
  readonly #settings: Settings<S>
  readonly #effects: RetentionEffects<S>
  #nextPrune: Deadline | undefined
  readonly #timeouts = new Map<TaskRecord<S>, Deadline>()

  constructor(table: TaskTable<S>, timeline: Timeline, settings: Settings<S>, effects: RetentionEffects<S>) {
    this.#table = table
    this.#timeline = timeline
    this.#settings = settings
    this.#effects = effects
  }

  /**
   * Removes expired tasks and returns their number. O(1) if there are none: tasks expire in the order of their
   * creation.
   */
  prune(now: Instant): number {
    const { expiryMs } = this.#settings
    let count = 0
    for (let record = this.#table.first; record !== undefined; record = this.#table.first) {
      if (now.ms - record.created.ms <= expiryMs) break
      this.#effects.expire(record)
      count += 1
    }
    return count
  }

  /**
   * Makes room for one more task, by eviction if the settings allow it.
   *
   * @throws {A2AError} `TASK_LIMIT_REACHED` when the manager is full.
   */
  makeRoom(): void {
    const { maxTasks, evictWhenFull } = this.#settings
    if (this.#table.size < maxTasks) return
    if (evictWhenFull) this.#evict(Math.min(EVICTION_BATCH, Math.ceil(maxTasks / 10)))
    this.requireRoom(1)
  }

  /** @throws {A2AError} `TASK_LIMIT_REACHED` when there is no room for `count` more tasks. */
  requireRoom(count: number): void {
    const { maxTasks } = this.#settings
    if (this.#table.size + count <= maxTasks) return
    throw new A2AError('TASK_LIMIT_REACHED', `Maximum task limit reached: ${maxTasks}`, { maxTasks })
  }

  /** Starts the timeout of a new task, and the prune timer. */
  watch(record: TaskRecord<S>): void {
    const { taskTimeoutMs, lifecycle } = this.#settings
    if (taskTimeoutMs < Infinity && !isTerminal(record.task.state, lifecycle)) {
      const left = record.created.ms + taskTimeoutMs - this.#timeline.now().ms
      const deadline = this.#timeline.add(left, () => this.#effects.timeOut(record))
      this.#timeouts.set(record, deadline)
    }
    this.#schedulePrune()
  }

  /** Called when all tasks were removed. */
  clear(): void {
    this.#timeline.clear()
    this.#timeouts.clear()
  }

  /** Called when the task has ended or was removed. */
  unwatch(record: TaskRecord<S>): void {
    const deadline = this.#timeouts.get(record)
    if (deadline === undefined) return
    this.#timeline.remove(deadline)
    this.#timeouts.delete(record)
  }

  #evict(count: number): void {
    for (let left = count; left > 0; left--) {
      const record = this.#table.firstEnded()
      if (record === undefined) return
      this.#effects.evict(record)
    }
  }

  /** A manager without tasks has no timer. */
  #schedulePrune(): void {
    const { pruneIntervalMs } = this.#settings
    if (pruneIntervalMs === Infinity) return
    if (this.#nextPrune !== undefined && this.#nextPrune.index !== -1) return
    this.#nextPrune = this.#timeline.add(pruneIntervalMs, () => {
      this.prune(this.#timeline.now())
      this.#effects.pruned()
      if (this.#table.size > 0) this.#schedulePrune()
    })
  }
}
