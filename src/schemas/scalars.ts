/**
 * The strings and numbers that protocol objects are made of.
 *
 * @module
 */
import * as z from 'zod'

const MAX_INT32 = 2_147_483_647

/** A string with something in it: an id, a URL, a name that is looked up. */
export const nonEmptyString = z.string().min(1, 'must not be empty')

export const strings = z.array(z.string())

/** RFC 3339. A2A 1.0 emits `Z` only (§5.6.1); an offset is taken, as ProtoJSON parsers do. */
export const timestamp = z.iso.datetime({
  offset: true,
  error: 'must be an ISO 8601 timestamp with a time zone, such as 2026-01-31T12:00:00.000Z',
})

/** An `int32` that is a number: ProtoJSON would take a numeric string, too. */
export function integer(min: number, max = MAX_INT32): z.ZodNumber {
  const error = `must be an integer from ${min} to ${max}`
  // One check instead of the three of z.int().min().max(), which take three times as long.
  return z.number(error).refine((value) => Number.isInteger(value) && value >= min && value <= max, error)
}

/**
 * A property that may be absent. It infers `key?: T`, because JSON knows no `undefined`; one that is present in an
 * object made by code is taken for absent.
 */
export function optional<T extends z.ZodType>(schema: T): z.ZodExactOptional<T> {
  // At run time this is not z.exactOptional, which parses absent keys, too, and throws the issues away: a message
  // takes ten times as long. The two differ in nothing else that JSON can show.
  return z.optional(schema) as unknown as z.ZodExactOptional<T>
}
