/**
 * What inbound tasks are refused with.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'

/** Something other than a task is needed, and is not there. */
export class NotFoundError extends A2AError<'NOT_FOUND'> {
  /** What to answer over HTTP where nothing better is known. */
  readonly statusCode = 404

  /** Reads as "`resource` not found". */
  constructor(resource: string, options?: { cause?: unknown }) {
    super('NOT_FOUND', `${resource} not found`, { resource }, options)
  }
}
