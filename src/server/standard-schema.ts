/**
 * The interface of schemas for results, and what a handler with such a schema refuses.
 *
 * @module
 */
import { describe } from '../runtime/describe.js'

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

function toLine({ message, path = [] }: StandardIssue): string {
  let at = ''
  for (const segment of path) {
    const key = typeof segment === 'object' ? segment.key : segment
    if (typeof key === 'number') at += `[${key}]`
    else at += at === '' ? String(key) : `.${String(key)}`
  }
  return at === '' ? message : `${at}: ${message}`
}
