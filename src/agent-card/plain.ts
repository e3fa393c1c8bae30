/**
 * Copies of untrusted JSON without nulls and `__proto__`.
 *
 * @module
 */
import { invalidParams } from '../core/errors.js'

/** Real cards nest ten levels deep. */
const MAX_DEPTH = 64

/** Fields that may contain any JSON, null included. */
const FREE: readonly string[] = ['params', 'header']

/**
 * Copies a value without `__proto__`, and without null properties, which ProtoJSON treats as absent.
 *
 * @throws {A2AError} `INVALID_PARAMS` for a value that nests too deep.
 */
export function plain(value: unknown, isFree = false, depth = 0): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (depth > MAX_DEPTH) throw invalidParams('card', `must not nest deeper than ${MAX_DEPTH} levels`)
  if (Array.isArray(value)) return value.map((element) => plain(element, isFree, depth + 1))
  const kept = Object.entries(value).filter(
    ([key, child]) => key !== '__proto__' && child !== undefined && (isFree || child !== null),
  )
  return Object.fromEntries(
    kept.map(([key, child]) => [key, plain(child, isFree || FREE.includes(key), depth + 1)]),
  )
}
