/**
 * The task or reply that a message led to.
 *
 * @module
 */
import type { Message, TaskSnapshot } from '../../core/task.js'
import type { ActiveRun } from './active-run.js'
import type { Principal } from '../caller.js'

/** The task that accepted a message. `opening` is the task before any work on the message. */
export interface AcceptedTask {
  readonly type: 'task'
  readonly taskId: string
  /** Whether the message has just begun the task, in this process. */
  readonly isNew?: boolean
  readonly opening: TaskSnapshot | undefined
  /** Rejects when the work has stopped and the task could not be made to show it. Never resolves. */
  readonly broken: Promise<never>
  /** Settles when the webhook that came with the message is registered; absent if it is registered, or none came. */
  readonly registering?: Promise<unknown>
}

export type AcceptedMessage = AcceptedTask | { readonly type: 'message'; readonly message: Message }

/** A message that its task has had before. */
export function acceptedAgain(
  registry: { runOf(taskId: string): { readonly broken: Promise<never> } | undefined },
  task: TaskSnapshot,
): AcceptedTask {
  // Without a run here, the task itself shows what becomes of it.
  const { broken = new Promise<never>(() => undefined) } = registry.runOf(task.id) ?? {}
  return { type: 'task', taskId: task.id, opening: task, broken }
}

export function acceptedBy<P extends Principal>(
  { broken }: ActiveRun<P>,
  taskId: string,
  opening: TaskSnapshot | undefined,
): AcceptedTask {
  return { type: 'task', taskId, opening, broken }
}
