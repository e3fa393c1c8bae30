/**
 * What the server needs of a manager of tasks: of one in memory, or of one that many processes share.
 *
 * @module
 */
import type { ChangeOptions, MessageInput } from '../core/params.js'
import type { TaskManager } from '../core/task-manager.js'
import type { TaskSnapshot } from '../core/task.js'
import type { DurableTaskManager } from '../durable/durable-task-manager.js'
import type { LeasedTasks } from '../durable/leases/leased-tasks.js'

/** What is in memory is there at once; what is in a store comes. */
export type Soon<T> = T | Promise<T>

/** What operations ask, of any task. */
export type ServedTasks = TaskManager | DurableTaskManager

/** What runs do: the methods of a `TaskManager`, of tasks that this process works on. */
export interface WorkedTasks extends Pick<
  LeasedTasks,
  'createTask' | 'patchTask' | 'appendArtifact' | 'can' | 'peekTask' | 'signalOf'
> {
  addMessage(taskId: string, message: MessageInput, options?: ChangeOptions): unknown
  /** Where others may come first: as `patchTask`, but that it then changes nothing. */
  readonly finish?: LeasedTasks['finish']
}

/** Whether other processes may work on them, too. */
export function isShared(tasks: ServedTasks): tasks is DurableTaskManager {
  return 'lease' in tasks
}

/** Only what has to be waited for is: tasks change meanwhile. */
export function isPending<T>(value: Soon<T>): value is Promise<T> {
  return value instanceof Promise
}

/** The task as this process knows it. */
export function lastSeen(tasks: ServedTasks, taskId: string): TaskSnapshot | undefined {
  return isShared(tasks) ? tasks.lastSeen(taskId) : (tasks.peekTask(taskId) ?? undefined)
}
