/**
 * The part of a local task manager that turns use.
 *
 * @module
 */
import type { CancelOptions } from '../../core/params.js'
import type { LocalTasks } from '../../core/managers.js'
import type { TaskPage, TaskQuery } from '../../core/queries.js'
import type { TaskState } from '../../core/lifecycle.js'
import type { Task } from '../../core/task.js'

/** A manager whose tasks are in memory, so that these methods return without a promise. */
export interface TurnTasks extends LocalTasks {
  stateOf(taskId: string): TaskState | null
  cancelTask(taskId: string, options?: CancelOptions): Task
  pageTasks(query?: TaskQuery | null): TaskPage
}
