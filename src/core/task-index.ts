/**
 * Tasks by one of their properties, those of equal value in the order of their latest change.
 *
 * Linked lists, because a task moves to the end of its list with every change: a Map or a Set keeps what was deleted
 * from its head until it rehashes, so reading its first element after many moves walks over all of them (114 µs at a
 * million). The links are objects of their own, so that an index that nobody uses costs nothing.
 *
 * @module
 */
import type { TaskRecord } from './task-record.js'

export interface Link<S extends string> {
  readonly record: TaskRecord<S>
  readonly chain: Chain<S>
  previous: Link<S> | undefined
  next: Link<S> | undefined
}

/** The tasks of one value, least recently changed first. */
export interface Chain<S extends string> {
  readonly key: string
  size: number
  first: Link<S> | undefined
  last: Link<S> | undefined
}

export class TaskIndex<S extends string> {
  readonly #chains = new Map<string, Chain<S>>()
  readonly #slot: number
  readonly #keyOf: (record: TaskRecord<S>) => string | undefined

  /** A task whose `keyOf` is undefined is not in the index. `slot` tells this index's links from those of others. */
  constructor(slot: number, keyOf: (record: TaskRecord<S>) => string | undefined) {
    this.#slot = slot
    this.#keyOf = keyOf
  }

  chain(key: string): Chain<S> | undefined {
    return this.#chains.get(key)
  }

  /** Puts the task at the end of the list of its present value. */
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
