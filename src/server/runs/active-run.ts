/**
 * A run that is going on, and what is known of it.
 *
 * @module
 */
import type { OwnerFilter } from '../../core/queries.js'
import type { TaskKey, TaskSnapshot } from '../../core/task.js'
import type { Queued } from './question.js'
import type { TaskRun } from './run-controller.js'
import type { Principal } from '../caller.js'

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
  /** Whether the executor has, and is done with what it returned. */
  hasReturned: boolean
  /** What has just been said to it: it cannot have looked at that yet. */
  readonly unseen: Set<Queued<P>>
  /** What it was given to work on, and came through another process. */
  readonly heard: Queued<P>[]
  /** Where tasks are shared: resolves when the task of a new run is stored. */
  stored: Promise<void> | undefined
  stopTimer: () => void
  /** Rejects when the work has stopped and the task could not be made to say so. */
  readonly broken: Promise<never>
  /** Makes {@link broken} reject. */
  readonly break: (error: Error) => void
}

/** Whether the run can still look at what is said to it. */
export function isListening<P extends Principal>({ run, hasReturned }: LiveRun<P>): boolean {
  return !hasReturned && run.abortReason === undefined
}

/**
 * Leaves a message to the run, which finds it in the conversation.
 *
 * @returns Whether it does: one that has returned at this very moment has not looked, and the message waits for another.
 */
export async function steer<P extends Principal>(
  { unseen }: LiveRun<P>,
  message: Queued<P>,
): Promise<boolean> {
  unseen.add(message)
  // Until then whoever awaits what the executor returned by now has heard of it.
  await Promise.resolve()
  return unseen.delete(message)
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
    hasReturned: false,
    unseen: new Set(),
    heard: [],
    stopTimer: () => {},
    broken,
    break: reject,
  }
}
