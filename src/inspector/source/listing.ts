/**
 * Pages of the list: failures first, and tasks that contain a text.
 *
 * @module
 */
import { invalidParams } from '../../core/errors.js'
import type { Scope } from '../access.js'
import { summaryOf, type Summary } from '../summary.js'
import type { SourceQuery, TaskSource } from './source.js'

export interface ListQuery extends SourceQuery {
  /** Selects tasks whose ids, names or texts contain it, whatever the case. */
  readonly text?: string | undefined
  readonly hasFailuresFirst: boolean
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
const FAILED = 'failed'

/** The part of the list that is being read: `all` of it, or first the failures (`failed`), then the `rest`. */
type Part = 'all' | 'failed' | 'rest'

interface Position {
  readonly part: Part
  /** The cursor of the source in this part. */
  readonly inner: string | undefined
}

export async function listTasks(source: TaskSource, scope: Scope, query: ListQuery): Promise<ListPage> {
  const { text, hasFailuresFirst, pageSize, cursor, ...filter } = query
  const isSplit = hasFailuresFirst && filter.state === undefined && source.lifecycle.states.includes(FAILED)
  let position: Position | undefined = readCursor(cursor, isSplit)
  const needle = text?.toLowerCase()
  const found: Summary[] = []
  for (let reads = 0; reads < MAX_READS && found.length < pageSize; reads += 1) {
    const { part, inner }: Position = position
    const size = needle === undefined ? pageSize : SEARCHED_PAGE
    const wanted = part === FAILED ? { ...filter, state: FAILED } : filter
    const page = await source.page(scope, wanted, size, inner)
    for (const task of page.tasks) {
      if (part === 'rest' && task.state === FAILED) continue
      const summary = summaryOf(task)
      if (needle === undefined || contains(summary, needle)) found.push(summary)
    }
    position = positionAfter(part, page.nextCursor)
    if (position === undefined) return { tasks: found }
  }
  return { tasks: found, nextCursor: `${position.part}.${position.inner ?? ''}` }
}

/** Where the list continues; `undefined` at its end. */
function positionAfter(part: Part, inner: string | undefined): Position | undefined {
  if (inner !== undefined) return { part, inner }
  return part === FAILED ? { part: 'rest', inner } : undefined
}

function readCursor(cursor: string | undefined, isSplit: boolean): Position {
  if (cursor === undefined) return { part: isSplit ? FAILED : 'all', inner: undefined }
  const [, part, inner] = /^(all|failed|rest)\.(.*)$/.exec(cursor) ?? []
  if (part === undefined || (part === 'all') === isSplit) {
    throw invalidParams('cursor', 'must be a nextCursor of this list')
  }
  // The line before checks it.
  return { part: part as Part, inner: inner === '' ? undefined : inner }
}

function contains({ id, contextId, skill, owner = '', title, note }: Summary, needle: string): boolean {
  return [id, contextId, skill, owner, title, note].some((field) => field.toLowerCase().includes(needle))
}
