/**
 * Errors of SQLite that need an operator, with the action to take.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'

/** Messages of SQLite, and those of the drivers for a closed connection. */
const FINAL = /readonly database|no such (table|index|column)|not a database|image is malformed|is not open/

/** An error that needs an operator. */
export function failure(operation: string, message: string, cause?: unknown): A2AError<'STORE_FAILED'> {
  return new A2AError('STORE_FAILED', message, { operation }, cause === undefined ? {} : { cause })
}

/** Returns `STORE_FAILED` when an operator has to act, and the driver's error otherwise. */
export function toStoreError(thrown: unknown, operation: string): unknown {
  if (A2AError.is(thrown) || !(thrown instanceof Error) || !FINAL.test(thrown.message)) return thrown
  return failure(operation, `The database of the tasks cannot be used: ${thrown.message}`, thrown)
}
