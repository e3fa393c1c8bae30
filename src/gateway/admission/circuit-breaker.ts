/**
 * Circuit breaker: stops sending tasks to a failing service for a while.
 *
 * @module
 */
import { elapsed, systemClock, type Clock } from '../../runtime/clock.js'
import { requireKnown, requireWhole } from '../../runtime/options.js'

/** Options of the circuit breaker, which stops sending tasks to an agent whose service keeps failing. */
export interface CircuitBreakerOptions {
  /** Number of consecutive failures that open it. Default is 5. */
  readonly failures?: number | undefined
  /** Time until one task may try again, in ms. Default is 30,000. */
  readonly resetMs?: number | undefined
}

/**
 * Closed, it admits every task. After `failures` consecutive failures it is open, and admits none for `resetMs`. Then
 * it is half open, and admits one task at a time: a success closes it, a failure opens it again. While it is open, the
 * results of tasks admitted earlier are ignored.
 *
 * Own implementation: cockatiel and opossum wrap a call that returns a promise and read the runtime's clock (opossum
 * also sets timers), but a task may outlive its process, and the clock is injected here. The part that they could
 * provide is this small.
 */
export class CircuitBreaker {
  readonly #threshold: number
  readonly #resetMs: number
  readonly #clock: Clock
  #failures = 0
  #halfOpenAt: number | undefined
  /** The task that tries while it is half open. */
  #probe: symbol | undefined

  /** @throws {TypeError | RangeError} for an option with an invalid value. The error names the option. */
  constructor(options: CircuitBreakerOptions = {}, clock: Clock = systemClock) {
    requireKnown(options, ['failures', 'resetMs'], 'A2AGateway', 'circuitBreaker')
    this.#threshold = requireWhole('circuitBreaker.failures', options.failures ?? 5)
    this.#resetMs = requireWhole('circuitBreaker.resetMs', options.resetMs ?? 30_000)
    this.#clock = clock
  }

  /** Time until a task may be admitted, in ms: 0 for now. */
  get waitMs(): number {
    // The duration of the trying task is unknown; `resetMs` is the estimate.
    return this.#probe === undefined ? this.#openMs : this.#resetMs
  }

  /**
   * Admits a task, provided that `waitMs` is 0. Call the returned function when the task is over, whatever its result.
   */
  enter(): () => void {
    if (this.#halfOpenAt === undefined) return () => {}
    const probe = (this.#probe = Symbol())
    return () => {
      // Without a result, the next task tries.
      if (this.#probe === probe) this.#probe = undefined
    }
  }

  /**
   * Records that the trying task has a response. The task may run for long, so others are admitted, but a single
   * failure opens the breaker again.
   */
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
