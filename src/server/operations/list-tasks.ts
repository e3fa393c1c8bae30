/**
 * A page of a caller's tasks (A2A 1.0 §3.1.4).
 *
 * @module
 */
import { A2AError, invalidParams } from '../../core/errors.js'
import type { OwnerFilter, TaskFilter, TaskPage } from '../../core/queries.js'
import type { ListRequest, Results } from '../../wire/dialect.js'
import type { ServedTasks } from '../tasks.js'
import type { MaybePromise } from '../../core/managers.js'

export async function listTasks(
  tasks: ServedTasks,
  request: ListRequest,
  owner: OwnerFilter,
): Promise<Results['ListTasks']> {
  const { contextId, state, pageSize, pageToken, historyLength, since, includeArtifacts } = request
  const filter = { contextId, state, ...owner }
  const counted = async (): Promise<number> =>
    since === undefined ? tasks.countTasks(filter) : countSince(tasks, filter, since)
  // Both are requested before the tasks can change.
  const [page, totalSize] = await Promise.all([
    readPage(() => tasks.pageTasks({ ...filter, pageSize, cursor: pageToken, updatedSince: since })),
    counted(),
  ])
  return {
    tasks: page.tasks.map((task) => ({ task, historyLength, artifacts: includeArtifacts })),
    nextPageToken: page.nextCursor ?? '',
    pageSize,
    totalSize,
  }
}

/** Managers have no count by time. */
async function countSince(tasks: ServedTasks, filter: TaskFilter, updatedSince: string): Promise<number> {
  let count = 0
  let cursor: string | undefined
  do {
    const page: TaskPage = await tasks.pageTasks({ ...filter, updatedSince, pageSize: 1000, cursor })
    count += page.tasks.length
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return count
}

/** Reports an invalid token under its name in the protocol; managers call it a cursor. */
async function readPage(read: () => MaybePromise<TaskPage>): Promise<TaskPage> {
  try {
    return await read()
  } catch (error) {
    if (A2AError.is(error, 'INVALID_PARAMS') && error.data.path === 'cursor') {
      throw invalidParams('pageToken', error.data.reason)
    }
    throw error
  }
}
