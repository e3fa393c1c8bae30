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
   * `null` is for tasks that have no owner. Refused when it is `undefined`, which would let everybody's tasks through:
   * leave it out.
   */
  readonly owner?: string | null
}

/** The owner of tasks that have none: no owner is called so, since names are not empty. */
export const NO_OWNER = ''

/** Those tasks that have every property given here. */
export interface TaskFilter<S extends string = TaskState> extends OwnerFilter {
  readonly state?: S | undefined
  readonly skill?: string | undefined
  readonly contextId?: string | undefined
}

export interface TaskQuery<S extends string = TaskState> extends TaskFilter<S> {
  /** How many tasks at most, 1 to 1000. Default is `50`. */
  readonly pageSize?: number | undefined
  /** The `nextCursor` of the page before. Default is the first page. */
  readonly cursor?: string | undefined
  /** Only tasks that changed at this time or later (ISO 8601). Default is all. */
  readonly updatedSince?: string | undefined
}

export interface TaskPage<S extends string = TaskState> {
  /** Latest change first. */
  readonly tasks: readonly TaskSnapshot<S>[]
  /** For the page after this one. Absent on the last. */
  readonly nextCursor?: string
}

export const FILTER_KEYS = ['state', 'skill', 'contextId', 'owner'] as const
export type FilterKey = (typeof FILTER_KEYS)[number]

/** A {@link TaskFilter}, checked. */
export type Filter = readonly (readonly [key: FilterKey, value: string])[]

/** A {@link TaskQuery}, checked. */
export interface PageQuery {
  readonly filter: Filter
  readonly pageSize: number
  readonly cursor: string | undefined
  readonly updatedSince: string | undefined
}

const QUERY_KEYS = [...FILTER_KEYS, 'pageSize', 'cursor', 'updatedSince']
const DEFAULT_PAGE_SIZE = 50
const MAX_PAGE_SIZE = 1000

/** Looks at nothing but the owner: how long it takes tells a stranger nothing of the task. */
export function isOwnedBy(task: TaskSnapshot<string>, filter: OwnerFilter | undefined): boolean {
  if (filter === undefined) return true
  const known = task.owner ?? NO_OWNER
  // The common case, without the copy that the careful one takes.
  if (filter.owner === null || (typeof filter.owner === 'string' && filter.owner !== NO_OWNER)) {
    return (filter.owner ?? NO_OWNER) === known
  }
  const { owner } = readParams(filter, ['owner'], 'peekTask')
  if (!Object.hasOwn(filter, 'owner')) return true
  return readOwner(owner) === known
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

function readOwner(owner: unknown): string {
  return owner === null ? NO_OWNER : readName(owner, 'owner')
}

function pick(filter: TaskFilter<string>, states: readonly string[]): Filter {
  const picked: [FilterKey, string][] = []
  for (const key of FILTER_KEYS) {
    const value = filter[key]
    if (value === undefined && !(key === 'owner' && Object.hasOwn(filter, 'owner'))) continue
    picked.push([key, key === 'owner' ? readOwner(value) : readName(value, key)])
  }
  if (filter.state !== undefined) requireState(filter.state, 'state', states)
  return picked
}

/** In the form that tasks have, which sorts as text. */
function toTimestamp(value: string | undefined): string | undefined {
  return value === undefined ? undefined : new Date(readTimestamp(value, 'updatedSince')).toISOString()
}
