/**
 * Claims of dead letters: the task that continues each, so that calls at once, or after a failure, make one.
 *
 * @module
 */
import type { MaybePromise, TaskDocuments } from '../core/managers.js'
import { portOf } from '../core/port.js'
import { claimOf, putClaim } from '../core/saved/redrive-claim.js'
import type { RedriveClaim } from '../core/task-record.js'
import type { TaskKey } from '../core/task.js'

export interface Claims {
  /** `undefined` for a dead letter that no call has redriven. */
  of(key: TaskKey): MaybePromise<RedriveClaim | undefined>
  /** Claims the dead letter for a new task, unless another call has. */
  begin(key: TaskKey, taskId: string): MaybePromise<unknown>
  /** Says that the new task is stored. */
  complete(key: TaskKey, taskId: string): MaybePromise<unknown>
}

/** Those of a manager in memory, or of one over a store; `undefined` for one that has no forks. */
export function claimsOf(tasks: { readonly documents?: TaskDocuments }): Claims | undefined {
  const { documents } = tasks
  const table = portOf(tasks)?.table
  if (table !== undefined) {
    const put = (id: string, claim: RedriveClaim): void => {
      const record = table.get(id)
      if (record !== undefined) record.redriven = claim
    }
    return {
      of: ({ id }) => table.get(id)?.redriven,
      begin: ({ id }, taskId) => put(id, table.get(id)?.redriven ?? { taskId }),
      complete: ({ id }, taskId) => put(id, { taskId, isMade: true }),
    }
  }
  return (
    documents && {
      of: (key) => claimOf(documents, key),
      begin: (key, taskId) => putClaim(documents, key, { taskId }, 0),
      complete: (key, taskId) => putClaim(documents, key, { taskId, isMade: true }, 1),
    }
  )
}
