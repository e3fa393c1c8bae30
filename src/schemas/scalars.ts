/**
 * Building blocks of the schemas. Each has its own error texts, worded to follow the path of a value.
 *
 * @module
 */
import type * as z from 'zod/mini'
import { isRecord } from '../runtime/unread.js'
import {
  Fault,
  type Check,
  type Definition,
  type Infer,
  type Schema,
  type Shape,
  type ZodOf,
} from './schema.js'
import { notOneOf, wrongType } from './texts.js'

const MAX_INT32 = 2_147_483_647

function define<Z extends z.ZodMiniType>(
  definition: Definition,
  read: (value: unknown) => unknown,
): Schema<Z> {
  // Each building block names the type that its function returns.
  return { definition, read: read as Schema<Z>['read'], checks: [] }
}

function primitive<Z extends z.ZodMiniType>(
  type: 'string' | 'number' | 'boolean',
  error?: string,
): Schema<Z> {
  const isNumber = type === 'number'
  return define({ type, error }, (value) =>
    typeof value === type && (!isNumber || Number.isFinite(value))
      ? value
      : new Fault(error ?? wrongType(type, value)),
  )
}

/** `schema` for the values for which `test` holds. `path` leads from the value to what the error is about. */
export function refine<S extends Schema>(
  schema: S,
  test: (value: Infer<S>) => boolean,
  error: Check['error'],
  path: readonly string[] = [],
): S {
  const check: Check = { test, error, path }
  const read = (given: unknown): unknown => {
    // What a schema reads is a value of its type.
    const value = schema.read(given) as Infer<S> | Fault
    if (value instanceof Fault || test(value)) return value
    return new Fault(typeof error === 'string' ? error : error(value), [...path])
  }
  return { ...schema, read, checks: [...schema.checks, check] }
}

export const string = primitive<z.ZodMiniString<string>>('string')

export const number = primitive<z.ZodMiniNumber<number>>('number')

export const boolean = primitive<z.ZodMiniBoolean<boolean>>('boolean')

/** A string with an error text of its own. */
export function text(error: string): Schema<z.ZodMiniString<string>> {
  return primitive('string', error)
}

/** Any value, absent too. */
export const unknown = define<z.ZodMiniUnknown>({ type: 'unknown' }, (value) => value)

/** Values for which `test` holds. They are returned unchanged, not copied. */
export function custom<T>(test: (value: unknown) => boolean, error: string): Schema<z.ZodMiniCustom<T, T>> {
  return define({ type: 'custom', test, error }, (value) => (test(value) ? value : new Fault(error)))
}

/** An id, a URL or a name that is looked up. */
export const nonEmptyString = refine(string, (value) => value !== '', 'must not be empty')

const DATE =
  '(?:(?:\\d\\d[2468][048]|\\d\\d[13579][26]|\\d\\d0[48]|[02468][048]00|[13579][26]00)-02-29|' +
  '\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8])))'
const MINUTES = '(?:[01]\\d|2[0-3]):[0-5]\\d'
const SECONDS = ':[0-5]\\d(?:\\.\\d+)?'

/** An ISO 8601 time with a time zone. `local`: also one without, which may leave out the seconds. */
export function dateTime({
  local = false,
  error,
}: {
  readonly local?: boolean
  readonly error: string
}): Schema<z.ZodMiniISODateTime> {
  const qualified = `${MINUTES}${SECONDS}(?:Z|[+-]${MINUTES})`
  const time = local ? `${qualified}|${MINUTES}(?:${SECONDS})?` : qualified
  const pattern = new RegExp(`^${DATE}T(?:${time})$`)
  return define({ type: 'dateTime', local, error }, (value) =>
    typeof value === 'string' && pattern.test(value) ? value : new Fault(error),
  )
}

/** RFC 3339. A2A 1.0 emits `Z` only (§5.6.1). An offset is accepted, as by ProtoJSON parsers. */
export const timestamp = dateTime({
  error: 'must be an ISO 8601 timestamp with a time zone, such as 2026-01-31T12:00:00.000Z',
})

type Shaped<S extends Shape> = z.ZodMiniObject<{ -readonly [K in keyof S]: ZodOf<S[K]> }>

export interface ObjectSchema<S extends Shape> extends Schema<Shaped<S>> {
  readonly shape: S
}

