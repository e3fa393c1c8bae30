/**
 * Texts that clients read when work fails, and the errors that are expected because work was aborted.
 *
 * @module
 */
import { A2AError, type ErrorCode } from '../../core/errors.js'

/** Fixed texts for clients: what an executor throws goes to `onError` only. */
export const FAILED = 'The agent could not finish this task'
export const SHUT_DOWN = 'The agent was shut down before this task was finished'
export const TIMED_OUT = 'Task timed out'
const ABORT_CODES: readonly ErrorCode[] = [
  'TASK_CANCELED',
  'TASK_TIMED_OUT',
  'TASK_EXPIRED',
  'BUDGET_EXCEEDED',
  'MANAGER_DESTROYED',
  'UNAVAILABLE',
]

/** Whether the error is what code throws when its signal aborts: an `AbortError`, or the reason of a task's signal. */
export function isAbort(error: unknown): boolean {
  if (A2AError.is(error)) return ABORT_CODES.includes(error.code)
  return error instanceof Error && error.name === 'AbortError'
}
