/**
 * Feed of the tasks in the memory of this process.
 *
 * @module
 */
import type { TaskEvent } from '../events.js'
import { freezeDeep } from '../json.js'
import type { Settings } from '../options.js'
import type { TaskRecord } from '../task-record.js'
import type { LocalEntries, LocalEntry, LocalPlace } from './local-entries.js'
import type { FeedPage, FeedSource } from './types.js'

/** Keeps the order of the events. The events themselves are in the logs of the tasks. */
export class LocalFeed<S extends string> implements FeedSource<S>, LocalEntries<S> {
  isClosed = false
  readonly #settings: Settings<S>
  /** Between one and two times `feedSize` of them: dropping entries costs O(1) each. */
  readonly entries: LocalEntry<S>[] = []
  /** The position before the first entry. Cursors of an earlier process are before it, and so not known. */
  start: number
  readonly #places = new Map<TaskRecord<S>, LocalPlace<S>>()
  readonly #wakers = new Set<() => void>()

  constructor(settings: Settings<S>) {
    this.#settings = settings
    this.start = Math.floor(settings.clock.now()) * 1_000
  }

  /** Adds the latest `count` events of the record. */
  add(record: TaskRecord<S>, count: number): void {
    const place = this.#placeOf(record)
    const { generation } = record.task
    for (let left = count; left-- > 0;) this.#push({ place, generation: generation - left })
  }

  remove(record: TaskRecord<S>): void {
    const place = this.#placeOf(record)
    const { id, createdAt, skill, contextId, owner } = record.task
    place.record = undefined
    this.#places.delete(record)
    this.#push({ place, generation: 0, task: { id, createdAt, skill, contextId, owner } })
  }

  close(): void {
    this.isClosed = true
    this.wake()
  }

  wake(): void {
    for (const wake of this.#wakers) wake()
    this.#wakers.clear()
  }

  async page(after: string | undefined, isStopped: () => boolean): Promise<FeedPage<S>> {
    const { localPage } = await import('./reading.js')
    for (;;) {
      const page = localPage(this, Number(after))
      if (page.cursor !== after || isStopped()) return page
      await new Promise<void>((resolve) => this.#wakers.add(resolve))
    }
  }

  eventOf({ log, task }: TaskRecord<S>, generation: number): TaskEvent<S> | undefined {
    const event = log.at(generation, task, this.#settings.eventLogSize)
    return event && freezeDeep(event)
  }

  #push(entry: LocalEntry<S>): void {
    const { feedSize } = this.#settings
    this.entries.push(entry)
    if (this.entries.length >= 2 * feedSize) this.start += this.entries.splice(0, feedSize).length
    this.wake()
  }

  #placeOf(record: TaskRecord<S>): LocalPlace<S> {
    const place = this.#places.get(record) ?? { record }
    this.#places.set(record, place)
    return place
  }
}
