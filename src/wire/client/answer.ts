/**
 * @module
 */
import { A2AError } from '../../core/errors.js'

/** @throws {A2AError} `INVALID_AGENT_RESPONSE`: "The agent's answer is not A2A: result.status.state must be …". */
export function readAnswer<T>(read: () => T): T {
  try {
    return read()
  } catch (cause) {
    throw A2AError.is(cause, 'INVALID_PARAMS') ? invalidAnswer(cause.message, cause) : cause
  }
}

/** What an agent answered is not what the protocol says that it answers. */
export function invalidAnswer(reason: string, cause?: unknown): A2AError<'INVALID_AGENT_RESPONSE'> {
  return new A2AError(
    'INVALID_AGENT_RESPONSE',
    `The agent's answer is not A2A: ${reason}`,
    { reason },
    cause === undefined ? undefined : { cause },
  )
}
