/**
 * Validation of JSON by a schema.
 *
 * @module
 */
import { invalidParams, type A2AError } from '../core/errors.js'
import { describe } from '../runtime/describe.js'
import { NOT_AN_OBJECT } from '../schemas/json.js'
import { Fault, type SchemaOf } from '../schemas/schema.js'
import { pathText } from './normalize.js'

/**
 * Returns `value` as `schema` defines it, without unknown fields.
 *
 * As in ProtoJSON, a property that is `null` and an id that is empty count as absent, except within free JSON.
 *
 * @throws {A2AError} `INVALID_PARAMS` with the path of the first fault, after `root`: `message.parts[0].text …`.
 */
export function check<T>(schema: SchemaOf<T>, value: unknown, root = ''): T {
  const first = schema.read(value)
  if (!(first instanceof Fault)) return first
  // Few peers send nulls and empty texts. Only those pay for a second pass.
  const second = hasDefaults(value) ? schema.read(withoutDefaults(value)) : first
  if (second instanceof Fault) throw errorOf(second, root)
  return second
}

/**
 * Like {@link check}, for a normalized value. Errors say that an absent enum is missing, and which type was found instead
 * of free JSON.
 */
export function validate<T>(schema: SchemaOf<T>, value: unknown, root = ''): T {
  const read = schema.read(value)
  if (!(read instanceof Fault)) return read
  const { path, reason } = read
  const found = path.reduce<unknown>((at, key) => (at == null ? at : Reflect.get(Object(at), key)), value)
  if (found === undefined) throw errorOf(read, root, 'is missing')
  throw errorOf(read, root, reason === NOT_AN_OBJECT ? `${reason}, got ${describe(found)}` : reason)
}

function errorOf({ path, reason }: Fault, root: string, shown = reason): A2AError {
  return invalidParams(pathText(path, root), shown)
}

/** Fields that may contain any JSON, null included. */
const FREE = new Set(['data', 'metadata', 'params', 'header'])
/** Fields that peers which write out every default send empty. */
const OFTEN_EMPTY = new Set(['contextId', 'taskId', 'tenant', 'pageToken', 'filename', 'mediaType'])

function isDefault(key: string, value: unknown): boolean {
  return (value === null && key !== 'data') || (value === '' && OFTEN_EMPTY.has(key))
}

export function hasDefaults(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasDefaults)
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(
    ([key, child]) => isDefault(key, child) || (!FREE.has(key) && hasDefaults(child)),
  )
}

export function withoutDefaults(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDefaults)
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(([key, child]) => !isDefault(key, child))
  return Object.fromEntries(kept.map(([key, child]) => [key, FREE.has(key) ? child : withoutDefaults(child)]))
}
