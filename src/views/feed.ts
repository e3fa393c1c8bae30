/**
 * Feed of the events of all tasks in one order, at the pace of the reader.
 *
 * @module
 */
import { onAbort } from '../runtime/abort.js'
import type { TaskEvent } from '../core/events.js'
import type { FeedSource } from '../core/feed/types.js'
import type { Lifecycle, TaskState } from '../core/lifecycle.js'
import { portOf } from '../core/port.js'
import { FILTER_KEYS, toFilter, type Filter, type OwnerFilter } from '../core/queries.js'
import { readParams, readSignal } from '../core/validate.js'

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

/**
 * The events of all tasks in one order, and the removals of tasks, from now on or after a cursor: no event is left out, and
 * none comes twice. Needs the option `feedSize` of the manager, or of its store. Begins with a `resync` entry unless `after`
 * is the cursor of an entry that is still kept; a reader that falls behind by more than `feedSize` entries receives one, too.
 * Restored tasks have no events. Ends when `signal` aborts, and when the manager is destroyed. A slow reader holds one page.
 *
 * @throws {TypeError} without `feedSize`, and for a manager that is not of this package.
 * @throws {A2AError} `INVALID_PARAMS` for an invalid option; from `next()`: `STORE_FAILED`.
 */
export function feed<S extends string>(
  tasks: { readonly lifecycle: Lifecycle<S> },
  options: FeedOptions = {},
): TaskFeed<S> {
  const source = portOf<S>(tasks)?.feed
  if (source === undefined) {
    throw new TypeError(
      'feed() needs the option "feedSize" of the TaskManager, of openTasks(), or of the store of the DurableTaskManager',
    )
  }
  const { after, filter = {}, signal } = readParams(options, ['after', 'filter', 'signal'], 'feed')
  // All but the state, which changes.
  const selected = toFilter(readParams(filter, FILTER_KEYS.slice(1), 'feed'), [], 'feed')
  readSignal(signal)
  let isEnded = false
  const end = (): void => {
    isEnded = true
    source.wake()
  }
  const ignore = onAbort(signal, end)
  const entries = follow(source, after, selected, () => isEnded || source.isClosed)
  return {
    next: () => entries.next(),
    return: () => {
      ignore()
      end()
      return entries.return(undefined)
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/** The entries of the pages that follow `after`. */
async function* follow<S extends string>(
  source: FeedSource<S>,
  after: string | undefined,
  { equal }: Filter,
  isStopped: () => boolean,
): AsyncGenerator<FeedEntry<S>, undefined, undefined> {
  for (let cursor = after; !isStopped();) {
    const page = await source.page(cursor, isStopped)
    if (page.isResync === true && !isStopped()) yield { type: 'resync', cursor: page.cursor }
    for (const { cursor: at, task, event } of page.entries) {
      if (isStopped()) break
      // No owner is the empty text in filters.
      if (equal.some(([key, value]) => (Reflect.get(task, key) ?? '') !== value)) continue
      const { id: taskId, createdAt } = task
      if (event === undefined) yield { type: 'deleted', cursor: at, taskId, createdAt }
      else yield { type: 'event', cursor: at, taskId, event }
    }
    cursor = page.cursor
  }
  return undefined
}
