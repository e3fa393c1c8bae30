/**
 * Types of feeds.
 *
 * @module
 */
import type { TaskEvent } from '../events.js'
import type { TaskState } from '../lifecycle.js'
import type { OwnerFilter } from '../queries.js'
import type { TaskKey } from '../task.js'

/** Selects the entries of the tasks that have every given property. None of these properties changes. */
export interface FeedFilter extends OwnerFilter {
  readonly skill?: string | undefined
  readonly contextId?: string | undefined
}

/** Options of `feed`. */
export interface FeedOptions {
  /** The `cursor` of the last entry that the reader has received. Default is none: the feed begins now, with a `resync`. */
  readonly after?: string | undefined
  /** Default is the entries of all tasks. */
  readonly filter?: FeedFilter | undefined
  /** Ends the feed when it aborts. */
  readonly signal?: AbortSignal | undefined
}

/**
 * An entry of a feed. Continue after it from its `cursor`, in any process of the same store.
 *
 * - `event`: a task has this event. The events of one task come in the order of their generations, each once.
 * - `deleted`: the task that was created at `createdAt` was removed. Events of it that were not read yet do not follow.
 * - `resync`: the entries up to `cursor` are unknown to this reader: the feed begins here, or no longer keeps what followed
 *   `after`. Read the tasks with `pageTasks`, then apply the entries that follow, except events whose generation is not above
 *   that of the task as you read it.
 */
export type FeedEntry<S extends string = TaskState> =
  | {
      readonly type: 'event'
      readonly cursor: string
      readonly taskId: string
      readonly event: TaskEvent<S>
    }
  | {
      readonly type: 'deleted'
      readonly cursor: string
      readonly taskId: string
      readonly createdAt: string
    }
  | { readonly type: 'resync'; readonly cursor: string }

/** The events of all tasks. `return()` ends the feed, also while a `next()` is pending. */
export interface TaskFeed<S extends string = TaskState> extends AsyncIterableIterator<FeedEntry<S>> {
  next: () => Promise<IteratorResult<FeedEntry<S>, undefined>>
  return: () => Promise<IteratorResult<FeedEntry<S>, undefined>>
}

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
