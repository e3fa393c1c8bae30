/**
 * Monotonic time of a manager, and one timer for all its deadlines.
 *
 * @module
 */
import { throwLater } from '../runtime/uncaught.js'
import { elapsed, MAX_DELAY_MS, type Clock } from '../runtime/clock.js'
import { Heap, type HeapItem } from '../runtime/heap.js'

/** A moment, as a number and as a task timestamp. Tasks of the same millisecond share one. */
export interface Instant {
  readonly ms: number
  readonly iso: string
}

/** The latest time that a Date can hold. */
const MAX_DATE_MS = 8.64e15

export function instantOf(ms: number): Instant {
  return { ms, iso: new Date(ms).toISOString() }
}

/** A callback that runs at `at` in monotonic time unless it is removed first. */
export interface Deadline extends HeapItem {
  readonly at: number
  /** Deadlines that are due together run in this order, the order in which they were added. */
  readonly order: number
  readonly run: () => void
}

export class Timeline {
  #now: Instant = { ms: -Infinity, iso: '' }
  readonly #heap = new Heap<Deadline>(isBefore)
  #disarm: (() => void) | undefined
  #armedFor = Infinity
  #count = 0
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The time of the clock, or the latest time it returned before, whichever is later. */
  now(): Instant {
    const ms = this.#clock.now()
    if (!(Math.abs(ms) <= MAX_DATE_MS))
      throw new RangeError(`"clock" must give milliseconds since 1970, got ${ms}`)
    // Formatting costs ten times as much as reading the clock, and a string for each task.
    if (ms > this.#now.ms) this.#now = instantOf(ms)
    return this.#now
  }

  /** What {@link now} returned last. Runs no code of the caller. */
  get latest(): Instant {
    return this.#now
  }

  /** Runs `run` after `delayMs`, at least 1. */
  add(delayMs: number, run: () => void): Deadline {
    const at = elapsed(this.#clock) + Math.max(1, delayMs)
    const deadline: Deadline = { at, order: ++this.#count, run, index: -1 }
    this.#heap.add(deadline)
    try {
      this.#arm()
    } catch (error) {
      this.remove(deadline)
      throw error
    }
    return deadline
  }

  remove(deadline: Deadline): void {
    this.#heap.remove(deadline)
    if (this.#heap.first === undefined) this.#stop()
  }

  clear(): void {
    this.#heap.clear()
    this.#stop()
  }

  /** Replaces the timer of a later deadline. A timer of an earlier, removed deadline fires early and is set again. */
  #arm(): void {
    const next = this.#heap.first
    if (next === undefined || next.at >= this.#armedFor) return
    this.#stop()
    const delayMs = Math.max(0, next.at - elapsed(this.#clock))
    this.#disarm = this.#clock.schedule(() => this.#fire(), Math.min(delayMs, MAX_DELAY_MS))
    this.#armedFor = next.at
  }

  #stop(): void {
    this.#disarm?.()
    this.#disarm = undefined
    this.#armedFor = Infinity
  }

  #fire(): void {
    this.#stop()
    for (
      let next = this.#heap.first;
      next !== undefined && next.at <= elapsed(this.#clock);
      next = this.#heap.first
    ) {
      this.remove(next)
      try {
        next.run()
      } catch (error) {
        // One failing callback must not keep the others from running.
        throwLater(error)
      }
    }
    this.#arm()
  }
}

function isBefore(a: Deadline, b: Deadline): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}
