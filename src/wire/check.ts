/**
 * JSON from outside against a schema.
 *
 * @module
 */
import type * as z from 'zod/mini'
import { invalidParams, type A2AError } from '../core/errors.js'
import { reasonOf } from '../schemas/scalars.js'
import { pathText } from './normalize.js'

/** A schema with the type of its output. */
export type Schema<T> = z.ZodMiniType<T>

/** Error texts of schemas without their own. They take precedence over a locale that the process has set. */
const TEXTS = { error: reasonOf }

/**
 * `value` as `schema` has it, without what the schema does not know.
 *
 * A property that is `null`, and an id that is empty, count as absent, as in ProtoJSON, except where any JSON may stand.
 *
 * @throws {A2AError} `INVALID_PARAMS` with the path of the first fault, after `root`: `message.parts[0].text …`.
 */
export function check<T>(schema: Schema<T>, value: unknown, root = ''): T {
  const first = schema.safeParse(value)
  if (first.success) return first.data
  // Few peers send nulls and empty texts, or err: only they pay for a second look.
  const second = schema.safeParse(hasDefaults(value) ? withoutDefaults(value) : value, TEXTS)
  if (second.success) return second.data
  throw faultOf(second.error, root)
}

/** As {@link check}, of a value that has been normalized. An enum that is missing is called so. */
export function validate<T>(schema: Schema<T>, value: unknown, root = ''): T {
  const parsed = schema.safeParse(value, TEXTS)
  if (parsed.success) return parsed.data
  const path = parsed.error.issues[0]?.path ?? []
  const found = path.reduce<unknown>((at, key) => (at == null ? at : Reflect.get(Object(at), key)), value)
  throw faultOf(parsed.error, root, found === undefined ? 'is missing' : undefined)
}

function faultOf({ issues }: z.core.$ZodError, root: string, reason = issues[0]?.message): A2AError {
  return invalidParams(pathText(issues[0]?.path ?? [], root), reason ?? 'is invalid')
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
