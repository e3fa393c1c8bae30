/**
 * A clock that tests control.
 *
 * @module
 */
import type { Clock } from '../runtime/clock.js'

interface Timer {
  readonly at: number
  readonly callback: () => void
}

/**
 * A clock that moves only when a test moves it.
 *
 * @example
 * const clock = new ManualClock()
 * const tasks = new TaskManager({ clock, taskTimeoutMs: 1_000 })
 * const { id } = tasks.createTask({ skill: 'slow' })
 * clock.advance(1_000)
 * tasks.getTask(id)?.state // 'failed'
 */
export class ManualClock implements Clock {
  #now: number
  #passed = 0
  /** `at` is the monotonic time at which the timer fires, in ms. */
  readonly #timers = new Set<Timer>()

  /** `start` is in ms since 1970 or a timestamp. Default is the first millisecond of 2026. */
  constructor(start: number | string = '2026-01-01T00:00:00.000Z') {
    this.#now = toMs(start)
  }

  /** The number of timers that have not fired. */
  get pending(): number {
    return this.#timers.size
  }

  now(): number {
    return this.#now
  }

  monotonic(): number {
    return this.#passed
  }

  schedule(callback: () => void, delayMs: number): () => void {
    const timer = { at: this.#passed + delayMs, callback }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  /** Advances the clock by `ms` and fires each timer at its time, earliest first. */
  advance(ms: number): void {
    if (!Number.isFinite(ms) || ms < 0) {
      throw new RangeError(
        `advance() takes milliseconds, 0 or more, got ${String(ms)}. To go back, call set()`,
      )
    }
    const end = this.#passed + ms
    for (;;) {
      const [next] = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)
      if (next === undefined) break
      this.#timers.delete(next)
      this.#move(next.at)
      next.callback()
    }
    this.#move(end)
  }

  /**
   * Sets the clock to `time`. A later time advances the clock and fires timers, as `advance` does. An earlier time
   * changes only `now()`, like a corrected system clock, and fires no timer.
   */
  set(time: number | string): void {
    const target = toMs(time)
    if (target >= this.#now) this.advance(target - this.#now)
    else this.#now = target
  }

  #move(passed: number): void {
    const step = Math.max(0, passed - this.#passed)
    this.#passed += step
    this.#now += step
  }
}

function toMs(time: unknown): number {
  const ms = typeof time === 'string' ? Date.parse(time) : time
  if (typeof ms === 'number' && Number.isFinite(ms)) return ms
  throw new RangeError(`A time must be milliseconds or an ISO 8601 timestamp, got ${String(time)}`)
}
