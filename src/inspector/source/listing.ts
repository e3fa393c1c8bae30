/**
 * Pages of the list, and the tasks that contain a text.
 *
 * @module
 */
import type { Scope } from '../access.js'
import { searchedIn, summaryOf, type Summary } from '../summary.js'
import type { SourceQuery, TaskSource } from './source.js'

export interface ListQuery extends SourceQuery {
  /** Selects tasks whose ids, names or texts contain it, whatever the case. */
  readonly text?: string | undefined
  readonly pageSize: number
  readonly cursor?: string | undefined
}

export interface ListPage {
  readonly tasks: readonly Summary[]
  /** Continues the list. With a text, a page may be empty and yet have one. */
  readonly nextCursor?: string
}

/** The most pages of the source that one page of the list reads. */
const MAX_READS = 10
/** The size of the pages that are searched for a text. */
const SEARCHED_PAGE = 200

export async function listTasks(
  page: TaskSource['page'],
  scope: Scope,
  { text, pageSize, cursor, ...filter }: ListQuery,
): Promise<ListPage> {
  const needle = text?.toLowerCase() ?? ''
  const size = needle === '' ? pageSize : SEARCHED_PAGE
  const found: Summary[] = []
  let next = cursor
  for (let reads = 0; reads < MAX_READS && found.length < pageSize; reads += 1) {
    const { tasks, nextCursor } = await page(scope, filter, size, next)
    found.push(...tasks.map(summaryOf).filter((task) => searchedIn(task).includes(needle)))
    next = nextCursor
    if (next === undefined) return { tasks: found }
  }
  return { tasks: found, ...(next !== undefined && { nextCursor: next }) }
}
