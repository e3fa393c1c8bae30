/**
 * Tasks that were saved elsewhere, on their way into the store.
 *
 * @module
 */
import { invalidParams } from '../core/errors.js'
import { randomId } from '../runtime/ids.js'
import type { TaskRecord } from '../core/task-record.js'
import type { DurableSettings } from './options.js'
import type { OpenAccess } from './open-access.js'
import { headOf } from './cache/checkpoint.js'

/** @throws {A2AError} `INVALID_PARAMS` for an id that is taken, as a rejection; those before it are stored by then. */
export async function storeAll<S extends string>(
  records: readonly TaskRecord<S>[],
  { store, lifecycle }: DurableSettings<S>,
  { insist }: OpenAccess,
): Promise<void> {
  for (const [index, { task }] of records.entries()) {
    const creation = { task, events: [], head: headOf(task, [], lifecycle), commitId: randomId() }
    const isNew = await insist('create', () => store.create(creation))
    if (!isNew) throw invalidParams(`tasks[${index}].id`, `is taken: ${task.id}`)
  }
}
