/**
 * How much anybody may ask for in how much time.
 *
 * @module
 */
import { elapsed, systemClock, type Clock } from '../../runtime/clock.js'
import { requireKnown, requireWhole } from '../require.js'

export interface RateLimitOptions {
  /** How many tasks one owner may begin at once, and in any `perMs`, once they are used up. */
  readonly requests: number
  /** In ms. */
  readonly perMs: number
  /** How many owners are remembered; beyond it that which came longest ago starts anew. Default is 10,000. */
  readonly maxKeys?: number | undefined
}

/** A bucket of tokens for each key: `requests` of them, filled again evenly within `perMs`. */
export class RateLimiter {
  readonly #requests: number
  readonly #capacity: number
  readonly #perMs: number
  readonly #maxKeys: number
  readonly #clock: Clock
  /** When the bucket will be full again; the key that came last is the last. A bucket that is not here is full. */
  readonly #fullAt = new Map<string, number>()

  /** @throws {TypeError | RangeError} naming the option that makes no sense. */
  constructor(options: RateLimitOptions, clock: Clock = systemClock) {
    requireKnown(options, ['requests', 'perMs', 'maxKeys'], '"rateLimit"')
    this.#requests = requireWhole('rateLimit.requests', options.requests)
    this.#perMs = requireWhole('rateLimit.perMs', options.perMs)
    this.#maxKeys = requireWhole('rateLimit.maxKeys', options.maxKeys ?? 10_000)
    this.#capacity = this.#perMs * this.#requests
    this.#clock = clock
  }

  /** How many keys it remembers. */
  get size(): number {
    return this.#fullAt.size
  }

  /** How many ms later there is a token: 0 where there is one. */
  waitMs(key: string): number {
    const now = this.#now()
    return Math.max(0, Math.ceil((this.#fullAtAfter(key, now) - now - this.#capacity) / this.#requests))
  }

  /** Takes a token: 0. Where there is none, it takes nothing, and says how many ms later there is one. */
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

  /** In parts of a ms, so many that a token takes a whole number of them: nothing is lost by rounding. */
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
