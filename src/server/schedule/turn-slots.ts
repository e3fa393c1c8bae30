/**
 * What decides when a turn may begin, beside the lease of its task.
 *
 * @module
 */
import type { TaskSnapshot } from '../../core/task.js'

export interface TurnSlots {
  /** Whether the next turn of the task has to {@link enter} before it begins. */
  isOut(taskId: string): boolean
  /**
   * Enters, if the turn may begin now. Only for a task that this process holds.
   *
   * @returns 0, or after how many ms to try again at the latest.
   * @throws {A2AError} As a rejection: `STORE_FAILED`, `UNAVAILABLE`.
   */
  enter(task: TaskSnapshot): Promise<number>
  /** The task waits without a process now: it is told when it may begin. Never rejects. */
  waits(task: TaskSnapshot): Promise<void>
  /** The turn of the task is over, or only waits: it is to {@link leave}. */
  ended(taskId: string): void
  /** Whether the turn has ended, and has not left. */
  isOver(taskId: string): boolean
  /** Another turn may begin. Never rejects. */
  leave(taskId: string): Promise<void>
}
