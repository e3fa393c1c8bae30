/**
 * @module
 */
import type { Clock } from '../core/ports.js'

interface Timer {
  readonly at: number
  readonly callback: () => void
}

/**
 * A clock that moves when it is told to.
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
  readonly #timers = new Set<Timer>()

  /** Default is the first millisecond of 2026. */
  constructor(start: number | string = '2026-01-01T00:00:00.000Z') {
    this.#now = typeof start === 'number' ? start : Date.parse(start)
  }

  /** How many timers wait to fire. */
  get pending(): number {
    return this.#timers.size
  }

  now(): number {
    return this.#now
  }

  schedule(callback: () => void, delayMs: number): () => void {
    const timer = { at: this.#now + delayMs, callback }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  /** Moves on by `ms`, firing each timer at its time, earliest first. */
  advance(ms: number): void {
    this.set(this.#now + ms)
  }

  /** Moves to `time`. Forward, every timer on the way fires; back, as a corrected system clock does, none. */
  set(time: number): void {
    for (;;) {
      const [next] = [...this.#timers].filter(({ at }) => at <= time).sort((a, b) => a.at - b.at)
      if (next === undefined) break
      this.#timers.delete(next)
      this.#now = Math.max(this.#now, next.at)
      next.callback()
    }
    this.#now = time
  }
}
