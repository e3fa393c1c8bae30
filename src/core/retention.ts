/**
 * Retention: expiry, timeouts, and eviction when a manager is full.
 *
 * @module
 */
import { MAX_DELAY_MS } from '../runtime/clock.js'
import { A2AError } from './errors.js'
import type { TaskEvent } from './events.js'
import { tooLarge, type Size } from './json.js'
import { isTerminal } from './lifecycle.js'
import type { Settings } from './options.js'
import { costOfEvents } from './sizes.js'
import type { Unit } from './ranking.js'
import type { TaskRecord } from './task-record.js'
import type { TaskTable } from './task-table.js'
import type { Deadline, Instant, Timeline } from './timeline.js'

/** The maximum number of tasks that one eviction removes. */
const EVICTION_BATCH = 100
/** The most bytes by which a task may grow with its end when there is no room. */
const MAX_LAST_COST = 2_048

/** The actions of the manager on tasks that expire, time out or are evicted. */
export interface RetentionEffects<S extends string> {
  expire(record: TaskRecord<S>): void
  /** Cancels the task first if it has not ended. */
  evict(record: TaskRecord<S>): void
  timeOut(record: TaskRecord<S>): void
  /** Called after the timer has removed expired tasks. */
  pruned(): void
}

/** What an owner needs room for: `more` of a unit. */
interface Need<S extends string> {
  readonly owner: string | undefined
  readonly unit: Unit
  readonly more: number
  /** The task that needs the room, unless it is a new one. */
  readonly changing?: TaskRecord<S> | undefined
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
  makeRoom(owner: string | undefined, cost: number): void {
    const { maxTasks } = this.#settings
    const isFull = this.#table.size >= maxTasks
    for (let left = isFull ? Math.min(EVICTION_BATCH, Math.ceil(maxTasks / 10)) : 0; left > 0; left--) {
      const victim = this.#victimFor({ owner, unit: 'tasks', more: 0 })
      // A task that has not ended makes room for one other, but none beyond that.
      if (victim === undefined || (this.#table.size < maxTasks && !this.#hasEnded(victim))) break
      this.#effects.evict(victim)
    }
    this.#makeBytes(owner, cost)
    this.#requireRoom(1, cost)
  }

  /**
   * Makes room for a change, as {@link makeRoom} does. A task can end without a long message whatever the manager holds.
   *
   * @param sizes - Those of the payloads of `events`.
   * @throws {A2AError} `LIMIT_EXCEEDED`.
   */
  makeRoomFor(record: TaskRecord<S>, events: readonly TaskEvent<S>[], sizes: readonly Size[]): void {
    const { limits, lifecycle } = this.#settings
    const growth = costOfEvents(sizes)
    if (this.#table.bytes + growth <= limits.total.maxBytes) return
    const last = events.at(-1)
    const ends = last?.type === 'status' && isTerminal(last.to, lifecycle)
    if ((ends && growth <= MAX_LAST_COST) || this.#makeBytes(record.head.owner, growth, record)) return
    throw tooLarge(limits.total, this.#table.bytes + growth)
  }

  /** @throws {A2AError} `TASK_LIMIT_REACHED` when there is no room for these tasks too. */
  requireRoom(records: readonly TaskRecord<S>[]): void {
    this.#requireRoom(
      records.length,
      records.reduce((sum, { cost }) => sum + cost, 0),
    )
  }

  /** Starts the timeout of a new task, and the prune timer. */
  watch(record: TaskRecord<S>): void {
    const { taskTimeoutMs } = this.#settings
    if (taskTimeoutMs < Infinity && !this.#hasEnded(record)) {
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

  /**
   * Evicts until there is room for `cost` more bytes, if the settings allow it. Returns whether there is.
   *
   * @param changing The task that needs the room, which is not evicted for it.
   */
  #makeBytes(owner: string | undefined, cost: number, changing?: TaskRecord<S>): boolean {
    const { maxBytes } = this.#settings.limits.total
    while (this.#table.bytes + cost > maxBytes) {
      const victim = this.#victimFor({ owner, unit: 'bytes', more: cost, changing })
      if (victim === undefined) return false
      this.#effects.evict(victim)
    }
    return true
  }

  #requireRoom(count: number, cost: number): void {
    const { maxTasks, limits } = this.#settings
    const { maxBytes: maxTotalBytes } = limits.total
    let reached: string
    if (this.#table.size + count > maxTasks) reached = `Maximum task limit reached: ${maxTasks}`
    else if (this.#table.bytes + cost > maxTotalBytes) reached = `maxTotalBytes reached: ${maxTotalBytes}`
    else return
    throw new A2AError('TASK_LIMIT_REACHED', reached, { maxTasks, maxTotalBytes, ...this.#untilExpiry() })
  }

  /** The time until the first task expires, where no task goes before. */
  #untilExpiry(): { retryAfterMs?: number } {
    const { first } = this.#table
    if (this.#settings.whenFull !== 'reject' || first === undefined) return {}
    // Tasks that have expired were removed before.
    const untilMs = first.created.ms + this.#settings.expiryMs + 1 - this.#timeline.latest.ms
    return { retryAfterMs: Math.min(untilMs, MAX_DELAY_MS) }
  }

  /**
   * The task that goes first in favour of `owner`, which needs `more`. Room is made at the expense of the owner that holds most.
   * A task is one of these, or none may go:
   *
   * - An ended task of the owner that holds most of those that have one. An owner that holds more than half of the limit gets
   *   room only at its own expense.
   * - With `'evict'`, a task that waits for the client, whose owner holds more than twice as much as `owner`. It goes before
   *   ended tasks of others once its owner holds more than half of the limit.
   * - With `'evict'`, when none of these may go, the task of `owner` that waits longest.
   */
  #victimFor({ owner, unit, more, changing }: Need<S>): TaskRecord<S> | undefined {
    const { maxTasks, limits, whenFull } = this.#settings
    if (whenFull === 'reject') return undefined
    const half = (unit === 'tasks' ? maxTasks : limits.total.maxBytes) / 2
    const held = this.#table.holdingOf(owner)[unit] + more
    const firstEnded = this.#table.firstOf('ended', unit)
    const ended = firstEnded?.head.owner === owner || held <= half ? firstEnded : undefined
    if (whenFull !== 'evict') return ended
    const waiting = this.#table.firstOf('waiting', unit)
    const most = waiting === undefined ? 0 : this.#table.holdingOf(waiting.head.owner)[unit]
    const mayGiveUp = most > 2 * held
    const isHoarded = mayGiveUp && most > half && ended?.head.owner !== waiting?.head.owner
    if (ended !== undefined && !isHoarded) return ended
    return mayGiveUp ? waiting : this.#table.oldestOf('waiting', owner, changing)
  }

  #hasEnded({ head: task }: TaskRecord<S>): boolean {
    return isTerminal(task.state, this.#settings.lifecycle)
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
