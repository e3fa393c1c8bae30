/**
 * Access to tasks of a manager in memory or over a shared store.
 *
 * @module
 */
import type { LocalTasks, MaybePromise, SharedTasks } from '../core/managers.js'
import { requireProtocolSteps } from '../core/lifecycle.js'
import type { TaskSnapshot } from '../core/task.js'
import { quote } from '../runtime/describe.js'

/** A manager that the server serves. Over a lifecycle with further states, tasks may be in these too. */
export type ServedTasks = LocalTasks | SharedTasks

/** A manager with any lifecycle, which {@link requireTasks} checks. Types of `waitFor` differ by lifecycle. */
export type AnyTasks = Omit<LocalTasks<string>, 'waitFor'> | Omit<SharedTasks<string>, 'waitFor'>

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

/**
 * Requires a task manager whose lifecycle has every state and step of the protocol's. It may have more steps, and more states
 * in which the agent works.
 *
 * @throws {TypeError} for anything else.
 */
export function requireTasks(tasks: unknown): ServedTasks {
  if (typeof tasks === 'string')
    throw new TypeError(
      `"tasks" must be a TaskManager, got ${quote(tasks)}: to open a file, pass await openTasks(path)`,
    )
  if (typeof tasks !== 'object' || tasks === null)
    throw new TypeError(`"tasks" must be a TaskManager, got ${quote(tasks)}`)
  if (!('createTask' in tasks && 'lifecycle' in tasks))
    throw new TypeError(`"tasks" must be a TaskManager${tasksHint(tasks)}`)
  // A manager by its methods, which are not all checked. Its further states are checked here.
  const manager = tasks as ServedTasks
  requireProtocolSteps('tasks', manager.lifecycle, 'A handler')
  return manager
}

function tasksHint(tasks: object): string {
  if (tasks instanceof Promise) return ', got a promise: await it'
  if ('acquire' in tasks && 'commit' in tasks) return ', got a store: new DurableTaskManager({ store })'
  return ': new TaskManager({ … })'
}
