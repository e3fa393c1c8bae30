/**
 * Monotonic time of a manager, and one timer for all its deadlines.
 *
 * @module
 */
import { throwLater } from '../runtime/uncaught.js'
import { elapsed, MAX_DELAY_MS, type Clock } from '../runtime/clock.js'

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
export interface Deadline {
  readonly at: number
  /** Deadlines that are due together run in this order, the order in which they were added. */
  readonly order: number
  readonly run: () => void
  /** The position in the heap; -1 when the deadline has run or was removed. */
  index: number
}

export class Timeline {
  #now: Instant = { ms: -Infinity, iso: '' }
  /** A binary heap: no deadline is later than those at `2i + 1` and `2i + 2`. */
  readonly #heap: Deadline[] = []
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

  /** Runs `run` after `delayMs`, at least 1. */
  add(delayMs: number, run: () => void): Deadline {
    const at = elapsed(this.#clock) + Math.max(1, delayMs)
    const deadline: Deadline = { at, order: ++this.#count, run, index: this.#heap.length }
    this.#heap.push(deadline)
    this.#rise(deadline)
    try {
      this.#arm()
    } catch (error) {
      this.remove(deadline)
      throw error
    }
    return deadline
  }

  remove(deadline: Deadline): void {
    const { index } = deadline
    if (index === -1) return
    deadline.index = -1
    const last = this.#heap.pop()
    if (last !== undefined && last !== deadline) {
      this.#place(last, index)
      this.#rise(last)
      this.#sink(last)
    }
    if (this.#heap.length === 0) this.#stop()
  }

  clear(): void {
    for (const deadline of this.#heap) deadline.index = -1
    this.#heap.length = 0
    this.#stop()
  }

  /** Replaces the timer of a later deadline. A timer of an earlier, removed deadline fires early and is set again. */
  #arm(): void {
    const [next] = this.#heap
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
      let next = this.#heap[0];
      next !== undefined && next.at <= elapsed(this.#clock);
      next = this.#heap[0]
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

  #rise(deadline: Deadline): void {
    for (;;) {
      const parent = this.#heap[(deadline.index - 1) >> 1]
      if (parent === undefined || isBefore(parent, deadline)) return
      this.#swap(deadline, parent)
    }
  }

  #sink(deadline: Deadline): void {
    for (;;) {
      const left = this.#heap[2 * deadline.index + 1]
      const right = this.#heap[2 * deadline.index + 2]
      const child = left === undefined || right === undefined || isBefore(left, right) ? left : right
      if (child === undefined || isBefore(deadline, child)) return
      this.#swap(deadline, child)
    }
  }

  #swap(a: Deadline, b: Deadline): void {
    const { index } = a
    this.#place(a, b.index)
    this.#place(b, index)
  }

  #place(deadline: Deadline, index: number): void {
    this.#heap[index] = deadline
    deadline.index = index
  }
}

function isBefore(a: Deadline, b: Deadline): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}
