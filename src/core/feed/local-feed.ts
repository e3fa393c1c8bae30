/**
 * Feed of the tasks in the memory of this process.
 *
 * @module
 */
import type { TaskEvent } from '../events.js'
import { freezeDeep } from '../json.js'
import type { Settings } from '../options.js'
import type { TaskRecord } from '../task-record.js'
import type { FeedPage, FeedSource, FeedTask } from './types.js'

/** The most entries in a page. */
const PAGE = 100

/** Where the entries of a task find it. Empty once the task was removed. */
interface Place<S extends string> {
  record: TaskRecord<S> | undefined
}

interface Entry<S extends string> {
  readonly place: Place<S>
  /** That of the event; 0 when the task was removed. */
  readonly generation: number
  /** The removed task. */
  readonly task?: FeedTask
}

/** Keeps the order of the events. The events themselves are in the logs of the tasks. */
export class LocalFeed<S extends string> implements FeedSource<S> {
  isClosed = false
  readonly #settings: Settings<S>
  /** Between one and two times `feedSize` of them: dropping entries costs O(1) each. */
  readonly #entries: Entry<S>[] = []
  /** The position before the first entry. Cursors of an earlier process are before it, and so not known. */
  #start: number
  readonly #places = new Map<TaskRecord<S>, Place<S>>()
  readonly #wakers = new Set<() => void>()

  constructor(settings: Settings<S>) {
    this.#settings = settings
    this.#start = Math.floor(settings.clock.now()) * 1_000
  }

  /** Adds the latest `count` events of the record. */
  add(record: TaskRecord<S>, count: number): void {
    const place = this.#placeOf(record)
    const { generation } = record.head
    for (let left = count; left-- > 0;) this.#push({ place, generation: generation - left })
  }

  remove(record: TaskRecord<S>): void {
    const place = this.#placeOf(record)
    const { id, createdAt, skill, contextId, owner } = record.head
    place.record = undefined
    this.#places.delete(record)
    this.#push({ place, generation: 0, task: { id, createdAt, skill, contextId, owner } })
  }

  close(): void {
    this.isClosed = true
    this.wake()
  }

  wake(): void {
    if (this.#wakers.size === 0) return
    for (const wake of this.#wakers) wake()
    this.#wakers.clear()
  }

  async page(after: string | undefined, isStopped: () => boolean): Promise<FeedPage<S>> {
    for (;;) {
      const page = this.#pageAfter(Number(after))
      if (page.cursor !== after || isStopped()) return page
      await new Promise<void>((resolve) => this.#wakers.add(resolve))
    }
  }

  #eventOf(record: TaskRecord<S>, generation: number): TaskEvent<S> | undefined {
    const event = record.eventAt(generation, this.#settings.eventLogSize)
    return event && freezeDeep(event)
  }

  #push(entry: Entry<S>): void {
    const { feedSize } = this.#settings
    this.#entries.push(entry)
    if (this.#entries.length >= 2 * feedSize) this.#start += this.#entries.splice(0, feedSize).length
    this.wake()
  }

  #placeOf(record: TaskRecord<S>): Place<S> {
    const known = this.#places.get(record)
    if (known !== undefined) return known
    const place = { record }
    this.#places.set(record, place)
    return place
  }

  #pageAfter(after: number): FeedPage<S> {
    const start = this.#start
    const end = start + this.#entries.length
    const entries: FeedPage<S>['entries'][number][] = []
    // Also for what is not a number.
    if (!(after >= start && after <= end)) return { entries, cursor: String(end), isResync: true }
    let position = after
    for (const { place, generation, task } of this.#entries.slice(after - start, after - start + PAGE)) {
      const { record } = place
      const event = record && this.#eventOf(record, generation)
      if (record !== undefined && event === undefined) {
        // The log of the task no longer keeps the event.
        return position > after ? { entries, cursor: String(position) } : this.#pageAfter(NaN)
      }
      position += 1
      const subject = task ?? record?.head
      // An event of a task that was removed later is left out.
      if (subject === undefined) continue
      entries.push({ cursor: String(position), task: subject, event })
    }
    return { entries, cursor: String(position) }
  }
}
