/**
 * JSON from outside as objects that hold nothing but JSON.
 *
 * @module
 */
import { invalidParams } from '../core/errors.js'

/** An object of which nothing is known yet. */
export type Unread = Readonly<Record<string, unknown>>

/** Real cards nest ten levels deep. */
const MAX_DEPTH = 64

/** Under these any JSON may stand, null included. */
const FREE: readonly string[] = ['params', 'header']

/**
 * A copy without `__proto__`, and without properties that are null, which ProtoJSON takes for absent.
 *
 * @throws {A2AError} `INVALID_PARAMS` where it nests too deep.
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

export function isRecord(value: unknown): value is Unread {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
