/**
 * The end of a task that nobody waits for any more.
 *
 * @module
 */
import type { RemoteTask } from '../../wire/client/dialect.js'
import { Abortion } from '../../http/abort.js'
import type { Connection } from '../connection/connection.js'
import { isInconclusive } from './find-message.js'
import type { CallOptions } from '../message.js'
import { pause } from '../../http/retry.js'

/** How long the agent has to confirm that it canceled a task. */
const CANCEL_TIMEOUT_MS = 10_000

/**
 * Cancels the task that `seek` finds, whatever its own run has come to. The task as the agent says that it is then;
 * `undefined`: there is none that is known of, or the agent does not say.
 */
export async function cancel(
  connection: Connection,
  headers: CallOptions['headers'],
  findTaskId: (signal: AbortSignal) => Promise<string | undefined>,
): Promise<RemoteTask | undefined> {
  const { pacing, clock } = connection.settings
  const abortion = new Abortion(clock, undefined)
  const { signal } = abortion
  abortion.arm(CANCEL_TIMEOUT_MS)
  try {
    const id = await findTaskId(signal)
    if (id === undefined) return undefined
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await cancelOnce(connection, id, { signal, headers })
      } catch (error) {
        if (!isInconclusive(error) || signal.aborted || attempt >= pacing.attempts) return undefined
        await pause(pacing, signal, attempt, error)
      }
    }
  } catch {
    return undefined
  } finally {
    abortion.dispose()
  }
}

async function cancelOnce(connection: Connection, id: string, options: CallOptions): Promise<RemoteTask> {
  try {
    return await connection.call('CancelTask', { id }, options)
  } catch (error) {
    if (isInconclusive(error)) throw error
    // It may have ended by itself.
    return await connection.call('GetTask', { id }, options)
  }
}
