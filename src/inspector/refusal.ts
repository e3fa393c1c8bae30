/**
 * Errors of requests to the inspector, with texts that the page may show.
 *
 * @module
 */
import { A2AError, type ErrorCode } from '../core/errors.js'

/** A request that is refused. Its message is sent. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Errors of the library whose messages contain only what the request has named. */
const SHOWN: Partial<Record<ErrorCode, number>> = {
  INVALID_PARAMS: 400,
  TASK_NOT_FOUND: 404,
  TASK_TERMINAL: 409,
  TASK_NOT_CANCELABLE: 409,
  INVALID_TRANSITION: 409,
  TASK_GENERATION_MISMATCH: 409,
  LIMIT_EXCEEDED: 413,
  UNSUPPORTED_OPERATION: 409,
  UNAUTHENTICATED: 403,
  RATE_LIMITED: 429,
}

/** The status and the text of an error. `isInternal`: only the integrator may see what it was. */
export function describeFailure(error: unknown): {
  readonly status: number
  readonly message: string
  readonly isInternal: boolean
} {
  if (error instanceof Refusal) return { status: error.status, message: error.message, isInternal: false }
  if (A2AError.is(error)) {
    const status = SHOWN[error.code]
    if (status !== undefined) return { status, message: error.message, isInternal: false }
    if (error.code === 'STORE_FAILED')
      return { status: 503, message: 'The store does not answer', isInternal: true }
    if (error.code === 'EXTERNAL_SERVICE_ERROR')
      return { status: 502, message: 'The agent does not answer', isInternal: true }
  }
  return {
    status: 500,
    message: 'The inspector failed. Its process has reported the error',
    isInternal: true,
  }
}
