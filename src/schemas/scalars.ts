/**
 * What protocol objects are made of. Each schema says what is wrong with a value, to be read after its path.
 *
 * zod/mini has no texts of its own, and a locale would be everybody's who uses zod in the same process.
 *
 * @module
 */
import * as z from 'zod/mini'
import { ZodMiniObject } from 'zod/mini'
import { $constructor, $ZodObjectJIT, _isoDateTime } from 'zod/v4/core'

const MAX_INT32 = 2_147_483_647

/** What is wrong with a value that has no text of its own for it. */
export function reasonOf(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type') return wrongType(issue.expected, issue.input)
  return issue.code === 'invalid_value' ? `must be one of ${issue.values.map(String).join(', ')}` : undefined
}

function wrongType(expected: string, value: unknown): string {
  if (value === undefined) return 'is missing'
  // What zod calls a record is an object to everybody else.
  return `must be ${withArticle(expected === 'record' ? 'object' : expected)}, got ${withArticle(typeOf(value))}`
}

function withArticle(type: string): string {
  if (type === 'null') return type
  return /^[aeio]/.test(type) ? `an ${type}` : `a ${type}`
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

const TEXTS = { error: reasonOf }

export const string = z.string(TEXTS)

export const number = z.number(TEXTS)

export const boolean = z.boolean(TEXTS)

/** A string with something in it: an id, a URL, a name that is looked up. */
export const nonEmptyString = string.check(z.minLength(1, 'must not be empty'))

/** z.iso.datetime. Whoever names z.iso has all of it in the bundle. */
export function dateTime(params: z.core.$ZodISODateTimeParams): z.ZodMiniISODateTime {
  return _isoDateTime(z.ZodMiniISODateTime, params)
}

/** RFC 3339. A2A 1.0 emits `Z` only (§5.6.1); an offset is taken, as ProtoJSON parsers do. */
export const timestamp = dateTime({
  offset: true,
  error: 'must be an ISO 8601 timestamp with a time zone, such as 2026-01-31T12:00:00.000Z',
})

type Shaped<S extends z.core.$ZodLooseShape> = z.ZodMiniObject<z.core.util.Writeable<S>>

// The objects of zod/mini walk their shape anew for every value, and a message takes far longer. These are those of
// zod, which make a function of it where the runtime allows that.
const CompiledObject = $constructor<ZodMiniObject>('CompiledObject', (schema, definition) => {
  $ZodObjectJIT.init(schema, definition)
  ZodMiniObject.init(schema, definition)
})

export function object<S extends z.core.$ZodLooseShape>(shape: S): Shaped<S> {
  // The constructor does not know which shape it is given.
  return new CompiledObject({ type: 'object', shape, ...TEXTS }) as Shaped<S>
}

/** One of a few strings. */
export function oneOf<const T extends readonly string[]>(
  values: T,
): z.ZodMiniEnum<z.core.util.ToEnum<T[number]>> {
  return z.enum(values, TEXTS)
}

export function literal<const T extends string>(value: T): z.ZodMiniLiteral<T> {
  return z.literal(value, TEXTS)
}

/** An `int32` that is a number: ProtoJSON would take a numeric string, too. */
export function integer(min: number, max = MAX_INT32): z.ZodMiniNumber<number> {
  const error = `must be an integer from ${min} to ${max}`
  // One check instead of the three of z.int() with a minimum and a maximum, which take three times as long.
  return z
    .number(error)
    .check(z.refine((value) => Number.isInteger(value) && value >= min && value <= max, error))
}

/**
 * An array whose first bad element is its only fault. z.array looks at all of them and keeps what is wrong with each:
 * of a body of four megabytes, gigabytes.
 */
export function list<T extends z.ZodMiniType>(
  element: T,
  whenEmpty?: string,
): z.ZodMiniType<z.output<T>[], z.input<T>[]> {
  const transform = z.transform((value: unknown, { issues }) => {
    if (!Array.isArray(value)) {
      const message = wrongType('array', value)
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
        issues.push(issueAt(index, parsed.error, value))
        return z.NEVER
      }
      elements.push(parsed.data)
    }
    return elements
  })
  const schema = z.pipe(z.unknown(), transform)
  // It takes what an array of such elements is, and says so itself of anything else.
  return schema as unknown as z.ZodMiniType<z.output<T>[], z.input<T>[]>
}

export const strings = list(string)

/** An object whose keys are the user's. As of {@link list}, its first bad value is its only fault. */
export function record<T extends z.ZodMiniType>(
  value: T,
): z.ZodMiniType<Record<string, z.output<T>>, Record<string, z.input<T>>> {
  const transform = z.transform((given: unknown, { issues }) => {
    if (typeof given !== 'object' || given === null || Array.isArray(given)) {
      const message = wrongType('object', given)
      issues.push({ code: 'invalid_type', expected: 'object', message, input: given })
      return z.NEVER
    }
    const entries: [name: string, value: z.output<T>][] = []
    for (const [name, child] of Object.entries(given)) {
      const parsed = value.safeParse(child)
      if (!parsed.success) {
        issues.push(issueAt(name, parsed.error, given))
        return z.NEVER
      }
      // No object of ours has a prototype that JSON names.
      if (name !== '__proto__') entries.push([name, parsed.data])
    }
    return Object.fromEntries(entries)
  })
  // It accepts what an object of such values is, and rejects anything else itself.
  return z.pipe(z.unknown(), transform) as unknown as z.ZodMiniType<
    Record<string, z.output<T>>,
    Record<string, z.input<T>>
  >
}

/** The first issue of a member, a step further out. */
function issueAt(key: PropertyKey, error: z.core.$ZodError, input: unknown): z.core.$ZodRawIssue {
  const [issue] = error.issues
  // A raw issue is an issue with its input.
  return { ...issue, path: [key, ...(issue?.path ?? [])], input } as z.core.$ZodRawIssue
}

/**
 * A property that may be absent. It infers `key?: T`, because JSON knows no `undefined`; one that is present in an
 * object made by code is taken for absent.
 */
export function optional<T extends z.ZodMiniType>(schema: T): z.ZodMiniExactOptional<T> {
  // At run time this is not z.exactOptional, which parses absent keys, too, and throws the issues away: a message
  // takes ten times as long. The two differ in nothing else that JSON can show.
  return z.optional(schema) as unknown as z.ZodMiniExactOptional<T>
}
