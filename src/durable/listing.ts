/**
 * Queries that read from the store: pages, lists, counts and logs.
 *
 * @module
 */
import type { TaskEvent } from '../core/events.js'
import type { Backlog } from '../core/managers.js'
import { freezeDeep } from '../core/json.js'
import {
  byText,
  toCursor,
  toFilter,
  toPageQuery,
  toPosition,
  NO_OWNER,
  type Filter,
  type TaskFilter,
  type TaskPage,
  type TaskQuery,
} from '../core/queries.js'
import type { TaskSnapshot, TaskKey } from '../core/task.js'
import type { DurableSettings } from './options.js'
import type { StoreClient } from './store-client.js'
import { unfold } from './cache/checkpoint.js'
import type { LeaseCounts, StoreFilter, StoreQuery } from './task-store.js'
import { fromStored } from './stored-events.js'

const PAGE = 500
/** The most leases of a kind that are counted. */
const MAX_COUNTED = 10_000
/** Bounds the passes when tasks are created faster than they can be read. */
const MAX_PASSES = 10

export class Listing<S extends string> {
  readonly #settings: DurableSettings<S>
  readonly #storeClient: StoreClient

  constructor(settings: DurableSettings<S>, storeClient: StoreClient) {
    this.#settings = settings
    this.#storeClient = storeClient
  }

  /** @throws {TypeError} As a rejection, over a store that cannot count leases. */
  async backlog(): Promise<Backlog> {
    const { store } = this.#settings
    if (store.leaseCounts === undefined)
      throw new TypeError('backlog() needs a store with the method "leaseCounts": this one has none')
    const read = async (): Promise<LeaseCounts | undefined> => await store.leaseCounts?.(MAX_COUNTED)
    const {
      expired = 0,
      oldestMs = 0,
      held = 0,
    } = (await this.#storeClient.callForUser('leaseCounts', read)) ?? {}
    return { waiting: expired, oldestMs, busy: held }
  }

  async page(query: TaskQuery<S>): Promise<TaskPage<S>> {
    const { filter, pageSize, cursor, updatedBefore } = toPageQuery(query, this.#settings.lifecycle.states)
    // No task has this id. Cursors are behind this position.
    const before = updatedBefore === undefined ? undefined : { updatedAt: updatedBefore, id: '' }
    const after = cursor === undefined ? before : toPosition(cursor)
    // One task more than requested shows whether there is a next page.
    const found = await this.#list({ ...toStoreFilter(filter), after, limit: pageSize + 1 })
    const page = found.slice(0, pageSize)
    const last = page.at(-1)
    const tasks = before === undefined ? page : page.filter(({ updatedAt }) => updatedAt < before.updatedAt)
    return found.length > pageSize && last !== undefined ? { tasks, nextCursor: toCursor(last) } : { tasks }
  }

  /** All matching tasks, oldest first. */
  async all(filter: TaskFilter<S>, method: string): Promise<TaskSnapshot<S>[]> {
    const given = toStoreFilter(toFilter(filter, this.#settings.lifecycle.states, method))
    const tasks = new Map<string, TaskSnapshot<S>>()
    const query: StoreQuery = { ...given, limit: PAGE }
    // A task that changes moves to the pages that were read already: passes are repeated until one finds nothing new.
    for (let pass = 0, known = -1; known < tasks.size && pass < MAX_PASSES; pass += 1) {
      known = tasks.size
      const first = await this.#list(query)
      for (let page = first; ; page = await this.#list({ ...query, after: page.at(-1) })) {
        for (const task of page) tasks.set(task.id, task)
        if (page.length < PAGE) break
      }
      // A single page is consistent.
      if (first.length < PAGE) break
    }
    return [...tasks.values()].sort((a, b) => byText(a.createdAt, b.createdAt) || byText(a.id, b.id))
  }

  async count(filter: TaskFilter<S>, method: string): Promise<number> {
    const given = toStoreFilter(toFilter(filter, this.#settings.lifecycle.states, method))
    return await this.#storeClient.callForUser('count', () => this.#settings.store.count(given))
  }

  async events(key: TaskKey, after: number, limit: number): Promise<readonly TaskEvent<S>[]> {
    const { store } = this.#settings
    const events = await this.#storeClient.callForUser('events', () => store.events(key, after, limit))
    // A manager of this lifecycle wrote the events.
    return events.map((event) => freezeDeep(fromStored(event) as TaskEvent<S>))
  }

  async #list(query: StoreQuery): Promise<TaskSnapshot<S>[]> {
    const { store, lifecycle } = this.#settings
    const found = await this.#storeClient.callForUser('list', () => store.list(query))
    return found.map((stored) => freezeDeep(unfold(stored, lifecycle)))
  }
}

function toStoreFilter({ equal, updatedSince }: Filter): StoreFilter {
  const given: Record<string, string | null> = {}
  for (const [key, value] of equal) given[key] = key === 'owner' && value === NO_OWNER ? null : value
  return { ...given, updatedSince }
}
