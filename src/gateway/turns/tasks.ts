/**
 * Task managers, as far as a gateway uses them.
 *
 * @module
 */
import type { TaskState } from '../../core/lifecycle.js'
import type { SharedTasks, SyncTasks } from '../../core/managers.js'
import type { TaskManager } from '../../core/task-manager.js'

/** The tasks that a turn changes: all those of a manager in memory, or those whose leases this process holds. */
export interface TurnTasks extends SyncTasks {
  stateOf(taskId: string): TaskState | null
}

/** The manager of a gateway's tasks: one in memory, or one over a store that other processes may share. */
export type GatewayTasks = TaskManager | SharedTasks

/** Whether other processes may share the tasks. */
export function isShared(tasks: GatewayTasks): tasks is SharedTasks {
  return 'lease' in tasks
}

/** For changes of a task that this process works on; `undefined` when it does not hold the task. */
export function tasksFor(tasks: GatewayTasks, taskId: string): TurnTasks | undefined {
  return isShared(tasks) ? tasks.leasesOf(taskId) : tasks
}
