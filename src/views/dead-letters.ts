/**
 * Dead letters: the tasks that have failed for good, and the redrive of all.
 *
 * @module
 */
import type { TaskState } from '../core/lifecycle.js'
import type { TaskDocuments, TaskReader } from '../core/managers.js'
import { QUERY_KEYS, type TaskPage, type TaskQuery } from '../core/queries.js'
import { keyOf, type TaskSnapshot } from '../core/task.js'
import { requireFunctions } from '../runtime/options.js'
import { readParams } from '../core/validate.js'
import { claimsOf } from './claims.js'
import { redrive, type LetterTasks } from './redrive.js'
import { requirePort } from './room.js'

/** Options of `deadLetters`: those of `pageTasks`, for failed tasks. */
export type DeadLetterQuery = Omit<TaskQuery, 'state'>

/** Options of `redriveAll`: those of `deadLetters`, and a condition. */
export interface RedriveQuery<S extends string = TaskState> extends Omit<
  DeadLetterQuery,
  'pageSize' | 'cursor'
> {
  /** Redrives only the tasks for which it returns `true`. Default is all. */
  readonly where?: ((task: TaskSnapshot<S>) => boolean) | undefined
}

/** A dead letter, and the task that continues it. */
export interface Redriven {
  /** The id of the dead letter. */
  readonly from: string
  /** The id of the new task. */
  readonly taskId: string
}

/** What `redriveAll` has done. */
export interface RedriveReport {
  readonly redriven: readonly Redriven[]
  /** The dead letters that could not be redriven, and stay in the list. */
  readonly failed: readonly { readonly from: string; readonly error: unknown }[]
}

/** The most pages of failed tasks that one call reads. */
const MAX_PAGES = 20
const DEFAULT_LIMIT = 50
const REDRIVE_PAGE = 100
const LETTER_KEYS = QUERY_KEYS.filter((key) => key !== 'state')
const REDRIVE_KEYS = ['where', ...LETTER_KEYS.filter((key) => key !== 'pageSize' && key !== 'cursor')]

/**
 * One page of the tasks that have failed for good, latest first, without those that were redriven: their `execute` threw,
 * with a handler's `retry` in its last attempt, or their processes died. Their `failure` says why. Reads failed tasks: a page
 * may have fewer than `pageSize`, and further ones follow.
 *
 * @throws {A2AError} As a rejection: `INVALID_PARAMS` for the query.
 */
export async function deadLetters<S extends string>(
  tasks: Pick<TaskReader<S>, 'lifecycle' | 'pageTasks'> & { readonly documents?: TaskDocuments },
  query: DeadLetterQuery = {},
): Promise<TaskPage<S>> {
  // The next line checks that the lifecycle has the state.
  const state = 'failed' as S
  if (!tasks.lifecycle.states.includes(state)) return { tasks: [] }
  const given = readParams(query, LETTER_KEYS, 'deadLetters')
  const { pageSize: limit = DEFAULT_LIMIT } = given
  const claims = claimsOf(tasks)
  let { cursor } = given
  const found: TaskSnapshot<S>[] = []
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const page = await tasks.pageTasks({ ...given, state, cursor, pageSize: limit - found.length })
    const failed = page.tasks.filter(({ failure }) => failure !== undefined)
    const known = await Promise.all(failed.map(async (task) => await claims?.of(keyOf(task))))
    found.push(...failed.filter((_, index) => known[index]?.isMade !== true))
    cursor = page.nextCursor
    if (cursor === undefined) return { tasks: found }
    if (found.length >= limit) break
  }
  return { tasks: found, ...(cursor !== undefined && { nextCursor: cursor }) }
}

/**
 * Redrives all dead letters that match, one after the other, latest first. One that cannot be redriven stays in the list, and
 * the others are redriven anyway. Those that fail again in the meantime are not redriven again.
 *
 * @throws {TypeError} As a rejection, for a manager that is not of this package.
 * @throws {A2AError} As a rejection: `INVALID_PARAMS` for the query.
 */
export async function redriveAll<S extends string>(
  tasks: LetterTasks<S>,
  query: RedriveQuery<S> = {},
): Promise<RedriveReport> {
  requirePort(tasks, 'redriveAll')
  const { where = () => true, ...given } = readParams(query, REDRIVE_KEYS, 'redriveAll')
  requireFunctions({ where }, ['where'])
  const redriven: Redriven[] = []
  const failed: { readonly from: string; readonly error: unknown }[] = []
  let cursor: string | undefined
  do {
    const page = await deadLetters(tasks, { ...given, pageSize: REDRIVE_PAGE, cursor })
    for (const { id: from } of page.tasks.filter(where)) {
      try {
        redriven.push({ from, taskId: (await redrive(tasks, from)).id })
      } catch (error) {
        failed.push({ from, error })
      }
    }
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return { redriven, failed }
}
