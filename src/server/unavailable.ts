/**
 * The error for requests that the agent cannot take at the moment.
 *
 * @module
 */
import { A2AError } from '../core/errors.js'

/** An error after which a client may try again. `reason` completes a sentence that begins with "The agent". */
export function unavailable(reason = 'is shutting down'): A2AError<'UNAVAILABLE'> {
  return new A2AError('UNAVAILABLE', `The agent ${reason}; try again later`, { reason })
}
