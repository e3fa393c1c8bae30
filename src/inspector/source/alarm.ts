/**
 * Wait that ends by time, or earlier.
 *
 * @module
 */
import type { Clock } from '../../runtime/clock.js'

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
