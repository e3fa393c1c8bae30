/**
 * A run that is going on, and what is known of it.
 *
 * @module
 */
import type { OwnerFilter } from '../core/queries.js'
import type { TaskSnapshot } from '../core/task.js'
import type { Queued } from './answer.js'
import type { TaskRun } from './task-run.js'
import type { Principal } from './visibility.js'

/** A task among those that have had its id. */
export type TaskKey = Pick<TaskSnapshot, 'id' | 'createdAt'>

export interface LiveRun<P extends Principal> {
  readonly run: TaskRun<P>
  /** What it was begun for. */
  readonly given: Queued<P>
  readonly owner: OwnerFilter
  /** Settles when the executor has. */
  ended: Promise<void>
  /** The task, as soon as there is one. */
  task: TaskKey | undefined
  opening: TaskSnapshot | undefined
  /** Where tasks are shared: resolves when the task of a new run is stored. */
  stored: Promise<void> | undefined
  stopTimer: () => void
  /** Rejects when the work has stopped and the task could not be made to say so. */
  readonly broken: Promise<never>
  /** Makes {@link broken} reject. */
  readonly break: (error: Error) => void
}

export function toLive<P extends Principal>(
  run: TaskRun<P>,
  given: Queued<P>,
  owner: OwnerFilter,
): LiveRun<P> {
  let reject: (error: Error) => void = () => {}
  const broken = new Promise<never>((_, rejectIt: (error: Error) => void) => {
    reject = rejectIt
  })
  // Mostly nobody is there to hear it.
  broken.catch(() => undefined)
  return {
    run,
    given,
    owner,
    stored: undefined,
    ended: Promise.resolve(),
    task: undefined,
    opening: undefined,
    stopTimer: () => {},
    broken,
    break: reject,
  }
}
