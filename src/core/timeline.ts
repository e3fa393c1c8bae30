/**
 * Monotonic time of a manager, and one timer for all deadlines.
 *
 * @module
 */
import { throwLater } from '../runtime/report.js'
import { elapsed, MAX_DELAY_MS, type Clock } from '../runtime/clock.js'

/** A moment, as a number and as the task's timestamps show it. All tasks of one millisecond share one. */
export interface Instant {
  readonly ms: number
  readonly iso: string
}

/** As far as a Date goes. */
const MAX_DATE_MS = 8.64e15

export function instantOf(ms: number): Instant {
  return { ms, iso: new Date(ms).toISOString() }
}

/** Something to do at `at`, by the clock that is never set, unless it is removed before. */
export interface Deadline {
  readonly at: number
  /** Of those that are due at once the one that was added first runs first. */
  readonly order: number
  readonly run: () => void
  /** Its place in the heap; -1 when it has run or was removed. */
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

  /** The clock's time, or the latest it ever said, whichever is later. */
  now(): Instant {
    const ms = this.#clock.now()
    if (!(Math.abs(ms) <= MAX_DATE_MS))
      throw new RangeError(`"clock" must give milliseconds since 1970, got ${ms}`)
    // Formatting costs ten times what asking the clock does, and a string for each task.
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

  /** The timer of a later deadline gives way; that of an earlier one may fire for nothing, and arms anew. */
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
        // The others shall not wait for ever because of one.
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
