/**
 * What comes of a message.
 *
 * @module
 */
import type { Message, TaskSnapshot } from '../../core/task.js'
import type { LiveRun } from './active-run.js'
import type { Principal } from '../caller.js'

/** A task that has a message. `opening` is the task before any work on the message was done. */
export interface AcceptedTask {
  readonly type: 'task'
  readonly taskId: string
  readonly opening: TaskSnapshot | undefined
  /** Rejects when the work has stopped and the task could not be made to say so. */
  readonly broken: Promise<never>
}

export type Accepted = AcceptedTask | { readonly type: 'message'; readonly message: Message }

export function acceptedBy<P extends Principal>(
  { broken }: LiveRun<P>,
  taskId: string,
  opening: TaskSnapshot | undefined,
): AcceptedTask {
  return { type: 'task', taskId, opening, broken }
}
