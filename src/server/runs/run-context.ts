/**
 * What a run is given by whoever starts it.
 *
 * @module
 */
import type { OwnerFilter } from '../../core/queries.js'
import type { TaskSnapshot, TaskKey } from '../../core/task.js'
import type { JsonValue } from '../../core/json-types.js'
import type { SendRequest } from '../../wire/dialect.js'
import type { Queued } from './question.js'
import type { Settings } from '../options.js'
import type { WorkedTasks } from '../tasks.js'
import type { Caller, Principal } from '../caller.js'

export interface RunContext<P extends Principal> {
  readonly settings: Settings<P>
  readonly tasks: WorkedTasks
  readonly request: SendRequest
  readonly caller: Caller<P>
  readonly owner: OwnerFilter
  /** What whoever has to do the work again needs to know. Absent where nobody will. */
  readonly note?: JsonValue | undefined
  /** Those that the message names, and the owner has. */
  readonly referenceTasks: () => readonly TaskSnapshot[]
  /** Is told of the task as soon as there is one. */
  readonly onTask: (task: TaskKey) => void
  /** The next message that waits to be answered, if any does. */
  readonly nextMessage: (taskId: string) => Queued<P> | undefined
  /** The clock of the run stops while it waits for the user. */
  readonly onWaiting: (isWaiting: boolean) => void
}

/** A message on its way to a task that there is. */
export interface Incoming<P extends Principal> extends Queued<P> {
  readonly owner: OwnerFilter
  /** The tasks that it refers to, where they were read before. */
  readonly references?: readonly TaskSnapshot[] | undefined
}

/** How a run begins. */
export interface Start {
  /** Whether whoever asked reads the task as it was before any work was done. */
  readonly isStream?: boolean
  /** The task, where there is one. */
  readonly task?: TaskKey
  readonly references?: readonly TaskSnapshot[] | undefined
  /** Whether the task's lease names the message already, and what came with it: perhaps more than is known here. */
  readonly isNoted?: boolean
}
