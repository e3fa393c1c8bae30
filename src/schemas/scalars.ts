/**
 * Building blocks of the schemas. Each has its own error texts, worded to follow the path of a value.
 *
 * zod/mini has no texts, and a locale would apply to every other user of zod in the process.
 *
 * @module
 */
import * as z from 'zod/mini'
import { ZodMiniObject } from 'zod/mini'
import { $constructor, $ZodObjectJIT, _isoDateTime } from 'zod/v4/core'
import { isBrowserPage } from '../runtime/environment.js'

const MAX_INT32 = 2_147_483_647

/** The error text for an issue of a schema that has no text of its own. */
export function reasonOf(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type') return wrongType(issue.expected, issue.input)
  return issue.code === 'invalid_value' ? `must be one of ${issue.values.map(String).join(', ')}` : undefined
}

function wrongType(expected: string, value: unknown): string {
  if (value === undefined) return 'is missing'
  // zod's word for an object with arbitrary keys.
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

/** An id, a URL or a name that is looked up. */
export const nonEmptyString = string.check(z.refine((value) => value !== '', 'must not be empty'))

/** `z.iso.datetime`. Naming `z.iso` would put all of its formats into the bundle. */
export function dateTime(params: z.core.$ZodISODateTimeParams): z.ZodMiniISODateTime {
  return _isoDateTime(z.ZodMiniISODateTime, params)
}

/** RFC 3339. A2A 1.0 emits `Z` only (§5.6.1). An offset is accepted, as by ProtoJSON parsers. */
export const timestamp = dateTime({
  offset: true,
  error: 'must be an ISO 8601 timestamp with a time zone, such as 2026-01-31T12:00:00.000Z',
})

type Shaped<S extends z.core.$ZodLooseShape> = z.ZodMiniObject<z.core.util.Writeable<S>>

// The objects of zod/mini walk their shape for every value, which makes reading a message several times slower. These
// are zod's own, which compile the shape to a function where the runtime allows it. Pages keep those of zod/mini: under a
// strict Content-Security-Policy, the browser reports each attempt to compile.
const CompiledObject = $constructor<ZodMiniObject>('CompiledObject', (schema, definition) => {
  if (!isBrowserPage()) $ZodObjectJIT.init(schema, definition)
  ZodMiniObject.init(schema, definition)
})

export function object<S extends z.core.$ZodLooseShape>(shape: S): Shaped<S> {
  // The constructor's type does not depend on the shape.
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

/** An `int32` as a number. Other forms of ProtoJSON are converted before a schema reads the value. */
export function integer(min: number, max = MAX_INT32): z.ZodMiniNumber<number> {
  const error = `must be an integer from ${min} to ${max}`
  // One check instead of the three of z.int() with a minimum and a maximum, which take three times as long.
  return z
    .number(error)
    .check(z.refine((value) => Number.isInteger(value) && value >= min && value <= max, error))
}

/** The schema of an array. As an interface, declarations name it instead of repeating the type of its elements. */
export interface ListSchema<T extends z.ZodMiniType> extends z.ZodMiniType<z.output<T>[], z.input<T>[]> {}

/**
 * An array. Stops at the first invalid element: `z.array` keeps the issues of all elements, which take gigabytes for a
 * body of four megabytes.
 */
export function list<T extends z.ZodMiniType>(element: T, whenEmpty?: string): ListSchema<T> {
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
  // For what is derived from schemas.
  Object.assign(schema._zod.def, { element })
  // The transform accepts exactly the arrays of such elements.
  return schema as unknown as ListSchema<T>
}

export const strings = list(string)

/** The schema of an object with arbitrary keys. */
export interface RecordSchema<T extends z.ZodMiniType> extends z.ZodMiniType<
  Record<string, z.output<T>>,
  Record<string, z.input<T>>
> {}

/** An object with arbitrary keys. Stops at the first invalid value, as {@link list} does. */
export function record<T extends z.ZodMiniType>(value: T): RecordSchema<T> {
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
      // A key of that name must not become the prototype of a copy.
      if (name !== '__proto__') entries.push([name, parsed.data])
    }
    return Object.fromEntries(entries)
  })
  const schema = z.pipe(z.unknown(), transform)
  Object.assign(schema._zod.def, { member: value })
  // The transform accepts exactly the objects with such values.
  return schema as unknown as RecordSchema<T>
}

/** The first issue of a member, with the path from its parent. */
function issueAt(key: PropertyKey, error: z.core.$ZodError, input: unknown): z.core.$ZodRawIssue {
  const [issue] = error.issues
  // A raw issue is an issue with its input.
  return { ...issue, path: [key, ...(issue?.path ?? [])], input } as z.core.$ZodRawIssue
}

/**
 * A property that may be absent. The type is `key?: T`, because JSON has no `undefined`. In an object made by code an
 * `undefined` property counts as absent.
 */
export function optional<T extends z.ZodMiniType>(schema: T): z.ZodMiniExactOptional<T> {
  // Not z.exactOptional at run time: that parses absent keys as well and discards the issues, which makes reading a
  // message ten times slower. For JSON the two behave alike otherwise.
  return z.optional(schema) as unknown as z.ZodMiniExactOptional<T>
}
