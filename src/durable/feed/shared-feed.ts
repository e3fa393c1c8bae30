/**
 * Feed of the tasks in a store.
 *
 * @module
 */
import { freezeDeep } from '../../core/json.js'
import type { FeedPage, FeedSource } from '../../core/feed/types.js'
import { keepAlive, yieldToEventLoop } from '../../runtime/timers.js'
import { sizeOf } from '../cache/checkpoint.js'
import { fromStored } from '../stored-events.js'
import type { DurableContext } from '../context.js'
import type { StoreFeed, StoreFeedPage } from './store-feed.js'

/** Approximate limit of the events of a page, in bytes, and the limit of their number. */
const PAGE_BYTES = 262_144
const MAX_PAGE = 500
/** Growth factor of pages. The first page has one event, since the size of the events is unknown. */
const GROWTH = 4
/** The first and the longest pause before entries are read that the store holds back, in ms. */
const BEHIND_MS = 20
const MAX_BEHIND_MS = 1_000

type FeedContext<S extends string> = Pick<DurableContext<S>, 'storeClient' | 'watcher' | 'timeline'>

/** The feed of a manager; `undefined` when its store keeps none. */
export function sharedFeed<S extends string>(context: DurableContext<S>): SharedFeed<S> | undefined {
  const { feed } = context.settings.store
  return feed && new SharedFeed(feed, context)
}

/** Reads pages from the store. The store is the buffer: between two pages a reader holds only its cursor. */
class SharedFeed<S extends string> implements FeedSource<S> {
  isClosed = false
  readonly #feed: StoreFeed
  readonly #context: FeedContext<S>
  #pageSize = 1
  readonly #wakers = new Set<() => void>()

  constructor(feed: StoreFeed, context: FeedContext<S>) {
    this.#feed = feed
    this.#context = context
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
    for (let pauseMs = BEHIND_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_BEHIND_MS)) {
      let wake = (): void => undefined
      const woken = new Promise<void>((resolve) => (wake = resolve))
      // Watches first: what is stored after the read wakes this reader.
      const unfollow = this.#context.watcher.follow(wake)
      this.#wakers.add(wake)
      // The timer of polls does not keep the process alive.
      const letGo = keepAlive()
      try {
        const page = await this.#read(after)
        if (page.cursor !== after || isStopped()) return page
        if (page.isBehind === true) this.#context.timeline.add(pauseMs, wake)
        await woken
      } catch (error) {
        if (!isStopped()) throw error
        return { entries: [], cursor: after ?? '' }
      } finally {
        letGo()
        unfollow()
        this.#wakers.delete(wake)
      }
      // Changes that are being stored at the same time are read together.
      await yieldToEventLoop()
    }
  }

  async #read(after: string | undefined): Promise<FeedPage<S> & StoreFeedPage> {
    const limit = this.#pageSize
    const page = await this.#context.storeClient.callForUser('feed', () => this.#feed.read(after, limit))
    const entries = page.entries.map(({ event, ...entry }) =>
      event === undefined ? entry : { ...entry, event: freezeDeep(fromStored(event)) },
    )
    const events = entries.flatMap((entry) => ('event' in entry ? [entry.event] : []))
    if (events.length > 0) {
      const fitting = Math.floor((events.length * PAGE_BYTES) / Math.max(1, sizeOf(events)))
      this.#pageSize = Math.max(1, Math.min(GROWTH * limit, fitting, MAX_PAGE))
    }
    // A manager of this lifecycle wrote the events.
    return { ...page, entries } as FeedPage<S> & StoreFeedPage
  }
}
