/**
 * Rate limits by owner.
 *
 * @module
 */
import { elapsed, systemClock, type Clock } from './clock.js'
import { requireKnown, requireWhole } from './options.js'

/** A rate limit per owner of tasks, or per client. */
export interface RateLimitOptions {
  /** Number of tasks or requests that are allowed at once, and on average per `perMs` after that. */
  readonly requests: number
  /** In ms. */
  readonly perMs: number
  /**
   * Number of owners or clients that are remembered. Beyond it, the least recently seen one is forgotten and starts with a
   * full bucket. Default is 10,000.
   */
  readonly maxKeys?: number | undefined
}

/** Token buckets by key: each holds `requests` tokens, and refills evenly within `perMs`. */
export class RateLimiter {
  readonly #requests: number
  readonly #capacity: number
  readonly #perMs: number
  readonly #maxKeys: number
  readonly #clock: Clock
  /** Time when each bucket is full again, the most recent key last. A bucket that is absent is full. */
  readonly #fullAt = new Map<string, number>()

  /**
   * @param where The function or class that receives the options, for errors.
   * @throws {TypeError | RangeError} for an option with an invalid value. The error names the option.
   */
  constructor(options: RateLimitOptions, where: string, clock: Clock = systemClock) {
    requireKnown(options, ['requests', 'perMs', 'maxKeys'], where, 'rateLimit')
    this.#requests = requireWhole('rateLimit.requests', options.requests)
    this.#perMs = requireWhole('rateLimit.perMs', options.perMs)
    this.#maxKeys = requireWhole('rateLimit.maxKeys', options.maxKeys ?? 10_000)
    this.#capacity = this.#perMs * this.#requests
    this.#clock = clock
  }

  /** Number of keys in memory. */
  get size(): number {
    return this.#fullAt.size
  }

  /** Returns the time until a token is available, in ms: 0 for now. */
  waitMs(key: string): number {
    const now = this.#now()
    return Math.max(0, Math.ceil((this.#fullAtAfter(key, now) - now - this.#capacity) / this.#requests))
  }

  /**
   * Consumes a token and returns 0. Without a token it changes nothing, and returns the time until there is one, in ms.
   */
  consume(key: string): number {
    const now = this.#now()
    this.#dropFull(now)
    const waitMs = this.waitMs(key)
    if (waitMs > 0) return waitMs
    const fullAt = this.#fullAtAfter(key, now)
    this.#fullAt.delete(key)
    this.#fullAt.set(key, fullAt)
    const [oldest] = this.#fullAt.keys()
    if (this.#fullAt.size > this.#maxKeys && oldest !== undefined) this.#fullAt.delete(oldest)
    return 0
  }

  #fullAtAfter(key: string, now: number): number {
    return Math.max(now, this.#fullAt.get(key) ?? 0) + this.#perMs
  }

  /** Current time in units of 1/`requests` ms. A token takes a whole number of them, so rounding loses nothing. */
  #now(): number {
    return Math.floor(elapsed(this.#clock)) * this.#requests
  }

  #dropFull(now: number): void {
    for (const [key, fullAt] of this.#fullAt) {
      if (fullAt > now) return
      this.#fullAt.delete(key)
    }
  }
}
