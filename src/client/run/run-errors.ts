/**
 * Errors that end runs, and their reasons.
 *
 * @module
 */
import { A2AError, type ErrorCode } from '../../core/errors.js'

/** Reason of an abort that ends a run and leaves its task alone: another process continues with it. */
export class RunAbandoned extends Error {
  readonly reason: unknown

  constructor(reason: unknown) {
    super('Another process follows the task')
    this.reason = reason
  }
}

/** The reason for the end of a run whose caller has aborted it with `reason`. */
export function toAbortReason(reason: unknown): Error {
  if (reason instanceof RunAbandoned) return reason
  return A2AError.is(reason, 'LEASE_LOST') ? new RunAbandoned(reason) : toAborted(reason)
}

/** The error of the result of a run that `cause` has ended. */
export function toFailureReason(cause: unknown): A2AError {
  if (cause instanceof RunAbandoned) return toAborted(cause.reason)
  return A2AError.is(cause)
    ? cause
    : new A2AError('INTERNAL', `The run failed: ${String(cause)}`, {}, { cause })
}

function toAborted(cause: unknown): A2AError {
  return new A2AError('REQUEST_ABORTED', 'The run was aborted', {}, { cause })
}

export function isOneOf(error: unknown, codes: readonly ErrorCode[]): boolean {
  return A2AError.is(error) && codes.includes(error.code)
}

/** Returns whether `error` is this client's own limit on the size of a task. */
export function isTaskTooLarge(error: unknown): boolean {
  // A limit of the agent with the same name has the agent's error as its cause.
  return (
    A2AError.is(error, 'LIMIT_EXCEEDED') && error.data.limit === 'maxTaskBytes' && error.cause === undefined
  )
}