/** An object. Unknown fields are left out, and so are those that are `undefined`. */
export function object<S extends Shape>(shape: S): ObjectSchema<S> {
  const fields = Object.entries(shape)
  const read = (given: unknown): unknown => {
    if (!isRecord(given)) return new Fault(wrongType('object', given))
    const object: Record<string, unknown> = {}
    for (const [key, schema] of fields) {
      const value = schema.read(given[key])
      if (value instanceof Fault) return value.in(key)
      if (value !== undefined) object[key] = value
    }
    return object
  }
  return { ...define<Shaped<S>>({ type: 'object', shape }, read), shape }
}

function among<Z extends z.ZodMiniType>(type: 'enum' | 'literal', values: readonly string[]): Schema<Z> {
  const known: readonly unknown[] = values
  return define({ type, values }, (value) => (known.includes(value) ? value : new Fault(notOneOf(values))))
}

/** One of a few strings. */
export function oneOf<const T extends readonly string[]>(
  options: T,
): Schema<z.ZodMiniEnum<z.core.util.ToEnum<T[number]>>> & { readonly options: T } {
  return { ...among('enum', options), options }
}

export function literal<const T extends string>(value: T): Schema<z.ZodMiniLiteral<T>> {
  return among('literal', [value])
}

/** An `int32` as a number. Other forms of ProtoJSON are converted before a schema reads the value. */
export function integer(min: number, max = MAX_INT32): Schema<z.ZodMiniNumber<number>> {
  const error = `must be an integer from ${min} to ${max}`
  return wholeNumber((value) => Number.isInteger(value) && value >= min && value <= max, error)
}

/** A number for which `test` holds, with one error text for all that is not. */
export function wholeNumber(
  test: (value: number) => boolean,
  error: string,
): Schema<z.ZodMiniNumber<number>> {
  return refine(primitive<z.ZodMiniNumber<number>>('number', error), test, error)
}

/** The schema of an array. As an interface, declarations name it instead of repeating the type of its elements. */
export interface ListSchema<T extends z.ZodMiniType> extends z.ZodMiniType<z.output<T>[], z.input<T>[]> {}

/** An array. Stops at the first invalid element. */
export function list<S extends Schema>(element: S, whenEmpty?: string): Schema<ListSchema<ZodOf<S>>> {
  return define({ type: 'list', element, whenEmpty }, (given) => {
    if (!Array.isArray(given)) return new Fault(wrongType('array', given))
    if (given.length === 0 && whenEmpty !== undefined) return new Fault(whenEmpty)
    const elements: unknown[] = []
    for (let index = 0; index < given.length; index += 1) {
      const value = element.read(given[index])
      if (value instanceof Fault) return value.in(index)
      elements.push(value)
    }
    return elements
  })
}

export const strings = list(string)

/** The schema of an object with arbitrary keys. */
export interface RecordSchema<T extends z.ZodMiniType> extends z.ZodMiniType<
  Record<string, z.output<T>>,
  Record<string, z.input<T>>
> {}

/** An object with arbitrary keys. Stops at the first invalid value. */
export function record<S extends Schema>(member: S): Schema<RecordSchema<ZodOf<S>>> {
  return define({ type: 'record', member }, (given) => {
    if (!isRecord(given)) return new Fault(wrongType('object', given))
    const entries: [name: string, value: unknown][] = []
    for (const [name, child] of Object.entries(given)) {
      const value = member.read(child)
      if (value instanceof Fault) return value.in(name)
      // A key of that name must not become the prototype of a copy.
      if (name !== '__proto__') entries.push([name, value])
    }
    return Object.fromEntries(entries)
  })
}

/**
 * A property that may be absent. The type is `key?: T`, because JSON has no `undefined`. In an object made by code an
 * `undefined` property counts as absent.
 */
export function optional<S extends Schema>(inner: S): Schema<z.ZodMiniExactOptional<ZodOf<S>>> {
  return define({ type: 'optional', inner }, (value) => (value === undefined ? value : inner.read(value)))
}

/** A value that may be `null`. */
function nullable<S extends Schema>(inner: S): Schema<z.ZodMiniNullable<ZodOf<S>>> {
  return define({ type: 'nullable', inner }, (value) => (value === null ? value : inner.read(value)))
}

/** A property that may be absent or `null`. */
export function nullish<S extends Schema>(
  inner: S,
): Schema<z.ZodMiniExactOptional<z.ZodMiniNullable<ZodOf<S>>>> {
  return optional(nullable(inner))
}
