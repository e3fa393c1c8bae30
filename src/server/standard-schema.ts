/**
 * The interface of schemas for results, and what a handler with such a schema refuses.
 *
 * @module
 */
import type { JsonObject } from '../core/json-types.js'
import { describe } from '../runtime/describe.js'
import { isRecord } from '../runtime/unread.js'

/**
 * A schema of any library that implements Standard Schema 1, such as zod, Valibot and ArkType
 * (https://standardschema.dev).
 */
export interface StandardSchema<Input = unknown, Result = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => StandardResult<Result> | Promise<StandardResult<Result>>
    readonly types?: { readonly input: Input; readonly output: Result } | undefined
  }
}

/** The result of a schema's `validate`: without `issues`, the value is valid. */
export type StandardResult<Result> =
  { readonly value: Result; readonly issues?: undefined } | { readonly issues: readonly StandardIssue[] }

/** One reason why a value is invalid. */
export interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** The values that the schema accepts. */
export type InputOf<S extends StandardSchema> = NonNullable<S['~standard']['types']>['input']

/** What the schema returns for the values that it accepts. */
export type OutputOf<S extends StandardSchema> = NonNullable<S['~standard']['types']>['output']

/** @throws {TypeError} for anything but a Standard Schema. */
export function requireSchema(value: unknown, option = 'output'): void {
  // Schemas of ArkType are functions.
  if ((typeof value === 'object' && value !== null) || typeof value === 'function') {
    const standard: unknown = Reflect.get(value, '~standard')
    if (typeof standard === 'object' && standard !== null && 'validate' in standard) return
  }
  throw new TypeError(
    `"${option}" must be a Standard Schema, such as z.object({ … }) of zod 3.24 or later, got ${describe(value)}`,
  )
}

/** @throws {TypeError} A task that completes has a result that the schema has checked. */
export function refuseComplete(output: StandardSchema | undefined): void {
  if (output === undefined) return
  throw new TypeError(
    'With "output", return the result: do not call run.complete(), or run.reply() after the task exists',
  )
}

/** @throws {TypeError} The parts of a stream are no result. */
export function refuseStream(): never {
  throw new TypeError(
    'With "output", execute() returns the result, not a stream or generator: show progress with run.update() or run.artifact()',
  )
}

const MAX_ISSUES = 5

/** The first issues, as a text. */
export function linesOf(issues: readonly StandardIssue[]): string {
  const shown = issues.slice(0, MAX_ISSUES).map(toLine)
  if (issues.length > MAX_ISSUES) shown.push(`and ${issues.length - MAX_ISSUES} more`)
  return shown.join('; ')
}

function toLine(issue: StandardIssue): string {
  const at = pathOf(issue)
  return at === '' ? issue.message : `${at}: ${issue.message}`
}

/** Where the value is invalid, such as `days[0].city`. Empty for the value itself. */
export function pathOf({ path = [] }: StandardIssue): string {
  let at = ''
  for (const segment of path) {
    const key = typeof segment === 'object' ? segment.key : segment
    if (typeof key === 'number') at += `[${key}]`
    else at += at === '' ? String(key) : `.${String(key)}`
  }
  return at
}

/** A schema is often made once and used for many questions. */
const made = new WeakMap<object, JsonObject>()

const NO_JSON_SCHEMA =
  'The schema of a question has no JSON Schema: use a library with Standard JSON Schema, such as zod 4.2 or later, or pass "jsonSchema", as in { schema, jsonSchema: z.toJSONSchema(schema) }'

/**
 * The JSON Schema of the values that the schema accepts: `given`, or as the schema says by the extension of Standard Schema for
 * JSON Schema.
 *
 * @throws {TypeError} for a schema that does not say.
 */
export function jsonSchemaOf(schema: StandardSchema, given: unknown): JsonObject {
  if (given !== undefined) {
    // The task checks that it is JSON.
    if (isRecord(given)) return given as JsonObject
    throw new TypeError(`"jsonSchema" must be an object, got ${describe(given)}`)
  }
  const known = made.get(schema)
  if (known !== undefined) return known
  const own = { ...convert(schema) }
  delete own['$schema']
  made.set(schema, own)
  return own
}

function convert(schema: StandardSchema): JsonObject {
  const converter: unknown = Reflect.get(schema['~standard'], 'jsonSchema')
  const input: unknown = isRecord(converter) ? converter['input'] : undefined
  if (typeof input !== 'function') throw new TypeError(NO_JSON_SCHEMA)
  try {
    const converted: unknown = Reflect.apply(input, converter, [{ target: 'draft-2020-12' }])
    if (isRecord(converted)) return converted as JsonObject
  } catch (cause) {
    throw new TypeError(NO_JSON_SCHEMA, { cause })
  }
  throw new TypeError(NO_JSON_SCHEMA)
}
