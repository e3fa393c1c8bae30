/**
 * Feed of the events of all tasks in one order, at the pace of the reader.
 *
 * @module
 */
import { onAbort } from '../runtime/abort.js'
import type { TaskEvent } from '../core/events.js'
import type { FeedPage, FeedSource, FeedTask } from '../core/feed/types.js'
import type { Lifecycle, TaskState } from '../core/lifecycle.js'
import { portOf } from '../core/port.js'
import { FILTER_KEYS, toFilter, type OwnerFilter } from '../core/queries.js'
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
  const isMatch = (task: FeedTask): boolean =>
    // No owner is the empty text in filters.
    selected.equal.every(([key, value]) => (Reflect.get(task, key) ?? '') === value)
  const reader = new FeedReader(source, after, isMatch)
  reader.endOn(readSignal(signal))
  return reader
}

type Result<S extends string> = IteratorResult<FeedEntry<S>, undefined>

/** Not a generator, which makes two promises more for each entry. */
class FeedReader<S extends string> implements TaskFeed<S> {
  readonly #source: FeedSource<S>
  readonly #isMatch: (task: FeedTask) => boolean
  #cursor: string | undefined
  #entries: FeedPage<S>['entries'] = []
  #read = 0
  #isEnded = false
  /** Settles with the pending page. Further calls of `next()` wait for it. */
  #loading: Promise<unknown> | undefined
  #ignore: () => void = () => {}

  constructor(source: FeedSource<S>, after: string | undefined, isMatch: (task: FeedTask) => boolean) {
    this.#source = source
    this.#cursor = after
    this.#isMatch = isMatch
  }

  endOn(signal: AbortSignal | undefined): void {
    this.#ignore = onAbort(signal, () => this.#end())
  }

  next(): Promise<Result<S>> {
    if (this.#loading !== undefined) return this.#loading.then(() => this.next())
    while (this.#read < this.#entries.length && !this.#isStopped()) {
      const entry = this.#entries[this.#read++]
      if (entry === undefined || !this.#isMatch(entry.task)) continue
      const { cursor, event } = entry
      const { id: taskId, createdAt } = entry.task
      const isRemoval = event === undefined
      const value: FeedEntry<S> = isRemoval
        ? { type: 'deleted', cursor, taskId, createdAt }
        : { type: 'event', cursor, taskId, event }
      return Promise.resolve({ done: false, value })
    }
    return this.#isStopped() ? Promise.resolve({ done: true, value: undefined }) : this.#load()
  }

  return(): Promise<Result<S>> {
    this.#ignore()
    this.#end()
    return Promise.resolve({ done: true, value: undefined })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #load(): Promise<Result<S>> {
    const loaded = this.#source.page(this.#cursor, this.#isStopped).then(
      ({ entries, cursor, isResync }): Result<S> | Promise<Result<S>> => {
        this.#loading = undefined
        this.#entries = entries
        this.#read = 0
        this.#cursor = cursor
        if (isResync === true && !this.#isStopped()) return { done: false, value: { type: 'resync', cursor } }
        return this.next()
      },
      (error: unknown) => {
        this.#loading = undefined
        // A `next()` after a failed one ends the iteration.
        this.#isEnded = true
        throw error
      },
    )
    this.#loading = loaded.catch(() => undefined)
    return loaded
  }

  readonly #isStopped = (): boolean => this.#isEnded || this.#source.isClosed

  #end(): void {
    this.#isEnded = true
    this.#source.wake()
  }
}
