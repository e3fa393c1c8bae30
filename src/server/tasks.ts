/**
 * Access to tasks of a manager in memory or over a shared store.
 *
 * @module
 */
import type { LeasedTasks, LocalTasks, MaybePromise, SharedTasks, SyncTasks } from '../core/managers.js'
import type { TaskSnapshot } from '../core/task.js'

/** A manager that the server can serve. */
export type ServedTasks = LocalTasks | SharedTasks

/** The tasks that runs work on: all those of a local manager, or those that this process holds leases of. */
export interface WorkedTasks extends SyncTasks {
  /** As `patchTask`, but changes nothing if another process changes the task first. Only over a shared store. */
  readonly finish?: LeasedTasks['finish']
}

/** Whether other processes may share the tasks. */
export function isShared(tasks: ServedTasks): tasks is SharedTasks {
  return 'lease' in tasks
}

/**
 * For code that must not yield over a manager in memory: the task could change during an `await`, and each `await` costs a
 * `GetTask` in process several percent.
 */
export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return value instanceof Promise
}

/** The task as this process last saw it, without a request to a store. */
export function lastSeen(tasks: ServedTasks, taskId: string): TaskSnapshot | undefined {
  return isShared(tasks) ? tasks.lastSeen(taskId) : (tasks.peekTask(taskId) ?? undefined)
}
