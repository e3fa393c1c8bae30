/**
 * A page of a caller's tasks (A2A 1.0 §3.1.4).
 *
 * @module
 */
import { A2AError, invalidParams } from '../../core/errors.js'
import type { OwnerFilter, TaskPage } from '../../core/queries.js'
import type { ListRequest, Results } from '../../wire/dialect.js'
import type { ServedTasks } from '../tasks.js'
import type { MaybePromise } from '../../core/managers.js'
import type { PageTokens } from './page-tokens.js'

/** @param tokens - Seal the cursors of a manager in memory. Those of a store contain only the last task of the page. */
export async function listTasks(
  tasks: ServedTasks,
  request: ListRequest,
  owner: OwnerFilter,
  tokens: PageTokens | undefined,
): Promise<Results['ListTasks']> {
  const { contextId, state, pageSize, pageToken, historyLength, since, includeArtifacts } = request
  const scope = JSON.stringify([owner.owner, contextId, state, since])
  const cursor = pageToken && tokens ? await tokens.open(pageToken, scope) : pageToken
  const filter = { contextId, state, updatedSince: since, ...owner }
  const counted = async (): Promise<number> => tasks.countTasks(filter)
  // Both are requested before the tasks can change.
  const [page, totalSize] = await Promise.all([
    readPage(() => tasks.pageTasks({ ...filter, pageSize, cursor })),
    counted(),
  ])
  const { nextCursor = '' } = page
  return {
    tasks: page.tasks.map((task) => ({ task, historyLength, artifacts: includeArtifacts })),
    nextPageToken: tokens && nextCursor !== '' ? await tokens.seal(nextCursor, scope) : nextCursor,
    pageSize,
    totalSize,
  }
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
