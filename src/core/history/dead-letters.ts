/**
 * Dead letters: the tasks that have failed for good, and their redrive.
 *
 * @module
 */
import type { Lifecycle, TaskState } from '../lifecycle.js'
import type { MaybePromise } from '../managers.js'
import { QUERY_KEYS, type TaskPage, type TaskQuery } from '../queries.js'
import type { Task, TaskKey, TaskSnapshot } from '../task.js'
import { requireFunctions } from '../../runtime/options.js'
import { readParams } from '../validate.js'

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

/** What lists and redrives dead letters. */
export interface DeadLetters<S extends string> {
  readonly lifecycle: Lifecycle<S>
  pageTasks(query: TaskQuery<S>): MaybePromise<TaskPage<S>>
  /** The ids of those of these tasks that were redriven. */
  redriven(tasks: readonly TaskKey[]): MaybePromise<ReadonlySet<string>>
  redrive(taskId: string): MaybePromise<Task<S>>
}

/** The most pages of failed tasks that one call reads. */
const MAX_PAGES = 20
const DEFAULT_LIMIT = 50
const REDRIVE_PAGE = 100
const LETTER_KEYS = QUERY_KEYS.filter((key) => key !== 'state')
const REDRIVE_KEYS = ['where', ...LETTER_KEYS.filter((key) => key !== 'pageSize' && key !== 'cursor')]

/** The failed tasks that have a `failure`, and were not redriven. */
export async function deadLettersOf<S extends string>(
  tasks: Pick<DeadLetters<S>, 'lifecycle' | 'pageTasks' | 'redriven'>,
  query: DeadLetterQuery,
): Promise<TaskPage<S>> {
  // The next line checks that the lifecycle has the state.
  const state = 'failed' as S
  if (!tasks.lifecycle.states.includes(state)) return { tasks: [] }
  const given = readParams(query, LETTER_KEYS, 'deadLetters')
  const { pageSize: limit = DEFAULT_LIMIT } = given
  let { cursor } = given
  const found: TaskSnapshot<S>[] = []
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const page = await tasks.pageTasks({ ...given, state, cursor, pageSize: limit - found.length })
    const failed = page.tasks.filter(({ failure }) => failure !== undefined)
    const redriven = await tasks.redriven(failed)
    found.push(...failed.filter(({ id }) => !redriven.has(id)))
    cursor = page.nextCursor
    if (cursor === undefined) return { tasks: found }
    if (found.length >= limit) break
  }
  return { tasks: found, ...(cursor !== undefined && { nextCursor: cursor }) }
}

/** Redrives the dead letters that match, latest first. Those that fail again in the meantime are not redriven again. */
export async function redriveAllOf<S extends string>(
  tasks: DeadLetters<S>,
  query: RedriveQuery<S>,
): Promise<RedriveReport> {
  const { where = () => true, ...given } = readParams(query, REDRIVE_KEYS, 'redriveAll')
  requireFunctions({ where }, ['where'])
  const redriven: Redriven[] = []
  const failed: { readonly from: string; readonly error: unknown }[] = []
  let cursor: string | undefined
  do {
    const page = await deadLettersOf(tasks, { ...given, pageSize: REDRIVE_PAGE, cursor })
    for (const { id: from } of page.tasks.filter(where)) {
      try {
        redriven.push({ from, taskId: (await tasks.redrive(from)).id })
      } catch (error) {
        failed.push({ from, error })
      }
    }
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return { redriven, failed }
}
