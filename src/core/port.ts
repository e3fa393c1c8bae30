/**
 * Port of the managers for views: what `fork`, `feed`, `restoreTasks` and others need beside the public methods.
 *
 * @module
 */
import type { NewLog } from './events.js'
import type { FeedSource } from './feed/types.js'
import type { MaybePromise, SharedTasks } from './managers.js'
import type { Settings } from './options.js'
import type { RequireRoom } from './queries.js'
import type { TaskRecord } from './task-record.js'
import type { TaskSnapshot } from './task.js'
import type { TaskTable } from './task-table.js'
import type { Task } from './task.js'
import type { Instant } from './timeline.js'

/** A task that is to be added with its log. */
export interface AddedTask<S extends string> {
  readonly id: string
  readonly log: (timestamp: string) => NewLog<S>
  /** Whether code continues the turn. Otherwise the task waits for the user. */
  readonly isWorking: boolean
  /** When a process finds the turn of this task, where tasks are shared. Default is at once. */
  readonly dueIn?: ((task: TaskSnapshot<S>) => Due) | undefined
}

/** After so many ms; less than 0 is a head start. With `isStrict` nothing makes it begin earlier, otherwise `take` may. */
export interface Due {
  readonly ms: number
  readonly isStrict: boolean
}

/** A manager whose calls belong to a transaction of the application. To be destroyed before the transaction ends. */
type JoinedTasks<S extends string> = SharedTasks<S> & { destroy(): Promise<void> }

export interface ManagerPort<S extends string> {
  readonly settings: Settings<S>
  /** What asks for room before each fork. */
  readonly limits: Set<RequireRoom>
  /** `undefined` without the option `feedSize`. */
  readonly feed: FeedSource<S> | undefined
  /** The records of a manager in memory. */
  readonly table?: Pick<TaskTable<S>, 'get' | typeof Symbol.iterator>
  now(): Instant
  /**
   * Adds a task, and lets its turn continue. Emits `task:created`.
   *
   * @returns A copy of the task. Over memory, it is there before this returns.
   * @throws {A2AError} `INVALID_PARAMS` for an id that is in use; `TASK_LIMIT_REACHED`.
   */
  add(added: AddedTask<S>): MaybePromise<Task<S>>
  /** Adds saved tasks without events, and lets their turns continue. */
  restore(records: readonly TaskRecord<S>[], now: Instant): MaybePromise<void>
  /**
   * The tasks of the same store, in the transaction of this client. Absent where tasks are in memory.
   *
   * @throws {TypeError} when the store cannot join transactions, or not those of this client.
   */
  within?(client: unknown): JoinedTasks<S>
}

/** Shared by the builds of the package: a program can load both. */
const PORT = Symbol.for('a2a-tasks.port')

export function givePort<S extends string>(tasks: object, port: ManagerPort<S>): void {
  Object.defineProperty(tasks, PORT, { value: port })
}

/** The port of a `TaskManager` or a `DurableTaskManager`; `undefined` for any other manager. */
export function portOf<S extends string>(tasks: object): ManagerPort<S> | undefined {
  // `givePort` of a manager with these states has set it.
  return Reflect.get(tasks, PORT) as ManagerPort<S> | undefined
}
