/**
 * The part of the port to a database that keeps the events of all tasks in one order.
 *
 * @module
 */
import type { TaskKey } from '../../core/task.js'
import type { StoredEvent } from '../stored-events.js'

/** One event of a task, or the removal of a task. */
export interface StoreFeedEntry {
  /** The position after this entry. */
  readonly cursor: string
  readonly task: TaskKey & {
    readonly skill: string
    readonly contextId: string
    /** `null` for a task without an owner. */
    readonly owner: string | null
  }
  /** Absent when the task was removed. */
  readonly event?: StoredEvent | undefined
}

/** What {@link StoreFeed.read} has found. */
export interface StoreFeedPage {
  /** Oldest first. */
  readonly entries: readonly StoreFeedEntry[]
  /** The position after the last entry that was examined: that of the last one of `entries`, or a later one. */
  readonly cursor: string
  /** Whether the entries after the requested position are unknown. Then `entries` is empty, and `cursor` is the end. */
  readonly isResync?: boolean | undefined
  /** Whether the store holds back later entries until it knows their order. The manager then reads again soon. */
  readonly isBehind?: boolean | undefined
}

/**
 * The events of all tasks, and the removals of tasks, in one order, which is the same for every reader.
 *
 * - Every `create`, `commit` and `delete` of every process adds its entries in the same atomic step. The events of a restored
 *   task, which has none, are not in the feed.
 * - The entries of one task are in the order of its changes. Those of different tasks may be in any order.
 * - **No gap.** Once a page has shown a position, no entry appears before it any more. A store whose commits run at the same
 *   time therefore holds entries back until all those before them are known.
 * - Entries are references: when a task is removed, the entries of its events may disappear, and that of its removal stays.
 */
export interface StoreFeed {
  /**
   * At most `limit` entries after the position `after`. When the store does not know this position, because it has removed the
   * entry or was never there, the result has `isResync`, and so it has for `undefined`. Should cost O(entries).
   */
  read(after: string | undefined, limit: number): Promise<StoreFeedPage>
  /** Removes the oldest entries, but those that the size of the feed keeps, and in any case the last one that `read` shows. */
  trim(): Promise<void>
}
