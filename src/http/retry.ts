/**
 * Retries with exponential backoff.
 *
 * @module
 */
import { A2AError } from '../core/errors.js'
import type { Clock } from '../runtime/clock.js'
import { sleep } from '../runtime/timers.js'
import { aborted } from './errors.js'

/** Retries of failed requests, with exponential backoff and jitter. */
export interface RetryOptions {
  /** Maximum number of times that a request is sent. Default is 4; 1 disables retries. */
  readonly attempts?: number | undefined
  /** Upper limit of the first pause, in ms. It doubles with every further pause. Default is 250. */
  readonly baseDelayMs?: number | undefined
  /** Upper limit of every pause, in ms, including those that the agent requests (`Retry-After`). Default is 10,000. */
  readonly maxDelayMs?: number | undefined
}

/** Complete retry settings. */
export interface Pacing {
  readonly clock: Clock
  /** Returns a number from 0 to 1. */
  readonly random: () => number
  readonly attempts: number
  readonly baseDelayMs: number
  readonly maxDelayMs: number
}

/**
 * Calls `work` until it succeeds, fails with an error that is not retryable, or has used all attempts. Does not begin a
 * pause that would not end within `leftMs()`: throws the error at once.
 */
export async function retry<T>(
  pacing: Pacing,
  signal: AbortSignal | undefined,
  isRetryable: (error: unknown) => boolean,
  work: () => Promise<T>,
  leftMs: () => number = () => Infinity,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      if (attempt >= pacing.attempts || !isRetryable(error)) throw error
      const delayMs = pauseAfter(pacing, attempt, error)
      if (delayMs >= leftMs()) throw error
      await abortableSleep(pacing.clock, delayMs, signal)
      // The pause may have taken longer, as where the process stood still.
      if (leftMs() === 0) throw error
    }
  }
}

/** Waits {@link pauseMs} after attempt number `attempt`. @throws {A2AError} `REQUEST_ABORTED`, as a rejection. */
export function pause(
  pacing: Pacing,
  signal: AbortSignal | undefined,
  attempt: number,
  error?: unknown,
): Promise<void> {
  return abortableSleep(pacing.clock, pauseAfter(pacing, attempt, error), signal)
}

function pauseAfter(pacing: Pacing, attempt: number, error: unknown): number {
  const { retryAfterMs } = A2AError.is(error, 'UNAVAILABLE') ? error.data : {}
  return pauseMs(pacing, attempt, retryAfterMs)
}

/**
 * The pause after attempt number `attempt`, in ms: random, up to a limit that doubles with each attempt, at least
 * `retryAfterMs`, at most `maxDelayMs`.
 */
export function pauseMs(pacing: Pacing, attempt: number, retryAfterMs = 0): number {
  const { random, baseDelayMs, maxDelayMs } = pacing
  const limit = Math.min(maxDelayMs, baseDelayMs * 2 ** Math.min(attempt - 1, 30))
  // Half of the pause is random, so that clients that failed together do not retry together.
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

/** Waits for `delayMs`. @throws {A2AError} `REQUEST_ABORTED`, as a rejection, as soon as `signal` aborts. */
export async function abortableSleep(
  clock: Clock,
  delayMs: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (signal?.aborted) throw aborted(signal)
  await sleep(delayMs, signal, clock)
  if (signal?.aborted) throw aborted(signal)
}
