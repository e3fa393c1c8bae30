/**
 * Creation of tasks in the store, without a lease.
 *
 * @module
 */
import { toCreate } from '../core/commands.js'
import { invalidParams } from '../core/errors.js'
import { createdEvent } from '../core/events.js'
import { create } from '../core/evolve.js'
import type { CreateTaskParams } from '../core/params.js'
import { TaskRecord } from '../core/task-record.js'
import type { Task } from '../core/task.js'
import type { DurableContext } from './context.js'

/** As `createTask` of the manager. */
export async function createTask<S extends string>(
  { storeClient, settings, timeline, cache }: DurableContext<S>,
  params: CreateTaskParams,
): Promise<Task<S>> {
  storeClient.requireOpen()
  const command = toCreate(params, settings)
  await requireUnused(cache, command.id)
  const now = timeline.now()
  const event = createdEvent(command, settings.lifecycle.initial, now.iso)
  const { created } = cache.create(new TaskRecord(create(event), now), [event])
  return await created
}

/**
 * Requires that this process knows of no task with the id. The store may have one.
 *
 * @throws {A2AError} `INVALID_PARAMS`, as a rejection.
 */
export async function requireUnused<S extends string>(
  cache: DurableContext<S>['cache'],
  id: string,
): Promise<void> {
  // A read finds out whether a task in memory was removed by another process.
  if (cache.isIdInUse(id)) await cache.read(id, () => null)
  if (cache.isIdInUse(id)) throw invalidParams('id', `is taken: ${id}`)
}
