/**
 * The error for resources, other than tasks, that an inbound task needs.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'

/** A resource other than a task is missing. */
export class NotFoundError extends A2AError<'NOT_FOUND'> {
  /** The HTTP status for generic error handlers. */
  readonly statusCode = 404

  /** Reads as "`resource` not found". */
  constructor(resource: string, options?: { cause?: unknown }) {
    super('NOT_FOUND', `${resource} not found`, { resource }, options)
  }
}
