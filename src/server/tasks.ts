/**
 * What the server needs of a manager of tasks: of one in memory, or of one that many processes share.
 *
 * @module
 */
import type { LeasedTasks, LocalTasks, MaybePromise, SharedTasks, SyncTasks } from '../core/managers.js'
import type { TaskSnapshot } from '../core/task.js'

/** A manager that the server can serve. */
export type ServedTasks = LocalTasks | SharedTasks

/** The tasks that runs work on: all those of a local manager, or those that this process holds leases of. */
export interface WorkedTasks extends SyncTasks {
  /** Where others may come first: as `patchTask`, but that it then changes nothing. */
  readonly finish?: LeasedTasks['finish']
}

/** Whether other processes may work on them, too. */
export function isShared(tasks: ServedTasks): tasks is SharedTasks {
  return 'lease' in tasks
}

/** Only what has to be waited for is: tasks change meanwhile. */
export function isPending<T>(value: MaybePromise<T>): value is Promise<T> {
  return value instanceof Promise
}

/** The task as this process knows it. */
export function lastSeen(tasks: ServedTasks, taskId: string): TaskSnapshot | undefined {
  return isShared(tasks) ? tasks.lastSeen(taskId) : (tasks.peekTask(taskId) ?? undefined)
}
