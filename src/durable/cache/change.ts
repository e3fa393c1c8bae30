/**
 * Changes of a stored task that are decided and not stored yet.
 *
 * @module
 */
import type { TaskEvent } from '../../core/events.js'
import type { Announce } from '../../core/managers.js'
import { copyTask } from '../../core/evolve.js'
import type { TaskRecord } from '../../core/task-record.js'
import type { Task } from '../../core/task.js'

/** Returns the events that a change makes. Throws when the task does not allow the change. */
export type Decide<S extends string> = (record: TaskRecord<S>) => TaskEvent<S>[]

export interface Origin {
  /** The lease that the change requires. */
  readonly leaseId?: string | undefined
  /** The object that makes the change, and is not notified of it. */
  readonly by?: object | undefined
}

export interface Change<S extends string> extends Origin {
  readonly decide: Decide<S>
  events: TaskEvent<S>[]
  /** Announces the change in the context in which it was made. */
  readonly announce: Announce
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

export interface Executed<S extends string, T> {
  /** As decided now. When another change is stored first, the change is decided again and its events may differ. */
  readonly events: readonly TaskEvent<S>[]
  /** Rejects when the change cannot be stored, or another change that was stored first makes it illegal. */
  readonly stored: Promise<T>
}

/** Computes the result of a change as soon as it is stored, from the task exactly as the change left it. */
export type Select<S extends string, T> = (record: TaskRecord<S>, events: readonly TaskEvent<S>[]) => T

/** Selects a copy of the task. */
export function copyOf<S extends string>(record: TaskRecord<S>): Task<S> {
  return copyTask(record.task)
}
