/**
 * Source of the entries of a feed: where the feed of a manager reads them.
 *
 * @module
 */
import type { TaskEvent } from '../events.js'
import type { TaskKey } from '../task.js'

/** What a feed says of a task. */
export interface FeedTask extends TaskKey {
  readonly skill: string
  readonly contextId: string
  readonly owner?: string | null | undefined
}

/** A part of a feed. */
export interface FeedPage<S extends string> {
  readonly entries: readonly {
    readonly cursor: string
    readonly task: FeedTask
    /** `undefined`: the task was removed. */
    readonly event?: TaskEvent<S> | undefined
  }[]
  /** The position of the last entry that was examined. */
  readonly cursor: string
  /** Whether the entries after the requested position are unknown. Then the page is empty, and at the end of the feed. */
  readonly isResync?: boolean | undefined
}

/** Where the entries of a feed come from. */
export interface FeedSource<S extends string> {
  /** Resolves to what follows `after` as soon as there is something, and in any case once `isStopped` returns `true`. */
  page(after: string | undefined, isStopped: () => boolean): Promise<FeedPage<S>>
  /** Lets pending pages look at `isStopped` again. */
  wake(): void
  readonly isClosed: boolean
  /** Ends all feeds. */
  close(): void
}
