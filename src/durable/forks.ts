/**
 * Forks of tasks in a store.
 *
 * @module
 */
import type { AddedTask } from '../core/port.js'
import { recordOf } from '../core/task-record.js'
import type { Task } from '../core/task.js'
import type { DurableContext } from './context.js'
import { requireUnused } from './create-task.js'
import { NO_NOTE, NO_RESTART, PARKED, toStoredNote } from './leases/lease-note.js'

/**
 * Stores the task with an expired lease, so that any process continues it, as it does a task that has slept.
 *
 * @param recoverSoon - Continues the work of expired leases in this process.
 */
export async function addFork<S extends string>(
  { settings, timeline, cache, observers, storeClient }: DurableContext<S>,
  { id, log, isWorking }: AddedTask<S>,
  recoverSoon: () => void,
): Promise<Task<S>> {
  storeClient.requireOpen()
  await requireUnused(cache, id)
  const now = timeline.now()
  const events = log(now.iso)
  const record = recordOf(events, now, settings.eventLogSize, false)
  const note = toStoredNote({ ...NO_NOTE, restarts: NO_RESTART, trace: observers.trace() })
  const lease = isWorking ? { id: PARKED, ttlMs: 0, note } : undefined
  const task = await cache.create(record, events, lease).created
  if (isWorking) recoverSoon()
  return task
}
