/**
 * Names that code gives to entries of the history.
 *
 * @module
 */
import { describe } from '../../runtime/describe.js'

const MAX_NAME = 200

/**
 * @param example - A right call, for errors.
 * @throws {TypeError}
 */
export function requireName(subject: string, name: unknown, example?: string): void {
  if (typeof name === 'string' && name !== '' && name.length <= MAX_NAME) return
  const got = typeof name === 'string' ? name.length : describe(name)
  const use = example === undefined ? '' : `: use ${example}`
  throw new TypeError(
    `The name of a ${subject} must be a text of 1 to ${MAX_NAME} characters, got ${got}${use}`,
  )
}
