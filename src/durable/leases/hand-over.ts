/**
 * Release and removal of a task, and handover of an unfinished one to another process.
 *
 * @module
 */
import type { CachedTask } from '../cache/cached-task.js'
import type { DurableContext } from '../context.js'
import { PARKED, toStoredNote } from './lease-note.js'
import type { LeasedTask } from './leased-task.js'
import { replaceNote } from './store-note.js'

/** Lets the lease expire now, so that the next sweep of another process restarts the work. This is not one of its restarts. */
export async function handOver<S extends string>(
  context: DurableContext<S>,
  { cached: { key }, leaseId, note }: LeasedTask<S>,
): Promise<void> {
  const handed = toStoredNote({ ...note, restarts: note.restarts - 1 })
  await replaceNote(context, key, { id: leaseId, ttlMs: 1, note: handed })
}

/** What a task has in place of a released lease: any process continues the work then, as after a crash. */
export interface Parking {
  readonly inMs: number
  /** How many restarts there were before that. */
  readonly restarts: number
}

/** Releases the lease, unless the task has changed in the store. */
export async function releaseUnchanged<S extends string>(
  { settings, storeClient }: DurableContext<S>,
  { cached, leaseId, note }: LeasedTask<S>,
  parking?: Parking,
): Promise<boolean> {
  const { key, record } = cached
  const { generation } = record.task
  const next = parking && {
    ...{ id: PARKED, ttlMs: parking.inMs },
    note: toStoredNote({ ...note, restarts: parking.restarts }),
  }
  return await storeClient.callWithRetry('release', () =>
    settings.store.release(key, leaseId, generation, next),
  )
}

/** Removes a proposed task, unless it has changed in the store. */
export async function removeUnchanged<S extends string>(
  { settings, storeClient, proposals }: DurableContext<S>,
  cached: CachedTask<S>,
): Promise<boolean> {
  const { key, record } = cached
  const { store } = settings
  const deletion = { ...key, expectedGeneration: record.task.generation }
  const removed = await storeClient.callWithRetry('delete', () => store.delete([deletion]))
  if (removed.length === 0) {
    // An attempt whose answer was lost may have removed it.
    const [head] = await storeClient.callWithRetry('heads', () => store.heads([key.id]))
    if (head?.createdAt === key.createdAt) return false
  }
  proposals.discard(cached)
  return true
}
