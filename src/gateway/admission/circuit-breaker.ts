/**
 * A service that keeps failing is left alone for a while.
 *
 * @module
 */
import { elapsed, systemClock, type Clock } from '../../runtime/clock.js'
import { requireKnown, requireWhole } from '../require.js'

export interface CircuitBreakerOptions {
  /** How many failures one after the other open it. Default is 5. */
  readonly failures?: number | undefined
  /** How long it is open before one task may try, in ms. Default is 30,000. */
  readonly resetMs?: number | undefined
}

/**
 * Closed, it lets everybody pass; after `failures` failures in a row it is open, and lets nobody pass for `resetMs`; then
 * it is half open, and lets one pass at a time. A success then closes it; a failure opens it for the whole time again.
 * While it is open, what comes of those who passed before means nothing.
 *
 * It is our own: cockatiel and opossum wrap a call that returns a promise, and read the runtime's clock (opossum sets
 * timers, too), while a task may outlive its process, and time here is injected. What is left to share is this short.
 */
export class CircuitBreaker {
  readonly #threshold: number
  readonly #resetMs: number
  readonly #clock: Clock
  #failures = 0
  #halfOpenAt: number | undefined
  /** The one who tries. */
  #probe: symbol | undefined

  /** @throws {TypeError | RangeError} naming the option that makes no sense. */
  constructor(options: CircuitBreakerOptions = {}, clock: Clock = systemClock) {
    requireKnown(options, ['failures', 'resetMs'], '"circuitBreaker"')
    this.#threshold = requireWhole('circuitBreaker.failures', options.failures ?? 5)
    this.#resetMs = requireWhole('circuitBreaker.resetMs', options.resetMs ?? 30_000)
    this.#clock = clock
  }

  /** How long nobody may pass, in ms: 0 when somebody may. */
  get waitMs(): number {
    // How long the one who tries will take, nobody knows.
    return this.#probe === undefined ? this.#openMs : this.#resetMs
  }

  /** Lets somebody pass, which `waitMs` of 0 allows. What is returned is for him to call when he is done, whatever came of it. */
  enter(): () => void {
    if (this.#halfOpenAt === undefined) return () => {}
    const probe = (this.#probe = Symbol())
    return () => {
      // Who has found out nothing leaves it to the next.
      if (this.#probe === probe) this.#probe = undefined
    }
  }

  /** The one who tries has an answer, and may take long: others may pass, and the first failure opens it again. */
  answered(): void {
    if (this.#probe === undefined) return
    this.#failures = this.#threshold - 1
    this.#halfOpenAt = undefined
    this.#probe = undefined
  }

  succeeded(): void {
    if (this.#openMs > 0) return
    this.#failures = 0
    this.#halfOpenAt = undefined
    this.#probe = undefined
  }

  failed(): void {
    if (this.#openMs > 0) return
    this.#failures += 1
    if (this.#failures < this.#threshold) return
    this.#halfOpenAt = this.#now() + this.#resetMs
    this.#probe = undefined
  }

  get #openMs(): number {
    return this.#halfOpenAt === undefined ? 0 : Math.max(0, Math.ceil(this.#halfOpenAt - this.#now()))
  }

  #now(): number {
    return elapsed(this.#clock)
  }
}
