/**
 * A change of a stored task, on its way.
 *
 * @module
 */
import type { TaskEvent } from '../../core/events.js'
import type { TaskRecord } from '../../core/task-record.js'

/** The events that a change makes of the task. Throws when it may not be made. */
export type Decide<S extends string> = (record: TaskRecord<S>) => TaskEvent<S>[]

/** Where a change comes from. */
export interface Origin {
  /** The lease that it needs, where it needs one. */
  readonly leaseId?: string | undefined
  /** Who makes it, and need not be told of it. */
  readonly by?: object | undefined
}

export interface Change<S extends string> extends Origin {
  readonly decide: Decide<S>
  events: TaskEvent<S>[]
  readonly arrive: () => void
  readonly fail: (error: Error) => void
}

export interface Executed<S extends string, T> {
  /** As decided now: should others come first, it may become others, or none. */
  readonly events: readonly TaskEvent<S>[]
  /** Rejects when it could not be stored, or may not be made any more after what others did. */
  readonly stored: Promise<T>
}

/** What is wanted of a change when it has just been stored: the task is as it is after it, and no other. */
export type Take<S extends string, T> = (record: TaskRecord<S>, events: readonly TaskEvent<S>[]) => T
