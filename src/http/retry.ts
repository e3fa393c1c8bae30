/**
 * Retries with exponential backoff.
 *
 * @module
 */
import { A2AError } from '../core/errors.js'
import { type Clock, MAX_DELAY_MS } from '../runtime/clock.js'
import { aborted } from './errors.js'

export interface RetryOptions {
  /** How often a request is sent at most. Default is 4; 1 for no repetition. */
  readonly attempts?: number | undefined
  /** What the first pause is at most; every further one is twice as long. Default is 250. */
  readonly baseDelayMs?: number | undefined
  /** What a pause is at most, one that the agent asks for included. Default is 10,000. */
  readonly maxDelayMs?: number | undefined
}

export interface Pacing {
  readonly clock: Clock
  /** From 0 to 1. */
  readonly random: () => number
  readonly attempts: number
  readonly baseDelayMs: number
  readonly maxDelayMs: number
}

/** Calls `work` until it succeeds, its error is no reason to go on, or it was called often enough. */
export async function retry<T>(
  pacing: Pacing,
  signal: AbortSignal | undefined,
  mayRepeat: (error: unknown) => boolean,
  work: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      if (attempt >= pacing.attempts || !mayRepeat(error)) throw error
      await pause(pacing, signal, attempt, error)
    }
  }
}

/** Waits before the attempt after `attempt`: some time up to a limit that doubles, or what the agent asked for. */
export function pause(
  pacing: Pacing,
  signal: AbortSignal | undefined,
  attempt: number,
  error?: unknown,
): Promise<void> {
  const { retryAfterMs } = A2AError.is(error, 'UNAVAILABLE') ? error.data : {}
  return sleep(pacing.clock, pauseMs(pacing, attempt, retryAfterMs), signal)
}

/** The pause in ms after `attempt`: at least `retryAfterMs`, at most `maxDelayMs` of the pacing. */
export function pauseMs(pacing: Pacing, attempt: number, retryAfterMs = 0): number {
  const { random, baseDelayMs, maxDelayMs } = pacing
  const limit = Math.min(maxDelayMs, baseDelayMs * 2 ** Math.min(attempt - 1, 30))
  // Half of it is left to chance: those who failed together do not come back together.
  return Math.max(limit / 2 + (limit / 2) * random(), Math.min(retryAfterMs, maxDelayMs))
}

/**
 * The delay that `Retry-After` requests, in ms: a number of seconds or an HTTP date (RFC 9110 §10.2.3). A past date is 0.
 * A number of more than nine digits, and any other text, is ignored.
 */
export function retryAfterMs(headers: Headers, clock: Clock): number | undefined {
  const text = headers.get('retry-after') ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000
  // The one form of an HTTP date that servers may generate ends with GMT.
  const date = / GMT$/.test(text) ? Date.parse(text) : NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - clock.now())
}

/** @throws {A2AError} `REQUEST_ABORTED` as soon as `signal` is aborted. */
export function sleep(clock: Clock, delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(aborted(signal))
      return
    }
    const onAbort = (): void => {
      stop()
      if (signal !== undefined) reject(aborted(signal))
    }
    const stop = clock.schedule(
      () => {
        signal?.removeEventListener('abort', onAbort)
        resolve()
      },
      // A longer one would be over at once.
      Math.min(delayMs, MAX_DELAY_MS),
    )
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}
