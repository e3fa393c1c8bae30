/**
 * Tables of a manager's tasks: by id, in order of creation, and by the properties that queries filter by.
 *
 * @module
 */
import { invalidParams, taskNotFound } from './errors.js'
import { describe } from '../runtime/describe.js'
import type { LocalFeed } from './feed/local-feed.js'
import { latestFirst } from './latest-first.js'
import { Ranking, type Holding, type Unit } from './ranking.js'
import type { Chain, Link, TaskRecord } from './task-record.js'
import { canTransition, isInterrupted, isTerminal, type Lifecycle } from './lifecycle.js'
import {
  byText,
  FILTER_KEYS,
  NO_OWNER,
  toCursor,
  toPosition,
  type Filter,
  type FilterKey,
  type PagePosition,
  type PageQuery,
} from './queries.js'

/** The single key of an index of all tasks: its list is the order of the latest change. */
const ALL = 'all'
/** The tasks that can be removed to make room, by owner: ended ones, and those that wait for the client. */
const REMOVABLE = ['ended', 'waiting'] as const
export type Removable = (typeof REMOVABLE)[number]
type IndexName = FilterKey | typeof ALL | Removable
const SLOTS: readonly IndexName[] = [...FILTER_KEYS, ALL, ...REMOVABLE]

/** A list that contains all matches of a filter, and what else they must have. */
interface Narrowest<S extends string> {
  readonly chain: Chain<S>
  /** Of the list's index. */
  readonly slot: number
  readonly others: Filter['equal']
}

const NOTHING: Holding = { tasks: 0, bytes: 0 }

export class TaskTable<S extends string> {
  readonly #records = new Map<string, TaskRecord<S>>()
  #first: TaskRecord<S> | undefined
  #last: TaskRecord<S> | undefined
  #latestStamp = 0
  /** Each index is built by the first query that needs it, and updated from then on. */
  #indexes = new Map<IndexName, TaskIndex<S>>()
  /** By owner, for those that have tasks. */
  readonly #holdings = new Map<string, { tasks: number; bytes: number }>()
  /** Each ranking is built when room is first needed, and updated from then on. */
  #rankings = new Map<string, { readonly kind: Removable; readonly ranking: Ranking<S> }>()
  #bytes = 0
  readonly #lifecycle: Lifecycle<S>
  readonly #feed: LocalFeed<S> | undefined

  constructor(lifecycle: Lifecycle<S>, feed?: LocalFeed<S>) {
    this.#lifecycle = lifecycle
    this.#feed = feed
  }

  get size(): number {
    return this.#records.size
  }

  /** The estimated bytes of heap that all tasks take. */
  get bytes(): number {
    return this.#bytes
  }

  /** What the owner's tasks take. */
  holdingOf(owner: string | undefined): Holding {
    return this.#holdings.get(owner ?? NO_OWNER) ?? NOTHING
  }

  /** The oldest task. */
  get first(): TaskRecord<S> | undefined {
    return this.#first
  }

  get(id: string): TaskRecord<S> | undefined {
    return this.#records.get(id)
  }

  /** @throws {A2AError} `TASK_NOT_FOUND`; `INVALID_PARAMS` for an id that is not a string. */
  recordOf(id: string): TaskRecord<S> {
    const record = this.#records.get(id)
    if (record !== undefined) return record
    if (typeof id === 'string') throw taskNotFound(id)
    throw invalidParams('taskId', `must be a string, got ${describe(id)}`)
  }

