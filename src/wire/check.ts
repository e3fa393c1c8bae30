/**
 * Validation of JSON by a schema.
 *
 * @module
 */
import type * as z from 'zod/mini'
import { invalidParams, type A2AError } from '../core/errors.js'
import { describe } from '../runtime/describe.js'
import { NOT_AN_OBJECT } from '../schemas/json.js'
import { reasonOf } from '../schemas/scalars.js'
import { pathText } from './normalize.js'

/** A schema with the type of its output. */
export type Schema<T> = z.ZodMiniType<T>

/** Error texts of schemas without their own. They take precedence over a locale that the process has set. */
const TEXTS = { error: reasonOf }

/**
 * Returns `value` as `schema` defines it, without unknown fields.
 *
 * As in ProtoJSON, a property that is `null` and an id that is empty count as absent, except within free JSON.
 *
 * @throws {A2AError} `INVALID_PARAMS` with the path of the first fault, after `root`: `message.parts[0].text …`.
 */
export function check<T>(schema: Schema<T>, value: unknown, root = ''): T {
  const first = schema.safeParse(value)
  if (first.success) return first.data
  // Few peers send nulls, empty texts or invalid requests. Only those pay for a second pass.
  const second = schema.safeParse(hasDefaults(value) ? withoutDefaults(value) : value, TEXTS)
  if (second.success) return second.data
  throw faultOf(second.error, root)
}

/**
 * Like {@link check}, for a normalized value. Errors say that an absent enum is missing, and which type was found instead
 * of free JSON.
 */
export function validate<T>(schema: Schema<T>, value: unknown, root = ''): T {
  const parsed = schema.safeParse(value, TEXTS)
  if (parsed.success) return parsed.data
  const { path = [], message } = parsed.error.issues[0] ?? {}
  const found = path.reduce<unknown>((at, key) => (at == null ? at : Reflect.get(Object(at), key)), value)
  if (found === undefined) throw faultOf(parsed.error, root, 'is missing')
  throw faultOf(
    parsed.error,
    root,
    message === NOT_AN_OBJECT ? `${message}, got ${describe(found)}` : message,
  )
}

function faultOf({ issues }: z.core.$ZodError, root: string, reason = issues[0]?.message): A2AError {
  return invalidParams(pathText(issues[0]?.path ?? [], root), reason ?? 'is invalid')
}

/** Fields that may contain any JSON, null included. */
const FREE = new Set(['data', 'metadata', 'params', 'header'])
/** Fields that peers which write out every default send empty. */
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
