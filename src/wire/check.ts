/**
 * JSON from outside against a schema.
 *
 * @module
 */
import type * as z from 'zod/mini'
import { invalidParams } from '../core/errors.js'
import { reasonOf } from '../schemas/scalars.js'
import { pathText, type Path } from './normalize.js'

/** For schemas that have none: they come before those of a locale, which anybody in the process may set. */
const TEXTS = { error: reasonOf }

/**
 * `value` as `schema` has it, without what the schema does not know.
 *
 * A property that is `null`, and an id that is empty, count as absent, as in ProtoJSON, except where any JSON may stand.
 *
 * @throws {A2AError} `INVALID_PARAMS` with the path of the first fault, after `root`: `message.parts[0].text …`.
 */
export function check<T>(schema: z.ZodMiniType<T>, value: unknown, root = ''): T {
  const first = schema.safeParse(value)
  if (first.success) return first.data
  // Few peers send nulls and empty texts, or err: only they pay for a second look.
  return validate(schema, hasDefaults(value) ? withoutDefaults(value) : value, root)
}

/**
 * As {@link check}, of a value that has no such properties. `reasonFor`: what is wrong, where that is not what the schema
 * says.
 */
export function validate<T>(
  schema: z.ZodMiniType<T>,
  value: unknown,
  root = '',
  reasonFor: (value: unknown, path: Path) => string | undefined = () => undefined,
): T {
  const parsed = schema.safeParse(value, TEXTS)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const path = issue?.path ?? []
  throw invalidParams(pathText(path, root), reasonFor(value, path) ?? issue?.message ?? 'is invalid')
}

/** Under these keys any JSON may stand, null included. */
const FREE = new Set(['data', 'metadata', 'params', 'header'])
/** What a peer that writes out every default says where it means nothing. */
const OFTEN_EMPTY = new Set(['contextId', 'taskId', 'tenant', 'pageToken', 'filename', 'mediaType'])

function isDefault(key: string, value: unknown): boolean {
  return (value === null && key !== 'data') || (value === '' && OFTEN_EMPTY.has(key))
}

function hasDefaults(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasDefaults)
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(
    ([key, child]) => isDefault(key, child) || (!FREE.has(key) && hasDefaults(child)),
  )
}

function withoutDefaults(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDefaults)
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(([key, child]) => !isDefault(key, child))
  return Object.fromEntries(kept.map(([key, child]) => [key, FREE.has(key) ? child : withoutDefaults(child)]))
}
