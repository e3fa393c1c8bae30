/**
 * Counts of what owners have at a time, each up to a limit.
 *
 * @module
 */
import { rateLimited, type A2AError } from '../core/errors.js'

/** For what may end at any moment, in ms. */
const SOON_MS = 1_000

/** Without a limit nothing is counted. */
export class OwnerCounts {
  readonly #max: number
  /** By owner, for those that have any. */
  readonly #counts = new Map<string | null, number>()

  constructor(max: number) {
    this.#max = max
  }

  hasRoom(owner: string | null): boolean {
    return this.of(owner) < this.#max
  }

  of(owner: string | null): number {
    return this.#counts.get(owner) ?? 0
  }

  add(owner: string | null, change: 1 | -1): void {
    if (this.#max === Infinity) return
    const count = this.of(owner) + change
    if (count === 0) this.#counts.delete(owner)
    else this.#counts.set(owner, count)
  }
}

/** @param retryAfterMs - Default is soon: one of them may end at any moment. */
export function tooManyOf(things: string, retryAfterMs = SOON_MS): A2AError<'RATE_LIMITED'> {
  return rateLimited(retryAfterMs, `Too many ${things} of one user at a time`)
}
