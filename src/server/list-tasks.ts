/**
 * A page of a caller's tasks (A2A 1.0 §3.1.4).
 *
 * @module
 */
import { A2AError, invalidParams } from '../core/errors.js'
import type { OwnerFilter, TaskFilter, TaskPage } from '../core/queries.js'
import type { TaskManager } from '../core/task-manager.js'
import type { ListRequest, Results } from '../wire/index.js'

export function listTasks(
  tasks: TaskManager,
  request: ListRequest,
  owner: OwnerFilter,
): Results['ListTasks'] {
  const { contextId, state, pageSize, pageToken, historyLength, since, includeArtifacts } = request
  const filter = { contextId, state, ...owner }
  const page = readPage(() =>
    tasks.pageTasks({ ...filter, pageSize, cursor: pageToken, updatedSince: since }),
  )
  return {
    tasks: page.tasks.map((task) => ({ task, historyLength, artifacts: includeArtifacts })),
    nextPageToken: page.nextCursor ?? '',
    pageSize,
    totalSize: since === undefined ? tasks.countTasks(filter) : countSince(tasks, filter, since),
  }
}

/** The manager counts without a time only. */
function countSince(tasks: TaskManager, filter: TaskFilter, updatedSince: string): number {
  let count = 0
  let cursor: string | undefined
  do {
    const page: TaskPage = tasks.pageTasks({ ...filter, updatedSince, pageSize: 1000, cursor })
    count += page.tasks.length
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return count
}

/** The manager calls the token a cursor. */
function readPage(read: () => TaskPage): TaskPage {
  try {
    return read()
  } catch (error) {
    if (A2AError.is(error, 'INVALID_PARAMS') && error.data.path === 'cursor') {
      throw invalidParams('pageToken', error.data.reason)
    }
    throw error
  }
}
