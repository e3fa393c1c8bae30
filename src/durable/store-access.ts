/**
 * Asking the store, which may be away for a while.
 *
 * @module
 */
import { A2AError } from '../core/errors.js'
import { throwLater, type Clock } from '../core/ports.js'
import type { DurableSettings } from './options.js'

const FIRST_DELAY_MS = 25
const MAX_DELAY_MS = 1_000

export class StoreAccess {
  readonly #clock: Clock
  readonly #retryMs: number
  readonly #onError: (error: A2AError<'STORE_FAILED'>) => void
  /** Wake those who wait to ask again. */
  readonly #wakers = new Set<() => void>()
  #isClosed = false

  constructor({ clock, storeRetryMs, onError }: Pick<DurableSettings, 'clock' | 'storeRetryMs' | 'onError'>) {
    this.#clock = clock
    this.#retryMs = storeRetryMs
    this.#onError = onError
  }

  /** For what failed where nobody waits for it. Is tried again by itself. */
  readonly report = (error: unknown): undefined => {
    if (!A2AError.is(error, 'STORE_FAILED')) return
    try {
      this.#onError(error)
    } catch (thrown) {
      throwLater(thrown)
    }
  }

  /** From now on everything is asked but once; what waits to be asked again is asked now. */
  close(): void {
    this.#isClosed = true
    for (const wake of [...this.#wakers]) wake()
  }

  /** @throws {A2AError} `STORE_FAILED`, as a rejection. */
  async once<T>(operation: string, ask: () => Promise<T>): Promise<T> {
    try {
      return await ask()
    } catch (cause) {
      if (A2AError.is(cause)) throw cause
      throw new A2AError('STORE_FAILED', `The store failed: ${operation}`, { operation }, { cause })
    }
  }

  /**
   * Asks again while the store fails, for a time. For what may be asked twice.
   *
   * @throws {A2AError} `STORE_FAILED`, as a rejection.
   */
  readonly insist = async <T>(operation: string, ask: () => Promise<T>): Promise<T> => {
    const start = this.#now()
    for (let delayMs = FIRST_DELAY_MS; ; delayMs = Math.min(2 * delayMs, MAX_DELAY_MS)) {
      try {
        return await this.once(operation, ask)
      } catch (error) {
        if (this.#isClosed || this.#now() - start + delayMs > this.#retryMs) throw error
      }
      await this.#pause(delayMs)
    }
  }

  #pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        cancel()
        this.#wakers.delete(wake)
        resolve()
      }
      const cancel = this.#clock.schedule(wake, delayMs)
      this.#wakers.add(wake)
    })
  }

  #now(): number {
    return this.#clock.monotonic?.() ?? this.#clock.now()
  }
}
