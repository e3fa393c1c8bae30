/**
 * Calls to the store, with time limits and retries.
 *
 * @module
 */
import type { TaskDocuments } from '../core/managers.js'
import { A2AError } from '../core/errors.js'
import { throwLater } from '../runtime/uncaught.js'
import { elapsed, type Clock } from '../runtime/clock.js'
import { keepAlive } from '../runtime/timers.js'
import type { DurableSettings } from './options.js'
import type { TaskStore } from './task-store.js'

const FIRST_DELAY_MS = 25
const MAX_DELAY_MS = 1_000
/** Time limit for all calls that are pending when the manager is destroyed. */
const CLOSING_MS = 5_000

/** The errors that this file made of a driver's error. The cause may pass, so these calls can be retried. */
const transient = new WeakSet<A2AError>()

class NoAnswer extends Error {}

interface Attempt {
  endsAt: number
  giveUp: () => void
  cancelTimer: () => void
}

export class StoreClient {
  readonly #clock: Clock
  readonly #retryMs: number
  readonly #onError: (error: A2AError<'STORE_FAILED'>) => unknown
  /** End the pauses between attempts. */
  readonly #wakers = new Set<() => void>()
  readonly #attempts = new Set<Attempt>()
  #closesAt: number | undefined
  #isDestroyed = false

  constructor({ clock, storeRetryMs, onError }: Pick<DurableSettings, 'clock' | 'storeRetryMs' | 'onError'>) {
    this.#clock = clock
    this.#retryMs = storeRetryMs
    this.#onError = onError
  }

  /** Reports to `onError` that a call in the background failed. Such calls are repeated by later polls and sweeps. */
  readonly report = (error: unknown): undefined => {
    if (!A2AError.is(error, 'STORE_FAILED')) return
    const notify = async (): Promise<unknown> => await this.#onError(error)
    notify().catch(throwLater)
  }

  /** From now on calls are attempted once, all within {@link CLOSING_MS}. Pauses between attempts end at once. */
  close(): void {
    this.#closesAt ??= this.now() + CLOSING_MS
    for (const wake of [...this.#wakers]) wake()
    for (const attempt of this.#attempts) this.#limit(attempt, this.#closesAt)
  }

  /** Whether calls are attempted once only. */
  get isClosing(): boolean {
    return this.#closesAt !== undefined
  }

  /** From now on {@link callForUser} and {@link requireOpen} fail with `MANAGER_DESTROYED`. */
  destroy(): void {
    this.#isDestroyed = true
  }

  /** @throws {A2AError} `MANAGER_DESTROYED`. */
  requireOpen(): void {
    if (!this.#isDestroyed) return
    throw new A2AError('MANAGER_DESTROYED', 'The manager was destroyed', { taskId: '' })
  }

  /** In ms, by the monotonic clock where there is one. */
  now(): number {
    return elapsed(this.#clock)
  }

  /**
   * Calls the store once. After `limitMs` the call is abandoned: it may still take effect, and its result is ignored.
   *
   * @throws {A2AError} `STORE_FAILED`, as a rejection.
   */
  async call<T>(operation: string, request: () => Promise<T>, limitMs = this.#retryMs): Promise<T> {
    try {
      return await this.#attempt(request, limitMs)
    } catch (cause) {
      throw storeFailed(operation, cause)
    }
  }

  /**
   * Calls the store, and again while it fails, for `storeRetryMs`. For requests that are safe to repeat.
   *
   * @param pausedMs - The time that does not count.
   * @throws {A2AError} `STORE_FAILED`, as a rejection.
   */
  readonly callWithRetry = async <T>(
    operation: string,
    request: () => Promise<T>,
    pausedMs: () => number = () => 0,
  ): Promise<T> => {
    const startedAt = this.now()
    const endsAt = (): number => startedAt + this.#retryMs + pausedMs()
    for (let delayMs = FIRST_DELAY_MS, isFirst = true; ; delayMs = Math.min(2 * delayMs, MAX_DELAY_MS)) {
      try {
        // Half of the time that is left: when one connection of a pool is silent, another may answer the next attempt.
        return await this.#attempt(request, Math.max((endsAt() - this.now()) / 2, delayMs))
      } catch (cause) {
        // A process that was suspended past the limit has not read an answer that may have arrived: it tries again.
        const isUnread = isFirst && cause instanceof NoAnswer
        isFirst = false
        const isLast = this.#closesAt !== undefined || (!isUnread && this.now() + delayMs > endsAt())
        if (isLast || isRefusal(cause)) throw storeFailed(operation, cause)
      }
      await this.pause(delayMs)
    }
  }

  /**
   * As {@link callWithRetry}, for methods of the manager, which are refused after `destroy()`.
   *
   * @throws {A2AError} `STORE_FAILED`, `MANAGER_DESTROYED`, as a rejection.
   */
  readonly callForUser: StoreClient['callWithRetry'] = async (operation, request) => {
    this.requireOpen()
    return await this.callWithRetry(operation, request)
  }

  /** Waits, and keeps the process alive, since a caller waits for the next attempt. Returns at once after {@link close}. */
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

  async #attempt<T>(request: () => Promise<T>, limitMs: number): Promise<T> {
    const now = this.now()
    const endsAt = Math.min(now + limitMs, this.#closesAt ?? Infinity)
    if (endsAt <= now) throw new Error('The manager was destroyed')
    const attempt: Attempt = { endsAt: Infinity, giveUp: () => undefined, cancelTimer: () => undefined }
    const silence = new Promise<never>((_, reject) => {
      attempt.giveUp = () => reject(new NoAnswer(`No answer within ${Math.round(this.now() - now)} ms`))
    })
    this.#attempts.add(attempt)
    this.#limit(attempt, endsAt)
    try {
      // The race also handles a rejection that comes after the limit.
      return await Promise.race([request(), silence])
    } finally {
      attempt.cancelTimer()
      this.#attempts.delete(attempt)
    }
  }

  #limit(attempt: Attempt, endsAt: number): void {
    if (endsAt >= attempt.endsAt) return
    attempt.cancelTimer()
    attempt.endsAt = endsAt
    attempt.cancelTimer = this.#clock.schedule(() => attempt.giveUp(), endsAt - this.now())
  }
}

/** The documents in a store. Methods reject with `STORE_FAILED` when it fails for longer than `storeRetryMs`. */
export function documentsOf(store: TaskStore, { callForUser }: StoreClient): TaskDocuments {
  return {
    // A repeated write may be refused because the first attempt succeeded: callers then read the document again.
    putDocument: (document, version) =>
      callForUser('putDocument', () => store.putDocument(document, version)),
    deleteDocument: (document) => callForUser('deleteDocument', () => store.deleteDocument(document)),
    documents: (key, kind) => callForUser('documents', () => store.documents(key, kind)),
    allDocuments: (kind, after, limit) =>
      callForUser('allDocuments', () => store.allDocuments(kind, after, limit)),
  }
}

/** Whether a store rejected a request for good, with its own `STORE_FAILED`: an operator has to act. */
export function isRefusal(error: unknown): error is A2AError<'STORE_FAILED'> {
  return A2AError.is(error, 'STORE_FAILED') && !transient.has(error)
}

function storeFailed(operation: string, cause: unknown): A2AError<'STORE_FAILED'> {
  if (isRefusal(cause)) return cause
  const error = new A2AError('STORE_FAILED', `The store failed: ${operation}`, { operation }, { cause })
  transient.add(error)
  return error
}
