/**
 * Feed of the store in memory.
 *
 * @module
 */
import type { StoredEvent } from '../stored-events.js'
import { systemClock } from '../../runtime/clock.js'
import type { StoreFeed, StoreFeedEntry, StoreFeedPage } from './store-feed.js'

type Task = StoreFeedEntry['task']

interface Entry {
  readonly task: Task
  /** The JSON of the event; absent when the task was removed. */
  readonly text?: string
}

export class MemoryFeed implements StoreFeed {
  readonly #size: number
  readonly #entries: Entry[] = []
  /** The position before the first entry. Cursors of earlier processes are before that of a new feed, and so not known. */
  #start = systemClock.now() * 1_000

  /** @param size - How many of the latest entries are kept at least. */
  constructor(size: number) {
    this.#size = size
  }

  /** @param texts - The JSON of the events; none when the task was removed. */
  add(task: Task, texts?: readonly string[]): void {
    if (texts === undefined) this.#entries.push({ task })
    else for (const text of texts) this.#entries.push({ task, text })
    if (this.#entries.length >= 2 * this.#size) this.#trim()
  }

  read(after: string | undefined, limit: number): Promise<StoreFeedPage> {
    const end = this.#start + this.#entries.length
    const from = Number(after)
    // Also for what is not a number.
    if (!(from >= this.#start && from <= end)) {
      return Promise.resolve({ entries: [], cursor: String(end), isResync: true })
    }
    const found = this.#entries.slice(from - this.#start, from - this.#start + limit)
    const entries = found.map(({ task, text }, index) => ({
      ...{ cursor: String(from + index + 1), task },
      // The store wrote it as an event.
      ...(text !== undefined && { event: JSON.parse(text) as StoredEvent }),
    }))
    return Promise.resolve({ entries, cursor: String(from + found.length) })
  }

  trim(): Promise<void> {
    this.#trim()
    return Promise.resolve()
  }

  #trim(): void {
    this.#start += this.#entries.splice(0, Math.max(0, this.#entries.length - this.#size)).length
  }
}
