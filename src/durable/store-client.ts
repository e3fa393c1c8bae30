/**
 * Asking the store, which may be away for a while, or not answer at all.
 *
 * @module
 */
import { A2AError } from '../core/errors.js'
import { throwLater } from '../runtime/report.js'
import { elapsed, type Clock } from '../runtime/clock.js'
import { keepAlive } from '../runtime/timers.js'
import type { DurableSettings } from './options.js'

const FIRST_DELAY_MS = 25
const MAX_DELAY_MS = 1_000
/** How long the store has, when all is over, to answer all that it is still asked. */
const CLOSING_MS = 5_000

/** What was made here of something that a store threw: it may go away by itself. */
const passing = new WeakSet<A2AError>()

class NoAnswer extends Error {}

interface Attempt {
  endsAt: number
  giveUp: () => void
  /** Ends the timer. */
  cancel: () => void
}

export class StoreAccess {
  readonly #clock: Clock
  readonly #retryMs: number
  readonly #onError: (error: A2AError<'STORE_FAILED'>) => unknown
  /** Wake those who wait to ask again. */
  readonly #wakers = new Set<() => void>()
  readonly #attempts = new Set<Attempt>()
  #closesAt: number | undefined

  constructor({ clock, storeRetryMs, onError }: Pick<DurableSettings, 'clock' | 'storeRetryMs' | 'onError'>) {
    this.#clock = clock
    this.#retryMs = storeRetryMs
    this.#onError = onError
  }

  /** For what failed where nobody waits for it. Is tried again by itself. */
  readonly report = (error: unknown): undefined => {
    if (!A2AError.is(error, 'STORE_FAILED')) return
    const tell = async (): Promise<unknown> => await this.#onError(error)
    tell().catch(throwLater)
  }

  /** From now on everything is asked but once, and not for long; what waits to be asked again is asked now. */
  close(): void {
    this.#closesAt ??= this.now() + CLOSING_MS
    for (const wake of [...this.#wakers]) wake()
    for (const attempt of this.#attempts) this.#limit(attempt, this.#closesAt)
  }

  /** In ms, by the clock that is never set. */
  now(): number {
    return elapsed(this.#clock)
  }

  /**
   * What is left unanswered after `limitMs` may still be done; its answer is nobody's.
   *
   * @throws {A2AError} `STORE_FAILED`, as a rejection.
   */
  async once<T>(operation: string, ask: () => Promise<T>, limitMs = this.#retryMs): Promise<T> {
    try {
      return await this.#attempt(ask, limitMs)
    } catch (cause) {
      throw storeFailed(operation, cause)
    }
  }

  /**
   * Asks again while the store fails, for a time. For what may be asked twice.
   *
   * @throws {A2AError} `STORE_FAILED`, as a rejection.
   */
  readonly insist = async <T>(operation: string, ask: () => Promise<T>): Promise<T> => {
    const endsAt = this.now() + this.#retryMs
    for (let delayMs = FIRST_DELAY_MS, isFirst = true; ; delayMs = Math.min(2 * delayMs, MAX_DELAY_MS)) {
      try {
        // Half of what is left: one connection may be silent, and others serve. The last one is to have some time, too.
        return await this.#attempt(ask, Math.max((endsAt - this.now()) / 2, delayMs))
      } catch (cause) {
        // A process that was stopped for long has not heard of an answer that is there: it asks again in any case.
        const isUnheard = isFirst && cause instanceof NoAnswer
        isFirst = false
        const isLast = this.#closesAt !== undefined || (!isUnheard && this.now() + delayMs > endsAt)
        if (isLast || isRefusal(cause)) throw storeFailed(operation, cause)
      }
      await this.pause(delayMs)
    }
  }

  /** Keeps the process alive meanwhile: somebody waits for what comes after. No pause once all is over. */
  readonly pause = async (delayMs: number): Promise<void> => {
    if (this.#closesAt !== undefined) return
    const letGo = keepAlive()
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        cancel()
        this.#wakers.delete(wake)
        resolve()
      }
      const cancel = this.#clock.schedule(wake, delayMs)
      this.#wakers.add(wake)
    })
    letGo()
  }

  async #attempt<T>(ask: () => Promise<T>, limitMs: number): Promise<T> {
    const now = this.now()
    const endsAt = Math.min(now + limitMs, this.#closesAt ?? Infinity)
    if (endsAt <= now) throw new Error('The manager was destroyed')
    const attempt: Attempt = { endsAt: Infinity, giveUp: () => undefined, cancel: () => undefined }
    const silence = new Promise<never>((_, reject) => {
      attempt.giveUp = () => reject(new NoAnswer(`No answer within ${Math.round(this.now() - now)} ms`))
    })
    this.#attempts.add(attempt)
    this.#limit(attempt, endsAt)
    try {
      // Also takes what comes too late, which nobody has to handle then.
      return await Promise.race([ask(), silence])
    } finally {
      attempt.cancel()
      this.#attempts.delete(attempt)
    }
  }

  #limit(attempt: Attempt, endsAt: number): void {
    if (endsAt >= attempt.endsAt) return
    attempt.cancel()
    attempt.endsAt = endsAt
    attempt.cancel = this.#clock.schedule(() => attempt.giveUp(), endsAt - this.now())
  }
}

/** Whether a store refused something for good, by an error of its own: it needs a person. */
export function isRefusal(error: unknown): error is A2AError<'STORE_FAILED'> {
  return A2AError.is(error, 'STORE_FAILED') && !passing.has(error)
}

function storeFailed(operation: string, cause: unknown): A2AError<'STORE_FAILED'> {
  if (isRefusal(cause)) return cause
  const error = new A2AError('STORE_FAILED', `The store failed: ${operation}`, { operation }, { cause })
  passing.add(error)
  return error
}
