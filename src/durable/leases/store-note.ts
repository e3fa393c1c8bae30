/**
 * Storage of the note on a lease that is held.
 *
 * @module
 */
import type { DurableContext } from '../context.js'
import { toStoredNote, type LeaseNote } from './lease-note.js'
import type { LeasedTask } from './leased-task.js'

/**
 * Stores the latest note after the changes that are pending now. Notes that were replaced before are skipped. A failure is
 * reported.
 *
 * @param onMissed - Called when the store does not have the lease any more.
 */
export async function storeNote<S extends string>(
  { settings, storeClient }: DurableContext<S>,
  leased: LeasedTask<S>,
  isHeld: () => boolean,
  onMissed: () => Promise<void>,
): Promise<void> {
  const { store, leaseMs: ttlMs } = settings
  const { cached, leaseId: id } = leased
  const { key } = cached
  for (let stored: LeaseNote | undefined; stored !== leased.note;) {
    await cached.settle()
    if (!isHeld() || cached.hasEnded) break
    stored = leased.note
    const lease = { id, ttlMs, note: toStoredNote(stored) }
    try {
      // `acquire` would also acquire a lease that was lost and is free now. A renewed lease lasts until `acquire` is done.
      const renew = (): Promise<readonly string[]> => store.renew([{ key, id }], ttlMs)
      const [renewed] = await storeClient.callWithRetry('renew', renew)
      const grant = renewed && (await storeClient.callWithRetry('acquire', () => store.acquire(key, lease)))
      if (!grant || grant.leaseId !== id) await onMissed()
    } catch (error) {
      storeClient.report(error)
    }
  }
  leased.storingNote = undefined
}
