/**
 * The entries of a feed in the memory of a process.
 *
 * @module
 */
import type { TaskEvent } from '../events.js'
import type { TaskRecord } from '../task-record.js'
import type { FeedTask } from './types.js'

/** Where the entries of a task find it. Empty once the task was removed. */
export interface LocalPlace<S extends string> {
  record: TaskRecord<S> | undefined
}

export interface LocalEntry<S extends string> {
  readonly place: LocalPlace<S>
  /** That of the event; 0 when the task was removed. */
  readonly generation: number
  /** The removed task. */
  readonly task?: FeedTask
}

/** The entries in the memory of a process. */
export interface LocalEntries<S extends string> {
  readonly entries: readonly LocalEntry<S>[]
  /** The position before the first entry. */
  readonly start: number
  /** The event of a task, frozen; `undefined` when its log no longer keeps it. */
  eventOf(record: TaskRecord<S>, generation: number): TaskEvent<S> | undefined
}
