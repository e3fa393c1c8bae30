/**
 * An option that holds options.
 *
 * @module
 */
import { invalidParams } from '../core/errors.js'
import { describe, isPlain } from '../runtime/describe.js'

/**
 * A copy of `value`, the option of that name. One that is unknown is refused, with the way to it: `push.retryMs`.
 *
 * @param example - What to write, for who has written something else.
 * @throws {TypeError} when it is no plain object.
 * @throws {A2AError} `INVALID_PARAMS` for what is unknown in it.
 */
export function readOption<T extends object>(
  name: string,
  value: T,
  keys: readonly string[],
  example: string,
): T {
  // The type says so; not everybody has types.
  const given: unknown = value
  if (typeof given !== 'object' || given === null || Array.isArray(given) || !isPlain(given)) {
    throw new TypeError(`"${name}" must be ${example}, got ${describe(given)}`)
  }
  const unknown = Object.keys(given).find((key) => !keys.includes(key))
  if (unknown === undefined) return { ...value }
  const path = `${name}.${unknown}`
  const reason = `is unknown; known are ${keys.join(', ')}`
  throw invalidParams(path, reason, undefined, `"${path}" ${reason}`)
}
