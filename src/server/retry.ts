/**
 * The option `retry` of a handler: when and how often `execute` is called again after it has thrown.
 *
 * @module
 */
import { A2AError, type ErrorCode } from '../core/errors.js'
import { MAX_DELAY_MS } from '../runtime/clock.js'
import {
  readOptions,
  requireDelay,
  requireFinite,
  requireFunctions,
  requireWhole,
} from '../runtime/options.js'

/** Pauses between attempts. */
export interface BackoffOptions {
  /** The pause before the second attempt, in ms. Default is `1_000`. */
  readonly initialMs?: number | undefined
  /** The longest pause, in ms. Default is `60_000` (1 minute), or `initialMs` if that is longer. */
  readonly maxMs?: number | undefined
  /** The factor by which each further pause is longer, at least 1. Default is `2`. */
  readonly factor?: number | undefined
}

/** When and how often `execute`, or the work of a step, is called again after it has thrown. */
export interface RetryOptions {
  /** The number of attempts in all. Those of `execute` count in every process, those of a step in one. Default is `3`. */
  readonly attempts?: number | undefined
  readonly backoff?: BackoffOptions | undefined
  /**
   * Whether to try again after this error. Default is yes, except for errors of this package that would happen again, such as
   * `INVALID_PARAMS`. An aborted run, `JOURNAL_MISMATCH` and a lost task are never tried again.
   */
  readonly isRetryable?: ((error: unknown) => boolean) | undefined
}

/** {@link RetryOptions} with defaults. */
export interface RetrySettings {
  readonly attempts: number
  readonly isRetryable: (error: unknown) => boolean
  /** The pause after the attempt of this number, in ms. */
  readonly pauseMs: (attempt: number) => number
}

const KEYS = ['attempts', 'backoff', 'isRetryable']
const BACKOFF_KEYS = ['initialMs', 'maxMs', 'factor']
/** The code is wrong, or asks for what the task does not allow: the next attempt would throw the same. */
const PERMANENT: readonly ErrorCode[] = [
  'INVALID_PARAMS',
  'INVALID_TRANSITION',
  'LIMIT_EXCEEDED',
  'TASK_GENERATION_MISMATCH',
  'TASK_TERMINAL',
  'UNSUPPORTED_OPERATION',
  'WAIT_ABORTED',
]
/** Nothing can be tried again: the journal does not fit, or this process does not have the task any more. */
const FINAL: readonly ErrorCode[] = ['JOURNAL_MISMATCH', 'LEASE_LOST', 'STORE_FAILED', 'TASK_NOT_FOUND']

/** @throws {TypeError | RangeError} naming the invalid option. */
export function toRetrySettings(options: RetryOptions | undefined, where: string): RetrySettings | undefined {
  if (options === undefined) return undefined
  const given = readOptions(options, KEYS, where, 'retry', 'an object: { attempts: 3 }')
  requireFunctions(given, ['isRetryable'], 'retry')
  const backoff = readOptions(
    given.backoff ?? {},
    BACKOFF_KEYS,
    where,
    'retry.backoff',
    'an object: { initialMs: 1_000 }',
  )
  const initialMs = requireDelay('retry.backoff.initialMs', backoff.initialMs ?? 1_000)
  const maxMs = requireDelay('retry.backoff.maxMs', backoff.maxMs ?? Math.max(60_000, initialMs))
  const factor = requireFinite('retry.backoff.factor', backoff.factor ?? 2)
  if (factor < 1) throw new RangeError(`"retry.backoff.factor" must be at least 1, got ${factor}`)
  const { isRetryable = isTransient } = given
  return {
    attempts: requireWhole('retry.attempts', given.attempts ?? 3),
    isRetryable: (error) => !isFinal(error) && isRetryable(error),
    pauseMs: (attempt) => Math.min(initialMs * factor ** (attempt - 1), maxMs, MAX_DELAY_MS),
  }
}

function isFinal(error: unknown): boolean {
  return A2AError.is(error) && FINAL.includes(error.code)
}

function isTransient(error: unknown): boolean {
  return !(A2AError.is(error) && PERMANENT.includes(error.code))
}
