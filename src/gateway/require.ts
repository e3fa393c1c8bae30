/**
 * What options must be.
 *
 * @module
 */
import { quote } from '../runtime/describe.js'

/** @throws {RangeError} naming the option, unless it is an integer above 0. */
export function requireWhole(name: string, value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value
  throw new RangeError(`"${name}" must be a whole number above 0, got ${quote(value)}`)
}

/** A misspelt option is an error, and no surprise later. */
export function requireKnown(options: object, keys: readonly string[], where: string): void {
  const unknown = Object.keys(options).find((key) => !keys.includes(key))
  if (unknown === undefined) return
  throw new TypeError(`Unknown option "${unknown}" of ${where}; known are ${keys.join(', ')}`)
}
