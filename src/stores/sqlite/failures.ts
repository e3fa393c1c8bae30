/**
 * Errors of SQLite that need an operator, with the action to take.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'

/** In SQLite's own words, and those of drivers for a connection that was closed. */
const FINAL = /readonly database|no such (table|index|column)|not a database|image is malformed|is not open/

/** A failure that needs a person. */
export function failure(operation: string, message: string, cause?: unknown): A2AError<'STORE_FAILED'> {
  return new A2AError('STORE_FAILED', message, { operation }, cause === undefined ? {} : { cause })
}

/** What a driver threw or, where it would throw it again and again, a failure that needs a person. */
export function explained(thrown: unknown, operation: string): unknown {
  if (A2AError.is(thrown) || !(thrown instanceof Error) || !FINAL.test(thrown.message)) return thrown
  return failure(operation, `The database of the tasks cannot be used: ${thrown.message}`, thrown)
}
