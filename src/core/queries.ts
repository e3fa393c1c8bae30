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

export interface OwnerFilter {
  /**
   * `null` selects tasks without an owner. An explicit `undefined` is refused, since it would select the tasks of all
   * owners: omit the property instead.
   */
  readonly owner?: string | null
}

/** The index key of tasks without an owner. Owners are never empty strings. */
export const NO_OWNER = ''

/** Selects the tasks that match every property. */
export interface TaskFilter<S extends string = TaskState> extends OwnerFilter {
  readonly state?: S | undefined
  readonly skill?: string | undefined
  readonly contextId?: string | undefined
}

export interface TaskQuery<S extends string = TaskState> extends TaskFilter<S> {
  /** The maximum number of tasks in the page, 1 to 1000. Default is `50`. */
  readonly pageSize?: number | undefined
  /** The `nextCursor` of the previous page. Default is the first page. */
  readonly cursor?: string | undefined
  /** Selects tasks that changed at this time or later (ISO 8601). Default is all. */
  readonly updatedSince?: string | undefined
}

export interface TaskPage<S extends string = TaskState> {
  /** Latest change first. */
  readonly tasks: readonly TaskSnapshot<S>[]
  /** The cursor of the next page. Absent on the last page. */
  readonly nextCursor?: string
}

export const FILTER_KEYS = ['state', 'skill', 'contextId', 'owner'] as const
export type FilterKey = (typeof FILTER_KEYS)[number]

/** A {@link TaskFilter} that was checked. */
export type Filter = readonly (readonly [key: FilterKey, value: string])[]

/** A {@link TaskQuery} that was checked. */
export interface PageQuery {
  readonly filter: Filter
  readonly pageSize: number
  readonly cursor: string | undefined
  readonly updatedSince: string | undefined
}

const QUERY_KEYS = [...FILTER_KEYS, 'pageSize', 'cursor', 'updatedSince']
const DEFAULT_PAGE_SIZE = 50
const MAX_PAGE_SIZE = 1000

/** Compares only the owner, so that the response time reveals nothing about another owner's task. */
export function isOwnedBy(task: TaskSnapshot<string>, filter: OwnerFilter | undefined): boolean {
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
  return pick(readParams(filter, FILTER_KEYS, method), states)
}

export function toPageQuery(query: TaskQuery<string>, states: readonly string[]): PageQuery {
  const {
    pageSize = DEFAULT_PAGE_SIZE,
    cursor,
    updatedSince,
    ...filter
  } = readParams(query, QUERY_KEYS, 'pageTasks')
  if (!Number.isInteger(pageSize) || pageSize < 1 || pageSize > MAX_PAGE_SIZE) {
    throw invalidParams('pageSize', `must be an integer from 1 to ${MAX_PAGE_SIZE}, got ${String(pageSize)}`)
  }
  if (cursor !== undefined && typeof cursor !== 'string') {
    throw invalidParams('cursor', `must be a string, got ${describe(cursor)}`)
  }
  return { filter: pick(filter, states), pageSize, cursor, updatedSince: toTimestamp(updatedSince) }
}

function pick(filter: TaskFilter<string>, states: readonly string[]): Filter {
  const picked: [FilterKey, string][] = []
  for (const key of FILTER_KEYS) {
    const value = filter[key]
    if (value === undefined && !(key === 'owner' && Object.hasOwn(filter, 'owner'))) continue
    picked.push([key, key === 'owner' && value === null ? NO_OWNER : readName(value, key)])
  }
  if (filter.state !== undefined) requireState(filter.state, 'state', states)
  return picked
}

/** In the format of task timestamps, which sorts as text. */
function toTimestamp(value: string | undefined): string | undefined {
  return value === undefined ? undefined : new Date(readTimestamp(value, 'updatedSince')).toISOString()
}
