/**
 * Wait that ends by time, or earlier, and the pauses of the sources.
 *
 * @module
 */
import type { Clock } from '../../runtime/clock.js'

/** Changes within this time are shown together, in ms. */
export const SETTLE_MS = 250
/** The pause after more changes than one look takes, in ms. */
export const BUSY_MS = 1_000

export class Alarm {
  readonly #clock: Clock
  #resolve: () => void = () => undefined
  #stopTimer: () => void = () => undefined
  #stopEarly: (() => void) | undefined
  #isDue = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** @param delayMs - Default is none: the wait ends with a ring. */
  async wait(delayMs?: number): Promise<void> {
    if (!this.#isDue) {
      await new Promise<void>((resolve) => {
        this.#resolve = resolve
        if (delayMs !== undefined) this.#stopTimer = this.#clock.schedule(resolve, delayMs)
      })
    }
    this.#isDue = false
    this.#stopTimer()
  }

  /** Ends the wait soon. Further calls until then change nothing. */
  ringIn(delayMs: number): void {
    this.#stopEarly ??= this.#clock.schedule(this.ring, delayMs)
  }

  readonly ring = (): void => {
    this.#stopEarly?.()
    this.#stopEarly = undefined
    this.#isDue = true
    this.#resolve()
  }

  stop(): void {
    this.#stopTimer()
    this.#stopEarly?.()
  }
}
