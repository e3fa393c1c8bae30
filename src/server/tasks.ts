/**
 * Access to tasks of a manager in memory or over a shared store.
 *
 * @module
 */
import { A2A_LIFECYCLE, type Lifecycle } from '../core/lifecycle.js'
import type { LeasedTasks, LocalTasks, MaybePromise, SharedTasks, SyncTasks } from '../core/managers.js'
import type { TaskSnapshot } from '../core/task.js'
import { quote } from '../runtime/describe.js'

/** A manager that the server serves. Over a lifecycle with further states, tasks may be in these too. */
export type ServedTasks = LocalTasks | SharedTasks

/** A manager with any lifecycle, which {@link requireTasks} checks. Types of `waitFor` differ by lifecycle. */
export type AnyTasks = Omit<LocalTasks<string>, 'waitFor'> | Omit<SharedTasks<string>, 'waitFor'>

/** The tasks that runs work on: all those of a local manager, or those that this process holds leases of. */
export interface WorkedTasks extends SyncTasks {
  /** Lets a new task be discarded. Only over a shared store, where a task is stored before its code runs. */
  readonly propose?: LeasedTasks['propose']
  readonly confirm?: LeasedTasks['confirm']
  readonly discard?: LeasedTasks['discard']
  /** Requires the lease of the task, before work that must not be done twice. Only over a shared store. */
  readonly requireLease?: LeasedTasks['requireLease']
  /** Adds entries to the history of the task's turn. */
  readonly recordHistory?: LeasedTasks['recordHistory']
  /** Does work in a transaction of the store, with its entry in the history. Only over stores that have transactions. */
  readonly transact?: LeasedTasks['transact']
  /** Receives a signal. Only over a manager in memory, whose history is not recorded. */
  readonly receive?: LocalTasks['receive']
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
  const missing = lackOf(manager.lifecycle)
  if (missing === undefined) return manager
  throw new TypeError(
    `The lifecycle of "tasks" ${missing}. A handler needs every state and step of A2A_LIFECYCLE, with "submitted" first`,
  )
}

/** What keeps a handler from serving tasks with this lifecycle. */
function lackOf(lifecycle: Lifecycle<string>): string | undefined {
  const { initial, states, transitions, terminal, interrupted } = lifecycle
  if (initial !== A2A_LIFECYCLE.initial) return `begins with "${initial}"`
  for (const state of A2A_LIFECYCLE.states) {
    if (!states.includes(state)) return `lacks the state "${state}"`
    const missing = A2A_LIFECYCLE.transitions[state].find((next) => !transitions[state]?.includes(next))
    if (missing !== undefined) return `lacks the step from "${state}" to "${missing}"`
    if (A2A_LIFECYCLE.terminal.includes(state) && !terminal.includes(state)) return `goes on after "${state}"`
  }
  const missing = A2A_LIFECYCLE.interrupted.find((state) => !interrupted.includes(state))
  if (missing !== undefined) return `does not list "${missing}" in "interrupted"`
  return lackOfOwnStates(lifecycle)
}

/** Steps that a handler makes from every state in which the agent works. */
const STEPS_OF_WORK = ['working', 'failed', 'canceled']

/** As {@link lackOf}, of the states that the protocol does not have. Clients see them as `working`. */
function lackOfOwnStates({
  states,
  transitions,
  terminal,
  interrupted,
}: Lifecycle<string>): string | undefined {
  for (const state of states) {
    if (state in A2A_LIFECYCLE.transitions) continue
    if (terminal.includes(state)) return `ends in "${state}", which no client knows`
    if (interrupted.includes(state)) return `waits in "${state}", which no client knows`
    const missing = STEPS_OF_WORK.find((next) => !transitions[state]?.includes(next))
    if (missing !== undefined) return `lacks the step from "${state}" to "${missing}"`
  }
  return undefined
}

function tasksHint(tasks: object): string {
  if (tasks instanceof Promise) return ', got a promise: await it'
  if ('acquire' in tasks && 'commit' in tasks) return ', got a store: new DurableTaskManager({ store })'
  return ': new TaskManager({ … })'
}
