/**
 * Task managers, as far as a gateway uses them.
 *
 * @module
 */
import { isInterrupted, isTerminal, type TaskState } from '../../core/lifecycle.js'
import type { SharedTasks, SyncTasks } from '../../core/managers.js'
import type { TaskManager } from '../../core/task-manager.js'
import { isShared } from '../../remote/leases.js'
import type { AnyTasks } from '../../server/tasks.js'

/** The tasks that a turn changes: all those of a manager in memory, or those whose leases this process holds. */
export interface TurnTasks extends SyncTasks {
  stateOf(taskId: string): TaskState | null
}

/**
 * The manager of a gateway's tasks: one in memory, or one over a store that other processes may share. Its lifecycle may have
 * more steps than A2A's, and more states in which an agent works.
 */
export type GatewayTasks = AnyTasks

/** A manager that was checked. Tasks may be in further states of its lifecycle too. */
export type CheckedTasks = TaskManager | SharedTasks

/** For changes of a task that this process works on; `undefined` when it does not hold the task. */
export function tasksFor(gateway: { readonly tasks: GatewayTasks }, taskId: string): TurnTasks | undefined {
  // The gateway has checked its manager.
  const tasks = gateway.tasks as CheckedTasks
  return isShared(tasks) ? tasks.leasesOf(taskId) : tasks
}

/** Whether the agent works on a task in this state: one of A2A's, or a further one of the manager's lifecycle. */
export function isAtWork(state: TaskState): boolean {
  return !isTerminal(state) && !isInterrupted(state)
}
