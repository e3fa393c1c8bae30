/**
 * Patience of a run with an agent that fails.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import { isTerminal } from '../../core/lifecycle.js'
import { isTransient } from '../../http/errors.js'
import { retry, type Pacing } from '../../http/retry.js'
import { timeLeft } from '../../runtime/clock.js'
import type { RemoteTask } from '../../wire/client/dialect.js'
import type { Connection } from '../connection/connection.js'
import type { CallOptions } from '../message.js'

/** Time limit of one request, unless the client has one. */
export const REQUEST_MS = 60_000
/** Time to read a task whose end a stream has reported: by one request, and in all if events may be missing. */
const CONFIRM_MS = 2_000
const COMPLETION_MS = 10_000

/** Time for an agent to come back, as after a restart: a minute by default. */
export function patienceMs({ attempts }: Pacing): number {
  return attempts * 15_000
}

/**
 * Whether `error` leaves open whether the agent received the request. An answer with another HTTP status, or one that is not
 * A2A, is a refusal.
 */
export function isInconclusive(error: unknown): boolean {
  return isTransient(error) || A2AError.is(error, 'REQUEST_TIMED_OUT')
}

/** Whether the answer is not A2A. What a proxy answers for a moment says nothing of a task that the agent has. */
export function isUnreadable(error: unknown): boolean {
  // A cause that is not an `Error` is the agent's own error object, which reports another agent's.
  return A2AError.is(error, 'INVALID_AGENT_RESPONSE') && (!error.cause || error.cause instanceof Error)
}

/**
 * Fetches the task `id`, with patience for an agent that restarts. `seen` is what is known of a task that has ended or
 * waits: it is the result if the agent does not say more. If it has ended, the agent is asked once, for two seconds at most;
 * with retries if it is not `isWhole`, because events may be missing.
 */
export async function fetchTask(
  connection: Connection,
  id: string,
  options: CallOptions,
  seen: RemoteTask | undefined,
  isWhole: boolean,
): Promise<RemoteTask> {
  const { clock, pacing, timeoutMs = REQUEST_MS } = connection.settings
  const hasEnded = seen !== undefined && isTerminal(seen.state)
  const left = timeLeft(clock, hasEnded ? COMPLETION_MS : patienceMs(pacing))
  const limitMs = hasEnded ? CONFIRM_MS : timeoutMs
  let faults = 0
  const mayPass = (error: unknown): boolean => {
    if (isInconclusive(error)) return true
    faults += 1
    return faults < pacing.attempts && (isUnreadable(error) || A2AError.is(error, 'INTERNAL'))
  }
  const rounds = !hasEnded ? 2 * pacing.attempts + 1 : isWhole ? 1 : pacing.attempts
  const ask = (): Promise<RemoteTask> =>
    connection.call('GetTask', { id }, { ...options, timeoutMs: Math.min(timeoutMs, limitMs, left()) }, 1)
  try {
    return await retry({ ...pacing, attempts: rounds }, options.signal, mayPass, ask, left)
  } catch (error) {
    if (seen === undefined || options.signal?.aborted) throw error
    return seen
  }
}
