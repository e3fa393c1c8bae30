/**
 * Attempts that are made again after the store has failed.
 *
 * @module
 */
import type { Clock } from '../../runtime/clock.js'

/** The delay before the next attempt, in ms. */
export const RETRY_MS = 10_000

export class Retries {
  readonly #clock: Clock
  /** Cancel the timers. */
  readonly #pending = new Set<() => void>()
  #isClosed = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add(retry: () => void): void {
    if (this.#isClosed) return
    const cancel = this.#clock.schedule(() => {
      this.#pending.delete(cancel)
      retry()
    }, RETRY_MS)
    this.#pending.add(cancel)
  }

  close(): void {
    this.#isClosed = true
    for (const cancel of this.#pending) cancel()
  }
}
