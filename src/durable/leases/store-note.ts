/**
 * Storage of the note on a lease that is held.
 *
 * @module
 */
import type { TaskKey } from '../../core/task.js'
import type { DurableContext } from '../context.js'
import type { Lease } from '../task-store.js'
import { toStoredNote, type LeaseNote } from './lease-note.js'
import type { LeasedTask } from './leased-task.js'

/**
 * Gives a lease another note and a full term, if the task has it. `acquire` would also take a lease that was lost and is free
 * by now: the process may be paused before any call.
 */
export async function replaceNote<S extends string>(
  { settings, storeClient }: DurableContext<S>,
  key: TaskKey,
  lease: Lease,
): Promise<void> {
  await storeClient.callWithRetry('release', () => settings.store.release(key, lease.id, undefined, lease))
}

/**
 * Stores the latest note after the changes that are pending now. Notes that were replaced before are skipped. A failure is
 * reported.
 *
 * @param onMissed - Called when the store does not have the lease any more.
 */
export async function storeNote<S extends string>(
  context: DurableContext<S>,
  leased: LeasedTask<S>,
  isHeld: () => boolean,
  onMissed: () => Promise<void>,
): Promise<void> {
  const { storeClient, settings } = context
  const { leaseMs: ttlMs } = settings
  const { cached, leaseId: id } = leased
  const { key } = cached
  for (let stored: LeaseNote | undefined; stored !== leased.note;) {
    await cached.settle()
    if (!isHeld() || cached.hasEnded) break
    stored = leased.note
    const lease = { id, ttlMs, note: toStoredNote(stored) }
    try {
      await replaceNote(context, key, lease)
      const renew = (): Promise<readonly string[]> => settings.store.renew([{ key, id }], ttlMs)
      const [renewed] = await storeClient.callWithRetry('renew', renew)
      if (renewed === undefined) await onMissed()
    } catch (error) {
      storeClient.report(error)
    }
  }
  leased.storingNote = undefined
}
