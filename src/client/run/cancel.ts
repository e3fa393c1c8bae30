/**
 * Cancellation of the task of an abandoned run.
 *
 * @module
 */
import type { RemoteTask } from '../../wire/client/dialect.js'
import { AbortScope } from '../../http/abort.js'
import type { Connection } from '../connection/connection.js'
import { isInconclusive, isUnreadable } from './patience.js'
import type { CallOptions } from '../message.js'
import { pause } from '../../http/retry.js'

/** Time that the agent has to confirm a cancellation. */
const CANCEL_TIMEOUT_MS = 10_000

/**
 * Cancels the task whose id `findTaskId` returns, within {@link CANCEL_TIMEOUT_MS}. The run's own signal is aborted by
 * then and plays no part. Never throws.
 *
 * @returns The task as the agent reports it afterwards; `undefined` if no task was found or the agent did not confirm.
 */
export async function cancel(
  connection: Connection,
  headers: CallOptions['headers'],
  findTaskId: (signal: AbortSignal) => Promise<string | undefined>,
): Promise<RemoteTask | undefined> {
  const { pacing, clock } = connection.settings
  const scope = new AbortScope(clock, undefined)
  const { signal } = scope
  scope.arm(CANCEL_TIMEOUT_MS)
  try {
    const id = await findTaskId(signal)
    if (id === undefined) return undefined
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await cancelOnce(connection, id, { signal, headers })
      } catch (error) {
        if (!mayPass(error) || signal.aborted || attempt >= pacing.attempts) return undefined
        await pause(pacing, signal, attempt, error)
      }
    }
  } catch {
    return undefined
  } finally {
    scope.dispose()
  }
}

function mayPass(error: unknown): boolean {
  return isInconclusive(error) || isUnreadable(error)
}

async function cancelOnce(connection: Connection, id: string, options: CallOptions): Promise<RemoteTask> {
  try {
    return await connection.call('CancelTask', { id }, options)
  } catch (error) {
    if (mayPass(error)) throw error
    // The task may have ended before the request arrived.
    return await connection.call('GetTask', { id }, options)
  }
}
