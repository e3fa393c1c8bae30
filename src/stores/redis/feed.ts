/**
 * Feed of a Redis store.
 *
 * The scripts that change tasks write it wherever it is, so that every process does, also one without the option. Redis runs
 * one script at a time: the order of the entries is that of the changes.
 *
 * @module
 */
import type { StoreFeed, StoreFeedEntry, StoreFeedPage } from '../../durable/feed/store-feed.js'
import { READ_FEED, TRIM_FEED } from './feed-scripts.js'
import { items, texts, toEvents } from './replies.js'

type Run = (script: string, args: readonly (string | number)[]) => Promise<unknown>

export class RedisFeed implements StoreFeed {
  readonly #run: Run
  readonly #size: number

  constructor(size: number, run: Run) {
    this.#run = run
    this.#size = size
  }

  async read(after: string | undefined, limit: number): Promise<StoreFeedPage> {
    const position = after !== undefined && /^\d{1,16}-\d{1,16}$/.test(after) ? after : ''
    const [cursor, isKnown, entries] = items(await this.#run(READ_FEED, [position, limit]))
    return {
      ...{ entries: items(entries).map((entry) => toEntry(texts(entry))), cursor: String(cursor) },
      ...(Number(isKnown) === 0 && { isResync: true }),
    }
  }

  async trim(): Promise<void> {
    await this.#run(TRIM_FEED, [this.#size])
  }
}

function toEntry([cursor = '', ...task]: readonly string[]): StoreFeedEntry {
  const [id = '', createdAt = '', skill = '', contextId = '', owner = '', ...events] = task
  const [event] = toEvents(events)
  return {
    // Owners are never empty.
    ...{ cursor, task: { id, createdAt, skill, contextId, owner: owner === '' ? null : owner } },
    ...(event !== undefined && { event }),
  }
}
