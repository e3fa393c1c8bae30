/**
 * Tables of a manager's tasks: by id, in order of creation, and by the properties that queries filter by.
 *
 * @module
 */
import type { Chain, Link, TaskRecord } from './task-record.js'
import { invalidParams } from './errors.js'
import { FILTER_KEYS, NO_OWNER, type Filter, type FilterKey, type PageQuery } from './queries.js'

/** The single key of an index of all tasks: its list is the order of the latest change. */
const ALL = 'all'
const TERMINAL = 'terminal'
type IndexName = FilterKey | typeof ALL | typeof TERMINAL
const SLOTS: readonly IndexName[] = [...FILTER_KEYS, ALL, TERMINAL]

export class TaskTable<S extends string> {
  readonly #records = new Map<string, TaskRecord<S>>()
  #first: TaskRecord<S> | undefined
  #last: TaskRecord<S> | undefined
  #latestPosition = 0
  #latestStamp = 0
  #earliestStamp = 0
  /** Whether the order of stamps is the order of `updatedAt`. Restored tasks can have changed after others. */
  #isOrdered = true
  /** Each index is built by the first query that needs it, and updated from then on. */
  #indexes = new Map<IndexName, TaskIndex<S>>()
  readonly #isTerminal: (state: S) => boolean

  constructor(isTerminal: (state: S) => boolean) {
    this.#isTerminal = isTerminal
  }

  get size(): number {
    return this.#records.size
  }

  /** The oldest task. */
  get first(): TaskRecord<S> | undefined {
    return this.#first
  }

  get(id: string): TaskRecord<S> | undefined {
    return this.#records.get(id)
  }

