/**
 * The manager's record of a run in progress.
 *
 * @module
 */
import type { TaskKey, TaskSnapshot } from '../../core/task.js'
import type { QueuedMessage } from './message-queue.js'
import type { RunController } from './run-controller.js'
import type { Principal } from '../caller.js'

export interface ActiveRun<P extends Principal> {
  readonly run: RunController<P>
  /** The message that the run was begun for. */
  readonly message: QueuedMessage<P>
  /** Resolves when the executor has settled and its result is stored. */
  ended: Promise<void>
  /** The task, once there is one. */
  task: TaskKey | undefined
  /** The task before any work on it, where a stream begins with it. */
  opening: TaskSnapshot | undefined
  /** Whether the executor has returned and its result is being processed: the run reads no more messages. */
  hasReturned: boolean
  /** Messages steered to the run in this microtask, which the executor cannot have read yet. */
  readonly steered: Set<QueuedMessage<P>>
  /** Messages that another process accepted and this run worked on. Their notes are deleted when it ends. */
  readonly forwarded: QueuedMessage<P>[]
  /** Where tasks are shared: resolves when the task of a new run is stored. */
  stored: Promise<void> | undefined
  stopTimer: () => void
  /** Rejects when the work has stopped and the task could not be made to show it. Never resolves. */
  readonly broken: Promise<never>
  /** Makes {@link broken} reject. */
  readonly break: (error: Error) => void
}

/** Whether the run can still read new messages. */
export function isListening<P extends Principal>({ run, hasReturned }: ActiveRun<P>): boolean {
  return !hasReturned && run.abortReason === undefined
}

/**
 * Leaves a message to the run, which finds it in the conversation.
 *
 * @returns `false` when the run returned in the same microtask, so it cannot have read the message: `requeueUnread` has
 *   queued it for another run.
 */
export async function steer<P extends Principal>(
  { steered }: ActiveRun<P>,
  message: QueuedMessage<P>,
): Promise<boolean> {
  steered.add(message)
  // An executor that has returned by now is processed within this tick.
  await Promise.resolve()
  return steered.delete(message)
}

export function toActiveRun<P extends Principal>(
  run: RunController<P>,
  message: QueuedMessage<P>,
): ActiveRun<P> {
  let reject: (error: Error) => void = () => {}
  const broken = new Promise<never>((_, rejectIt: (error: Error) => void) => {
    reject = rejectIt
  })
  // Most runs have no client that waits for it.
  broken.catch(() => undefined)
  return {
    run,
    message,
    stored: undefined,
    ended: Promise.resolve(),
    task: undefined,
    opening: undefined,
    hasReturned: false,
    steered: new Set(),
    forwarded: [],
    stopTimer: () => {},
    broken,
    break: reject,
  }
}
