/**
 * The strings and numbers that protocol objects are made of.
 *
 * @module
 */
import * as z from 'zod'

const MAX_INT32 = 2_147_483_647

/** A string with something in it: an id, a URL, a name that is looked up. */
export const nonEmptyString = z.string().min(1, 'must not be empty')

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
 * An array whose first bad element is its only fault. z.array looks at all of them and keeps what is wrong with each:
 * of a body of four megabytes, gigabytes.
 */
export function list<T extends z.ZodType>(
  element: T,
  whenEmpty?: string,
): z.ZodType<z.output<T>[], z.input<T>[]> {
  const schema = z.unknown().transform((value, { issues }) => {
    if (!Array.isArray(value)) {
      const message = `Invalid input: expected array, received ${typeOf(value)}`
      issues.push({ code: 'invalid_type', expected: 'array', message, input: value })
      return z.NEVER
    }
    if (value.length === 0 && whenEmpty !== undefined) {
      issues.push({ code: 'custom', message: whenEmpty, input: value })
    }
    const elements: z.output<T>[] = []
    for (let index = 0; index < value.length; index += 1) {
      const parsed = element.safeParse(value[index])
      if (!parsed.success) {
        const [issue] = parsed.error.issues
        // An issue of the element's, a step further out.
        const path = [index, ...(issue?.path ?? [])]
        issues.push({ ...issue, path, input: value } as z.core.$ZodRawIssue)
        return z.NEVER
      }
      elements.push(parsed.data)
    }
    return elements
  })
  // It takes what an array of such elements is, and says so itself of anything else.
  return schema as unknown as z.ZodType<z.output<T>[], z.input<T>[]>
}

/** As zod has it. */
function typeOf(value: unknown): string {
  return value === null ? 'null' : typeof value
}

export const strings = list(z.string())

/**
 * A property that may be absent. It infers `key?: T`, because JSON knows no `undefined`; one that is present in an
 * object made by code is taken for absent.
 */
export function optional<T extends z.ZodType>(schema: T): z.ZodExactOptional<T> {
  // At run time this is not z.exactOptional, which parses absent keys, too, and throws the issues away: a message
  // takes ten times as long. The two differ in nothing else that JSON can show.
  return z.optional(schema) as unknown as z.ZodExactOptional<T>
}
