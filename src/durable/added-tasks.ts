/**
 * Tasks that are added to a store with a turn that any process is to do: forks, and those of producers.
 *
 * @module
 */
import type { AddedTask } from '../core/port.js'
import { recordOf } from '../core/task-record.js'
import type { Task } from '../core/task.js'
import type { DurableContext } from './context.js'
import { requireUnused } from './create-task.js'
import { DELAYED, NO_NOTE, NO_RESTART, PARKED, toStoredNote } from './leases/lease-note.js'

/** Stores the task with a lease that no process holds, in one step. Any process does its turn when the lease has expired. */
export async function addTask<S extends string>(
  { settings, timeline, cache, observers, storeClient, watcher }: DurableContext<S>,
  { id, log, isWorking, dueIn }: AddedTask<S>,
): Promise<Task<S>> {
  storeClient.requireOpen()
  await requireUnused(cache, id)
  const now = timeline.now()
  const events = log(now.iso)
  const record = recordOf(events, now, settings.eventLogSize, false)
  const note = toStoredNote({ ...NO_NOTE, restarts: NO_RESTART, trace: observers.trace() })
  const { ms: ttlMs, isStrict } = dueIn?.(record.snapshot()) ?? { ms: 0, isStrict: false }
  const lease = { id: isStrict ? DELAYED : PARKED, ttlMs, note }
  const task = await cache.create(record, events, isWorking ? lease : undefined).created
  if (isWorking && ttlMs <= 0) watcher.publishDue(id)
  return task
}
