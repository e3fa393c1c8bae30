/**
 * Lookup of the tasks that a message refers to.
 *
 * @module
 */
import type { SharedTasks } from '../../core/managers.js'
import type { OwnerFilter } from '../../core/queries.js'
import type { TaskSnapshot } from '../../core/task.js'
import type { SendRequest } from '../../wire/dialect.js'
import { findOwn } from '../chosen-ids.js'

/** The most tasks that are read for one message. */
const MAX_REFERENCES = 100

/** The referenced tasks that belong to `owner`. Runs read them synchronously, so they are loaded before a run begins. */
export async function referencesOf(
  tasks: SharedTasks,
  { message }: SendRequest,
  owner: OwnerFilter,
): Promise<TaskSnapshot[]> {
  const found: TaskSnapshot[] = []
  for (const id of message.referenceTaskIds?.slice(0, MAX_REFERENCES) ?? []) {
    const task = await findOwn(tasks, id, owner)
    if (task !== null) found.push(task)
  }
  return found
}
