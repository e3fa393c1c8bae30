/**
 * The port of that which decides when a turn may begin, beside the lease of its task.
 *
 * @module
 */
import type { MaybePromise } from '../../core/managers.js'
import type { TaskSnapshot } from '../../core/task.js'

/** Whether a task has a run now, is left by this process, or is to be looked at again. */
export type NextStep = 'running' | 'left' | 'again'

export interface TurnSlots {
  /** Whether the next turn of the task has to {@link enter} before it begins. */
  isOut(taskId: string): boolean
  /**
   * Enters, if the turn may begin now. Only for a task that this process holds.
   *
   * @param wait - Leaves a turn that may not, so that it is tried again after so many ms at the latest.
   * @returns `'again'` for a turn that may begin, otherwise what `wait` returns.
   * @throws {A2AError} As a rejection: `STORE_FAILED`, `UNAVAILABLE`.
   */
  enter(task: TaskSnapshot, wait: (ms: number) => MaybePromise<NextStep>): Promise<NextStep>
  /** The turn of the task is over, or only waits: it is to {@link leave}. */
  ended(taskId: string): void
  /** Whether the turn has ended, and has not left. */
  isOver(taskId: string): boolean
  /** Lets another turn begin. Never rejects. */
  leave(taskId: string): Promise<'again'>
}
