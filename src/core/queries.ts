/**
 * Queries over tasks: filters and pages.
 *
 * @module
 */
import { invalidParams } from './errors.js'
import { readParams, requireState, readName, readTimestamp } from './validate.js'
import { describe } from '../runtime/describe.js'
import type { TaskState } from './lifecycle.js'
import type { TaskSnapshot } from './task.js'

/** Selects the tasks of one owner. Without `owner`, the tasks of all owners. */
export interface OwnerFilter {
  /**
   * `null` selects tasks without an owner. An explicit `undefined` is refused, since it would select the tasks of all
   * owners: omit the property instead.
   */
  readonly owner?: string | null
}

/**
 * Requires that an owner can have one more task, whose turn begins at once if `isWorking`. Where it can, nothing has to be
 * awaited, unless tasks are counted in a store.
 *
 * @throws {A2AError} At once or as a rejection: `UNAVAILABLE`; `RATE_LIMITED`.
 */
export type RequireRoom = (owner: OwnerFilter, isWorking: boolean) => Promise<void> | undefined

/** The index key of tasks without an owner. Owners are never empty strings. */
export const NO_OWNER = ''

/** Selects the tasks that match every property. */
export interface TaskFilter<S extends string = TaskState> extends OwnerFilter {
  /** `'cancelled'`, as the task-lifecycle document spells it, is `'canceled'`, unless the lifecycle has both. */
  readonly state?: S | 'cancelled' | undefined
  readonly skill?: string | undefined
  readonly contextId?: string | undefined
  /** Selects tasks that changed at this time or later (ISO 8601). Default is all. */
  readonly updatedSince?: string | undefined
}

/** Parameters of `pageTasks`. A task must match every property. */
export interface TaskQuery<S extends string = TaskState> extends TaskFilter<S> {
  /** The maximum number of tasks in the page, 1 to 1000. Default is `50`. */
  readonly pageSize?: number | undefined
  /** Selects tasks that have not changed since before this time (ISO 8601). Default is all. */
  readonly updatedBefore?: string | undefined
  /** The `nextCursor` of the previous page. Default is the first page. */
  readonly cursor?: string | undefined
}

/** One page of tasks. */
export interface TaskPage<S extends string = TaskState> {
  /** Latest change first. Tasks that changed in the same millisecond are in descending order of their ids. */
  readonly tasks: readonly TaskSnapshot<S>[]
  /** The cursor of the next page. Absent on the last page. */
  readonly nextCursor?: string
}

export const FILTER_KEYS = ['state', 'skill', 'contextId', 'owner'] as const
export type FilterKey = (typeof FILTER_KEYS)[number]

/** A {@link TaskFilter} that was checked. */
export interface Filter {
  readonly equal: readonly (readonly [key: FilterKey, value: string])[]
  /** In the format of task timestamps. */
  readonly updatedSince: string | undefined
}

/** A {@link TaskQuery} that was checked. */
export interface PageQuery {
  readonly filter: Filter
  readonly pageSize: number
  /** In the format of task timestamps. */
  readonly updatedBefore: string | undefined
  readonly cursor: string | undefined
}

const ALL_FILTER_KEYS = [...FILTER_KEYS, 'updatedSince']
export const QUERY_KEYS = [...ALL_FILTER_KEYS, 'pageSize', 'updatedBefore', 'cursor']
const DEFAULT_PAGE_SIZE = 50
const MAX_PAGE_SIZE = 1000

/** Compares only the owner, so that the response time reveals nothing about another owner's task. */
export function isOwnedBy(
  task: Pick<TaskSnapshot<string>, 'owner'>,
  filter: OwnerFilter | undefined,
): boolean {
  if (filter === undefined) return true
  const { owner } = filter
  // The common case needs no copy of the kind that `readParams` makes.
  if (owner !== null && (typeof owner !== 'string' || !owner)) {
    readParams(filter, ['owner'], 'peekTask')
    if (!Object.hasOwn(filter, 'owner')) return true
    readName(owner, 'owner')
  }
  return isSameOwner(owner, task.owner)
}

/** `null` and `undefined` stand for no owner. */
export function isSameOwner(owner: string | null | undefined, other: string | null | undefined): boolean {
  return (owner ?? null) === (other ?? null)
}

export function toFilter(filter: TaskFilter<string>, states: readonly string[], method: string): Filter {
  return pick(readParams(filter, ALL_FILTER_KEYS, method), states)
}

export function toPageQuery(query: TaskQuery<string>, states: readonly string[]): PageQuery {
  const given = readParams(query, QUERY_KEYS, 'pageTasks')
  const { pageSize = DEFAULT_PAGE_SIZE, cursor, updatedBefore, ...filter } = given
  if (!Number.isInteger(pageSize) || pageSize < 1 || pageSize > MAX_PAGE_SIZE) {
    throw invalidParams('pageSize', `must be an integer from 1 to ${MAX_PAGE_SIZE}, got ${String(pageSize)}`)
  }
  if (cursor !== undefined && typeof cursor !== 'string') {
    throw invalidParams('cursor', `must be a string, got ${describe(cursor)}`)
  }
  const before = toTimestamp(updatedBefore, 'updatedBefore')
  return { filter: pick(filter, states), pageSize, updatedBefore: before, cursor }
}

function pick(filter: TaskFilter<string>, states: readonly string[]): Filter {
  const picked: [FilterKey, string][] = []
  const state = spelled(filter.state, states)
  for (const key of FILTER_KEYS) {
    const value = key === 'state' ? state : filter[key]
    if (value === undefined && !(key === 'owner' && Object.hasOwn(filter, 'owner'))) continue
    picked.push([key, key === 'owner' && value === null ? NO_OWNER : readName(value, key)])
  }
  if (state !== undefined) requireState(state, 'state', states)
  return { equal: picked, updatedSince: toTimestamp(filter.updatedSince, 'updatedSince') }
}

/** A lifecycle of your own may have a state of either name. */
function spelled(state: string | undefined, states: readonly string[]): string | undefined {
  const isOther = state === 'cancelled' && !states.includes(state) && states.includes('canceled')
  return isOther ? 'canceled' : state
}

/** In the format of task timestamps, which sorts as text. */
function toTimestamp(value: string | undefined, path: string): string | undefined {
  return value === undefined ? undefined : new Date(readTimestamp(value, path)).toISOString()
}

/** The last task of a page. Tells nothing that the page does not show. */
export interface PagePosition {
  readonly updatedAt: string
  readonly id: string
}

export function toCursor({ updatedAt, id }: PagePosition): string {
  return `${Date.parse(updatedAt).toString(36)}.${encodeURIComponent(id)}`
}

/** @throws {A2AError} `INVALID_PARAMS` for a text that {@link toCursor} did not make. */
export function toPosition(cursor: string): PagePosition {
  const [, ms = '', id = ''] = /^([0-9a-z]{1,12})\.(.+)$/.exec(cursor) ?? []
  try {
    return { updatedAt: new Date(parseInt(ms, 36)).toISOString(), id: decodeURIComponent(id) }
  } catch (cause) {
    throw invalidParams('cursor', 'must be a nextCursor that pageTasks() returned', cause)
  }
}

export function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
