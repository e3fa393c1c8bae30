/**
 * The tasks that messages refer to.
 *
 * @module
 */
import type { OwnerFilter } from '../../core/queries.js'
import type { TaskSnapshot } from '../../core/task.js'
import type { SharedTasks } from '../../core/managers.js'
import type { SendRequest } from '../../wire/dialect.js'

/** How many of the tasks that a message refers to its run can read. */
const MAX_REFERENCES = 100

/** Those that `owner` has. Runs ask for them at once, so they are read before. */
export async function referencesOf(
  tasks: SharedTasks,
  { message }: SendRequest,
  owner: OwnerFilter,
): Promise<TaskSnapshot[]> {
  const found: TaskSnapshot[] = []
  for (const id of message.referenceTaskIds?.slice(0, MAX_REFERENCES) ?? []) {
    const task = await tasks.peekTask(id, owner)
    if (task !== null) found.push(task)
  }
  return found
}