  /** In order of creation. */
  *[Symbol.iterator](): IterableIterator<TaskRecord<S>> {
    for (let record = this.#first; record !== undefined; record = record.next) yield record
  }

  insert(record: TaskRecord<S>): void {
    this.#records.set(record.head.id, record)
    this.#link(record)
    this.#hold(record, 1, record.cost)
    this.touch(record, 0, record.head.generation)
  }

  /** Sorts restored tasks among the others, by age and by latest change. O(n log n). */
  restore(records: readonly TaskRecord<S>[]): void {
    for (const record of records) {
      this.#records.set(record.head.id, record)
      this.#hold(record, 1, record.cost)
    }
    const all = [...this, ...records]
    this.#first = this.#last = undefined
    for (const record of all.toSorted((a, b) => a.created.ms - b.created.ms)) this.#link(record)
    // Equal times leave the order as it is: of the stamps, with restored tasks before others.
    for (const record of records) record.stamp = 0
    const byStamp = all.toSorted((a, b) => a.stamp - b.stamp)
    this.#latestStamp = 0
    for (const record of byStamp.sort((a, b) => byText(a.head.updatedAt, b.head.updatedAt))) {
      record.stamp = ++this.#latestStamp
    }
    for (const record of all) record.links = undefined
    this.#indexes = new Map()
    this.#rankings = new Map()
  }

  remove(record: TaskRecord<S>): void {
    this.#records.delete(record.head.id)
    const { previous, next } = record
    if (previous === undefined) this.#first = next
    else previous.next = next
    if (next === undefined) this.#last = previous
    else next.previous = previous
    record.previous = record.next = undefined
    for (const index of this.#indexes.values()) index.remove(record)
    this.#hold(record, -1, -record.cost)
    this.#rank(record)
    this.#feed?.remove(record)
  }

  clear(): void {
    // Unlink records: one that a subscriber retains must not retain all others.
    for (const record of this.#records.values()) record.previous = record.next = record.links = undefined
    this.#records.clear()
    this.#first = this.#last = undefined
    this.#indexes = new Map()
    this.#rankings = new Map()
    this.#holdings.clear()
    this.#bytes = 0
    this.#feed?.close()
  }

  /** Called after the task has changed by `events` events. Its cost has grown by `growth`. */
  touch(record: TaskRecord<S>, growth: number, events: number): void {
    record.stamp = ++this.#latestStamp
    this.#feed?.add(record, events)
    if (growth !== 0) this.#hold(record, 0, growth)
    if (this.#indexes.size > 0) for (const index of this.#indexes.values()) index.touch(record)
    this.#rank(record)
  }

  /**
   * Of the owners that have tasks of this kind, the one that holds most, and of its tasks the one that has not changed for the
   * longest time. O(log n), but for the first call.
   */
  firstOf(kind: Removable, unit: Unit): TaskRecord<S> | undefined {
    const name = `${kind} ${unit}`
    const known = this.#rankings.get(name)
    if (known !== undefined) return known.ranking.first
    const ranking = new Ranking<S>(unit)
    const index = this.#index(kind)
    for (const [owner, holding] of this.#holdings) ranking.update(owner, holding, index.chain(owner))
    this.#rankings.set(name, { kind, ranking })
    return ranking.first
  }

  /**
   * The owner's task of this kind that has not changed for the longest time, `except` excluded. O(1), but for the first call.
   */
  oldestOf(
    kind: Removable,
    owner: string | undefined,
    except: TaskRecord<S> | undefined,
  ): TaskRecord<S> | undefined {
    const first = this.#index(kind).chain(owner ?? NO_OWNER)?.first
    return (first?.record === except ? first?.next : first)?.record
  }

  /** All matching tasks, oldest first, and by id where they are of the same millisecond. */
  select(filter: Filter): TaskRecord<S>[] {
    if (filter.equal.length === 0 && filter.updatedSince === undefined) return [...this].sort(byAge)
    const chain = this.#narrowest(filter)?.chain
    if (chain === undefined) return []
    const isHit = (record: TaskRecord<S>): boolean =>
      !isTooOld(record, filter) && matches(record, filter.equal)
    // Sorting k matches costs k log k. Beyond an eighth of all tasks, filtering the ordered list costs less.
    if (chain.size > this.size / 8) return [...this].filter(isHit).sort(byAge)
    const hits: TaskRecord<S>[] = []
    for (let link = chain.first; link !== undefined; link = link.next) {
      if (isHit(link.record)) hits.push(link.record)
    }
    return hits.sort(byAge)
  }

  count(filter: Filter): number {
    const { equal, updatedSince } = filter
    if (equal.length === 0 && updatedSince === undefined) return this.size
    const { chain, others } = this.#narrowest(filter) ?? {}
    if (chain === undefined || others === undefined) return 0
    if (equal.length === 1 && updatedSince === undefined) return chain.size
    let count = 0
    for (let link = chain.last; link !== undefined; link = link.previous) {
      if (isTooOld(link.record, filter)) break
      if (matches(link.record, others)) count += 1
    }
    return count
  }

  /**
   * Matching tasks, latest change first, and by descending id where they changed in the same millisecond. Costs O(page, the
   * tasks that the other properties exclude, and the tasks of the milliseconds at both ends of the page).
   */
  page({ filter, pageSize, updatedBefore, cursor }: PageQuery): {
    records: TaskRecord<S>[]
    nextCursor?: string
  } {
    const position = cursor === undefined ? undefined : toPosition(cursor)
    const narrowest = this.#narrowest(filter)
    const records: TaskRecord<S>[] = []
    if (narrowest === undefined) return { records }
    const { chain, slot, others } = narrowest
    let isAfterCursor = position === undefined
    const start = position === undefined ? chain.last : this.#lastBy(position, chain, slot)
    for (const record of latestFirst(chain, start)) {
      // The tasks that follow one after the position are after it too.
      isAfterCursor ||= position === undefined || isAfter(record, position)
      if (!isAfterCursor) continue
      if (isTooOld(record, filter)) break
      if (!matches(record, others)) continue
      if (updatedBefore !== undefined && record.head.updatedAt >= updatedBefore) continue
      const last = records.at(-1)
      if (last !== undefined && records.length === pageSize)
        return { records, nextCursor: toCursor(last.head) }
      records.push(record)
    }
    return { records }
  }

  #hold({ head: task }: TaskRecord<S>, tasks: number, bytes: number): void {
    this.#bytes += bytes
    const owner = task.owner ?? NO_OWNER
    const holding = this.#holdings.get(owner)
    if (holding === undefined) {
      this.#holdings.set(owner, { tasks, bytes })
      return
    }
    holding.tasks += tasks
    holding.bytes += bytes
  }

  /** Called after a task of the owner was added, changed or removed. */
  #rank({ head: task }: TaskRecord<S>): void {
    const owner = task.owner ?? NO_OWNER
    if (this.#rankings.size > 0) {
      const holding = this.holdingOf(owner)
      for (const { kind, ranking } of this.#rankings.values()) {
        ranking.update(owner, holding, this.#index(kind).chain(owner))
      }
    }
    if (this.#holdings.get(owner)?.tasks === 0) this.#holdings.delete(owner)
  }

  #link(record: TaskRecord<S>): void {
    record.previous = this.#last
    record.next = undefined
    if (this.#last === undefined) this.#first = record
    else this.#last.next = record
    this.#last = record
  }

  /** The shortest list that contains all matches; `undefined` if there is no match. */
  #narrowest({ equal }: Filter): Narrowest<S> | undefined {
    const lists = equal.length === 0 ? ([[ALL, ALL]] as const) : equal
    let best: { chain: Chain<S>; name: IndexName } | undefined
    for (const [name, value] of lists) {
      const chain = this.#index(name).chain(value)
      if (chain === undefined) return undefined
      if (best === undefined || chain.size < best.chain.size) best = { chain, name }
    }
    if (best === undefined) return undefined
    const { chain, name } = best
    return { chain, slot: SLOTS.indexOf(name), others: equal.filter(([key]) => key !== name) }
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
    const lifecycle = this.#lifecycle
    const ownerIf = (isKind: (state: S) => boolean) => (record: TaskRecord<S>) =>
      isKind(record.head.state) ? (record.head.owner ?? NO_OWNER) : undefined
    if (name === 'ended') return ownerIf((state) => isTerminal(state, lifecycle))
    if (name === 'waiting') {
      return ownerIf(
        (state) => isInterrupted(state, lifecycle) && canTransition<string>(state, 'canceled', lifecycle),
      )
    }
    return ({ head }) => head[name] ?? NO_OWNER
  }

  /** The latest link that changed at the time of the position or before. */
  #lastBy({ id, updatedAt }: PagePosition, chain: Chain<S>, slot: number): Link<S> | undefined {
    const record = this.#records.get(id)
    const known = record?.links?.[slot]
    if (known?.chain === chain && known.updatedAt === updatedAt) {
      let link = known
      while (link.next?.updatedAt === updatedAt) link = link.next
      return link
    }
    // The task has changed since and moved to the front, or was removed.
    let link = chain.last
    while (link !== undefined && link.updatedAt > updatedAt) link = link.previous
    return link
  }
}

function isAfter({ head: task }: TaskRecord<string>, { updatedAt, id }: PagePosition): boolean {
  return task.updatedAt < updatedAt || (task.updatedAt === updatedAt && task.id < id)
}

function matches({ head }: TaskRecord<string>, equal: Filter['equal']): boolean {
  return equal.every(([key, value]) => (head[key] ?? NO_OWNER) === value)
}

function isTooOld({ head: task }: TaskRecord<string>, { updatedSince }: Filter): boolean {
  return updatedSince !== undefined && task.updatedAt < updatedSince
}

function byAge(a: TaskRecord<string>, b: TaskRecord<string>): number {
  return a.created.ms - b.created.ms || byText(a.head.id, b.head.id)
}

/**
 * Index of tasks by one property. Tasks of equal value are in the order of their latest change.
 *
 * The lists are linked lists, because a task moves to the end of its list with every change. A Map or a Set keeps
 * deleted entries at its head until it rehashes, so reading its first element after many moves passes all of them (114
 * µs for a million). Links are separate objects, so that an unused index costs nothing.
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
      chain = { key, size: 0, first: undefined, last: undefined, sorted: undefined }
      this.#chains.set(key, chain)
    }
    const { updatedAt } = record.head
    const link: Link<S> = { record, chain, updatedAt, previous: chain.last, next: undefined }
    if (chain.last === undefined) chain.first = link
    else chain.last.next = link
    chain.last = link
    chain.sorted = undefined
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
    chain.sorted = undefined
    chain.size -= 1
    if (chain.size === 0) this.#chains.delete(chain.key)
  }
}
