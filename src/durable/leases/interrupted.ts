/**
 * Release of tasks that wait for input, whose code may wait for something else beside it.
 *
 * @module
 */
import type { JournalRecorded } from '../../core/events.js'
import { signalNameOf } from '../../core/evolve.js'
import type { TaskSnapshot } from '../../core/task.js'
import type { CachedTask } from '../cache/cached-task.js'
import type { DurableContext } from '../context.js'
import { journalOf } from '../journals.js'
import { NO_RESTART, PARKED, toStoredNote, type LeaseNote } from './lease-note.js'

/** A turn that waits for a signal is looked at again after this time, in ms, in case nothing has woken it. */
const RECHECK_MS = 86_400_000

/**
 * Releases the lease of a task that waits for input, so that any process can take the answer. Where the turn has something
 * else open, the lease becomes one that no process holds until that is due.
 *
 * @param note - What a process that continues the turn needs to know.
 * @returns `false` when something is due now, and the lease is kept. Otherwise `true`, also when the task has changed by now
 *   and keeps its lease.
 * @throws {A2AError} `STORE_FAILED`, as a rejection.
 */
export async function releaseInterrupted<S extends string>(
  context: DurableContext<S>,
  cached: CachedTask<S>,
  leaseId: string,
  note: LeaseNote,
): Promise<boolean> {
  const { settings, storeClient } = context
  const { key, record } = cached
  const { generation } = record.task
  const dueAt = await openUntil(context, cached)
  const waitMs = dueAt === undefined ? 0 : dueAt - settings.clock.now()
  if (dueAt !== undefined && waitMs <= 0) return false
  const ttlMs = waitMs === Infinity ? RECHECK_MS : waitMs
  // To continue is no restart.
  const next =
    dueAt === undefined
      ? undefined
      : { id: PARKED, ttlMs, note: toStoredNote({ ...note, restarts: NO_RESTART }) }
  await storeClient.callWithRetry('release', () => settings.store.release(key, leaseId, generation, next))
  return true
}

/**
 * When something that the turn waits for beside the user is due, in ms since 1970: `Infinity` where that is a signal that has
 * not come. `undefined` where it only waits for the user.
 */
async function openUntil<S extends string>(
  context: DurableContext<S>,
  { key, record }: CachedTask<S>,
): Promise<number | undefined> {
  const { turn, generation } = record.task
  if (turn === undefined || generation < turn) return undefined
  const open = openWaits(await journalOf(context, key.id, turn - 1), record.task)
  return open.length === 0 ? undefined : Math.min(...open)
}

/** When each open wait of the journal is due, in ms since 1970. */
function openWaits(
  journal: readonly JournalRecorded[],
  { signals = [] }: Pick<TaskSnapshot, 'signals'>,
): number[] {
  const open = new Map<string, number>()
  for (const { entry } of journal) {
    if (entry.kind === 'sleep') open.set(`sleep ${entry.name}`, Date.parse(entry.dueAt))
    else if (entry.kind === 'wake') open.delete(`sleep ${entry.name}`)
    else if (entry.kind === 'wait') {
      const hasCome = signals.some(({ name }) => name === signalNameOf(entry.name))
      open.set(`wait ${entry.name}`, hasCome ? 0 : Infinity)
    } else if (entry.kind === 'received') open.delete(`wait ${entry.name}`)
    else if (entry.kind === 'delegate') open.set(`delegate ${entry.name}`, 0)
    else if (entry.kind === 'delegated') open.delete(`delegate ${entry.name}`)
  }
  return [...open.values()]
}