  /** In order of creation. */
  *[Symbol.iterator](): IterableIterator<TaskRecord<S>> {
    for (let record = this.#first; record !== undefined; record = record.next) yield record
  }

  insert(record: TaskRecord<S>): void {
    this.#records.set(record.task.id, record)
    this.#link(record)
    this.touch(record)
  }

  /**
   * Sorts restored tasks among the others by age, and behind them by latest change. O(n log n): sorts all tasks by age.
   */
  restore(records: readonly TaskRecord<S>[]): void {
    for (const record of records) this.#records.set(record.task.id, record)
    const all = [...this, ...records]
    this.#first = this.#last = undefined
    for (const record of all.toSorted((a, b) => a.created.ms - b.created.ms)) this.#link(record)
    // Cursors contain stamps, so present tasks keep theirs, and restored ones receive lower ones.
    const latestFirst = records.toSorted((a, b) => byTime(b.task.updatedAt, a.task.updatedAt))
    for (const record of latestFirst) record.stamp = --this.#earliestStamp
    this.#isOrdered &&= records.length === 0
    for (const record of all) record.links = undefined
    this.#indexes = new Map()
  }

  remove(record: TaskRecord<S>): void {
    this.#records.delete(record.task.id)
    const { previous, next } = record
    if (previous === undefined) this.#first = next
    else previous.next = next
    if (next === undefined) this.#last = previous
    else next.previous = previous
    record.previous = record.next = undefined
    for (const index of this.#indexes.values()) index.remove(record)
  }

  clear(): void {
    // Unlink records: one that a subscriber retains must not retain all others.
    for (const record of this.#records.values()) record.previous = record.next = record.links = undefined
    this.#records.clear()
    this.#first = this.#last = undefined
    this.#indexes = new Map()
  }

  /** Called after the task has changed. */
  touch(record: TaskRecord<S>): void {
    record.stamp = ++this.#latestStamp
    if (this.#indexes.size > 0) for (const index of this.#indexes.values()) index.touch(record)
  }

  /** The task that ended first. */
  firstEnded(): TaskRecord<S> | undefined {
    return this.#index(TERMINAL).chain(TERMINAL)?.first?.record
  }

  /** All matching tasks, in order of creation. */
  select(filter: Filter): TaskRecord<S>[] {
    if (filter.length === 0) return [...this]
    const chain = this.#narrowest(filter)?.chain
    if (chain === undefined) return []
    // Sorting k matches costs k log k. Beyond an eighth of all tasks, filtering the ordered list costs less.
    if (chain.size > this.size / 8) return [...this].filter((record) => matches(record, filter))
    const hits: TaskRecord<S>[] = []
    for (let link = chain.first; link !== undefined; link = link.next) {
      if (matches(link.record, filter)) hits.push(link.record)
    }
    return hits.sort((a, b) => a.position - b.position)
  }

  count(filter: Filter): number {
    if (filter.length === 0) return this.size
    const chain = this.#narrowest(filter)?.chain
    if (chain === undefined || filter.length === 1) return chain?.size ?? 0
    let count = 0
    for (let link = chain.first; link !== undefined; link = link.next) {
      if (matches(link.record, filter)) count += 1
    }
    return count
  }

  /** Matching tasks, latest change first. Costs O(page and the tasks that the other properties exclude). */
  page({ filter, pageSize, cursor, updatedSince }: PageQuery): {
    records: TaskRecord<S>[]
    nextCursor?: string
  } {
    const position = cursor === undefined ? undefined : toPosition(cursor)
    const narrowest = this.#narrowest(filter)
    const records: TaskRecord<S>[] = []
    if (narrowest === undefined) return { records }
    const { chain, slot } = narrowest
    let link = position === undefined ? chain.last : this.#after(position, chain, slot)
    for (; link !== undefined; link = link.previous) {
      const { record } = link
      const isTooOld = updatedSince !== undefined && record.task.updatedAt < updatedSince
      if (isTooOld && this.#isOrdered) break
      if (isTooOld || !matches(record, filter)) continue
      const last = records.at(-1)
      if (last !== undefined && records.length === pageSize) return { records, nextCursor: toCursor(last) }
      records.push(record)
    }
    return { records }
  }

  #link(record: TaskRecord<S>): void {
    record.position = ++this.#latestPosition
    record.previous = this.#last
    record.next = undefined
    if (this.#last === undefined) this.#first = record
    else this.#last.next = record
    this.#last = record
  }

  /** The shortest list that contains all matches; `undefined` if there is no match. */
  #narrowest(filter: Filter): { chain: Chain<S>; slot: number } | undefined {
    const lists = filter.length === 0 ? ([[ALL, ALL]] as const) : filter
    let best: { chain: Chain<S>; slot: number } | undefined
    for (const [name, value] of lists) {
      const chain = this.#index(name).chain(value)
      if (chain === undefined) return undefined
      if (best === undefined || chain.size < best.chain.size) best = { chain, slot: SLOTS.indexOf(name) }
    }
    return best
  }

  #index(name: IndexName): TaskIndex<S> {
    const present = this.#indexes.get(name)
    if (present !== undefined) return present
    const index = new TaskIndex<S>(SLOTS.indexOf(name), this.#keyOf(name))
    for (const record of [...this].sort((a, b) => a.stamp - b.stamp)) index.touch(record)
    this.#indexes.set(name, index)
    return index
  }

  #keyOf(name: IndexName): (record: TaskRecord<S>) => string | undefined {
    if (name === ALL) return () => ALL
    if (name === TERMINAL) return ({ task }) => (this.#isTerminal(task.state) ? TERMINAL : undefined)
    return ({ task }) => task[name] ?? NO_OWNER
  }

  /** The link after the last task of the previous page, at the position that the task had then. */
  #after({ stamp, id }: PagePosition, chain: Chain<S>, slot: number): Link<S> | undefined {
    const record = this.#records.get(id)
    const known = record?.links?.[slot]
    if (known?.chain === chain && record?.stamp === stamp) return known.previous
    // The task has changed since and moved to the front, or was removed.
    let link = chain.last
    while (link !== undefined && link.record.stamp >= stamp) link = link.previous
    return link
  }
}

/** The content of a cursor. */
interface PagePosition {
  readonly stamp: number
  readonly id: string
}

const CURSOR = /^(-?[0-9a-z]{1,11})\.(.+)$/s

function toPosition(cursor: string): PagePosition {
  const [, digits = '', id = ''] = CURSOR.exec(cursor) ?? []
  const stamp = Number.parseInt(digits, 36)
  if (Number.isSafeInteger(stamp)) return { stamp, id }
  throw invalidParams('cursor', 'must be a nextCursor that pageTasks() gave')
}

function toCursor(record: TaskRecord<string>): string {
  return `${record.stamp.toString(36)}.${record.task.id}`
}

function matches({ task }: TaskRecord<string>, filter: Filter): boolean {
  return filter.every(([key, value]) => (task[key] ?? NO_OWNER) === value)
}

function byTime(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/**
 * Index of tasks by one property. Tasks of equal value are in the order of their latest change.
 *
 * The lists are linked lists, because a task moves to the end of its list with every change. A Map or a Set keeps
 * deleted entries at its head until it rehashes, so reading its first element after many moves passes all of them (114
 * µs for a million). Links are objects of their own, so that an unused index costs nothing.
 */
class TaskIndex<S extends string> {
  readonly #chains = new Map<string, Chain<S>>()
  readonly #slot: number
  readonly #keyOf: (record: TaskRecord<S>) => string | undefined

  /**
   * @param slot The position of this index's links in `record.links`.
   * @param keyOf Returns `undefined` for tasks that the index excludes.
   */
  constructor(slot: number, keyOf: (record: TaskRecord<S>) => string | undefined) {
    this.#slot = slot
    this.#keyOf = keyOf
  }

  chain(key: string): Chain<S> | undefined {
    return this.#chains.get(key)
  }

  /** Moves the task to the end of the list of its current value. */
  touch(record: TaskRecord<S>): void {
    this.remove(record)
    const key = this.#keyOf(record)
    if (key === undefined) return
    let chain = this.#chains.get(key)
    if (chain === undefined) {
      chain = { key, size: 0, first: undefined, last: undefined }
      this.#chains.set(key, chain)
    }
    const link: Link<S> = { record, chain, previous: chain.last, next: undefined }
    if (chain.last === undefined) chain.first = link
    else chain.last.next = link
    chain.last = link
    chain.size += 1
    record.links ??= []
    record.links[this.#slot] = link
  }

  remove(record: TaskRecord<S>): void {
    const link = record.links?.[this.#slot]
    if (record.links === undefined || link === undefined) return
    record.links[this.#slot] = undefined
    const { chain, previous, next } = link
    if (previous === undefined) chain.first = next
    else previous.next = next
    if (next === undefined) chain.last = previous
    else next.previous = previous
    chain.size -= 1
    if (chain.size === 0) this.#chains.delete(chain.key)
  }
}
