/**
 * Release and removal of a task, and handover of an unfinished one to another process.
 *
 * @module
 */
import type { CachedTask } from '../cache/cached-task.js'
import type { DurableContext } from '../context.js'
import { PARKED, toStoredNote, type HandedOut } from './lease-note.js'
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
  readonly handedOut?: HandedOut | undefined
}

/** The longest time after which a task is handed out again, in ms. */
const MAX_AGAIN_MS = 3_600_000

/**
 * How a task that is handed out waits for the process that takes it: twice as long each time that it is found as it was. So a
 * long queue is not filled with repetitions.
 *
 * @param inMs - As of `LeasedTasks.handOut`.
 */
export function handOutParking<S extends string>({ cached, note }: LeasedTask<S>, inMs: number): Parking {
  const restarts = note.restarts - 1
  if (inMs <= 0) return { inMs, restarts }
  const { generation } = cached.record.task
  const times = note.handedOut?.generation === generation ? note.handedOut.times + 1 : 0
  const againMs = Math.min(inMs * 2 ** times, Math.max(inMs, MAX_AGAIN_MS))
  return { inMs: againMs, restarts, handedOut: { generation, times } }
}

/** Releases the lease, unless the task has changed in the store. */
export async function releaseUnchanged<S extends string>(
  { settings, storeClient }: DurableContext<S>,
  { cached, leaseId, note }: LeasedTask<S>,
  parking?: Parking,
): Promise<boolean> {
  const { key, record } = cached
  const { generation } = record.task
  const { inMs: ttlMs = 0, ...counts } = parking ?? {}
  const next = parking && { id: PARKED, ttlMs, note: toStoredNote({ ...note, ...counts }) }
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
