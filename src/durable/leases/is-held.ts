/**
 * Looking at the lease of another process, for those that wait for what it has.
 *
 * @module
 */
import { randomId } from '../../runtime/ids.js'
import type { TaskKey } from '../../core/task.js'
import type { DurableContext } from '../context.js'
import type { Grant } from '../task-store.js'
import { NO_NOTE, NO_RESTART, PARKED, toStoredNote } from './lease-note.js'

/**
 * Implements `isHeld` of `LeasedTasks`. To ask for a lease is the only question that the store answers in one step with taking
 * it: between a read and a decision, a process that was suspended could renew its lease.
 *
 * @param worker - As in `LeaseNote`.
 */
export async function isHeld<S extends string>(
  { settings, storeClient }: DurableContext<S>,
  key: TaskKey,
  leaseId: string,
  worker: string,
): Promise<boolean> {
  const { store, leaseMs: ttlMs } = settings
  // The log says what is to be done.
  const unknown = toStoredNote({ ...NO_NOTE, restarts: NO_RESTART, worker })
  const lease = { id: randomId(), ttlMs, note: unknown }
  const acquire = (): Promise<Grant | undefined> => store.acquire(key, lease)
  const grant = await storeClient.callWithRetry('acquire', acquire)
  if (grant?.leaseId !== lease.id) return grant?.leaseId === leaseId
  // A sweep finds out what is left to do, if anything is: an answer that said so may have been lost.
  const next = { id: PARKED, ttlMs: 0, note: grant.replaced?.note ?? unknown }
  await storeClient.callWithRetry('release', () => store.release(key, lease.id, undefined, next))
  return false
}
