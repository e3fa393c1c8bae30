/**
 * Values that JSON does not have, as JSON: an object whose only name is a tag, such as `{ "$Date": "2026-01-31T09:00:00.000Z" }`.
 *
 * A record that holds tags says so beside the value. Without that, an object which looks like a tag is what it was. Beside it,
 * such an object has a tag of its own: `{ "$": … }`.
 *
 * @module
 */
import { isBuffer, toBuffer } from '../runtime/buffer.js'
import { describe, isPlain } from '../runtime/describe.js'
import { A2AError, invalidParams, type ErrorCode, type ErrorData } from './errors.js'
import type { Tagged, Tags } from './json.js'
import type { ReadonlyJson } from './json-types.js'

const ESCAPE = '$'

/** Converting a text to a BigInt, or back, takes more than linear time. */
const MAX_DIGITS = 10_000
/** The highest `maxDepth`. Code that reads deeper values would run out of stack. */
const MAX_DEPTH = 1_000
/** In bytes, a multiple of three: base64 has no padding within. */
const CHUNK = 24_576

/** For a `JsonReader`. */
export const TAGS: Tags = { toTagged, isTag, escape: ESCAPE }

function isTag(keys: readonly string[]): boolean {
  return keys.length === 1 && keys[0]?.startsWith(ESCAPE) === true
}

function toTagged(value: unknown): Tagged | string {
  switch (typeof value) {
    case 'undefined':
      return { $undefined: true }
    case 'number':
      return { $number: Object.is(value, -0) ? '-0' : String(value) }
    case 'bigint':
      return fromBigInt(value)
    case 'object':
      return value === null ? 'must be data' : fromObject(value)
    default:
      return `must be data, got ${describe(value)}: return plain data`
  }
}

function fromBigInt(value: bigint): Tagged | string {
  // Hexadecimal digits take linear time, and are fewer.
  const isLong = value.toString(16).length > MAX_DIGITS
  const text = isLong ? '' : String(value)
  return isLong || text.length > (value < 0n ? MAX_DIGITS + 1 : MAX_DIGITS)
    ? `is a BigInt of more than ${MAX_DIGITS} digits`
    : { $BigInt: text }
}

function fromObject(value: object): Tagged | string {
  const kind = Object.prototype.toString.call(value).slice(8, -1)
  if (A2AError.is(value)) {
    const { code, message, data, cause } = value
    return { $A2AError: { code, message, data, ...(Object.hasOwn(value, 'cause') && { cause }) } }
  }
  if (kind === 'Error' || value instanceof Error) return { $Error: fieldsOf(value) }
  if (kind === 'Uint8Array') return fromBytes(value as Uint8Array)
  // An instance of a derived class is more than its data.
  if (!isPlain(Object.getPrototypeOf(value) as object)) return refusalOf(value)
  switch (kind) {
    case 'Date': {
      const time = Date.prototype.getTime.call(value)
      return { $Date: Number.isNaN(time) ? null : new Date(time).toISOString() }
    }
    case 'Map': {
      const entries: unknown[] = []
      Map.prototype.forEach.call(value as Map<unknown, unknown>, (member, key) => entries.push([key, member]))
      return { $Map: entries }
    }
    case 'Set': {
      const members: unknown[] = []
      Set.prototype.forEach.call(value as Set<unknown>, (member) => members.push(member))
      return { $Set: members }
    }
    case 'RegExp':
      return { $RegExp: RegExp.prototype.toString.call(value) }
    case 'URL':
      return { $URL: (value as URL).href }
    default:
      return refusalOf(value)
  }
}

function refusalOf(value: object): string {
  const { then, toJSON } = value as { readonly then?: unknown; readonly toJSON?: unknown }
  const advice = typeof then === 'function' ? 'await it' : 'return plain data'
  const example = typeof toJSON === 'function' ? ', such as what its toJSON() returns' : ''
  return `must be data, got ${describe(value)}: ${advice}${example}`
}

function fromBytes(bytes: Uint8Array): Tagged | string {
  if (isBuffer(bytes)) return { $Buffer: toBase64(bytes) }
  // As for other instances, with the class between that all arrays of numbers have.
  const parent: unknown = Object.getPrototypeOf(Object.getPrototypeOf(bytes))
  const isOwn = typeof parent === 'object' && parent !== null && isPlain(parent)
  return isOwn ? { $Uint8Array: toBase64(bytes) } : refusalOf(bytes)
}

function toBase64(bytes: Uint8Array): string {
  const chunks: string[] = []
  for (let start = 0; start < bytes.length; start += CHUNK)
    chunks.push(btoa(String.fromCharCode(...bytes.subarray(start, start + CHUNK))))
  return chunks.join('')
}

/** What is kept of an error: its name, its message, its causes, and properties that code has added. */
function fieldsOf(error: object): Tagged {
  const { name, message, cause, errors } = error as Partial<AggregateError>
  const added: { stack?: unknown } = { ...error }
  delete added.stack
  return {
    ...added,
    name: String(name),
    message: String(message),
    ...(Object.hasOwn(error, 'cause') && { cause }),
    ...(Object.hasOwn(error, 'errors') && { errors }),
  }
}

/**
 * The value of `json`: a new one with each call if it holds tags.
 *
 * @param tagged - Whether it holds tags.
 * @param root - Names the value in errors.
 * @throws {A2AError} `INVALID_PARAMS` for JSON that {@link toTagged} has not made.
 */
export function restored(json: ReadonlyJson, tagged: boolean | undefined, root: string): unknown {
  return tagged === true ? fromTagged(json, root) : json
}

/** As {@link restored}, for a value that holds tags. */
export function fromTagged(json: ReadonlyJson, root: string): unknown {
  try {
    return restore(json, 0)
  } catch (error) {
    throw invalidParams(root, 'holds a tag that this version of a2a-tasks does not read', error)
  }
}

type Read = (json: ReadonlyJson, depth: number) => unknown

const READERS: Readonly<Record<string, Read>> = {
  [ESCAPE]: (json, depth) => restoreMembers(requireObject(json), depth),
  $undefined: () => undefined,
  $number: (json) => {
    if (!['NaN', 'Infinity', '-Infinity', '-0'].includes(requireText(json))) throw unreadable()
    return Number(json)
  },
  $BigInt: (json) => {
    const text = requireText(json)
    if (text.length > MAX_DIGITS + 1 || !/^-?\d+$/.test(text)) throw unreadable()
    return BigInt(text)
  },
  $Date: (json) => {
    const date = new Date(json === null ? NaN : requireText(json))
    if (json !== null && Number.isNaN(date.getTime())) throw unreadable()
    return date
  },
  $Uint8Array: fromBase64,
  $Buffer: (json) => toBuffer(fromBase64(json)),
  $Map: (json, depth) =>
    new Map(
      requireArray(json).map((each): [unknown, unknown] => {
        const [key, member, ...others] = requireArray(each)
        if (key === undefined || member === undefined || others.length > 0) throw unreadable()
        return [restore(key, depth + 2), restore(member, depth + 2)]
      }),
    ),
  $Set: (json, depth) => new Set(requireArray(json).map((each) => restore(each, depth + 1))),
  $RegExp: (json) => {
    const text = requireText(json)
    const end = text.lastIndexOf('/')
    return new RegExp(text.slice(1, end), text.slice(end + 1))
  },
  $URL: (json) => new URL(requireText(json)),
  $Error: toError,
  $A2AError: toA2AError,
}

function restore(json: ReadonlyJson, depth: number): unknown {
  if (typeof json !== 'object' || json === null) return json
  if (depth >= MAX_DEPTH) throw unreadable()
  if (isArray(json)) return json.map((each) => restore(each, depth + 1))
  const [tag = '', ...others] = Object.keys(json)
  const member = json[tag]
  if (member === undefined || !isTag([tag, ...others])) return restoreMembers(json, depth)
  const read = Object.hasOwn(READERS, tag) ? READERS[tag] : undefined
  if (read === undefined) throw unreadable()
  return read(member, depth + 1)
}

type ReadonlyObject = Readonly<Record<string, ReadonlyJson>>

function restoreMembers(json: ReadonlyObject, depth: number): Record<string, unknown> {
  // It defines its properties: a name such as `__proto__` reaches no setter.
  return Object.fromEntries(Object.entries(json).map(([key, member]) => [key, restore(member, depth + 1)]))
}

const ERRORS = [TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError]

function toError(json: ReadonlyJson, depth: number): Error {
  const { name, message, ...others } = restoreMembers(requireObject(json), depth)
  if (typeof name !== 'string' || typeof message !== 'string') throw unreadable()
  const OwnError = ERRORS.find((each) => each.name === name) ?? Error
  const isAggregate = name === 'AggregateError' && Array.isArray(others['errors'])
  const error = isAggregate ? new AggregateError([], message) : new OwnError(message)
  for (const [key, value] of Object.entries(error.name === name ? others : { ...others, name }))
    Object.defineProperty(error, key, { ...ADDED, value, enumerable: !HIDDEN.includes(key) })
  return error
}
const ADDED = { configurable: true, writable: true }
const HIDDEN = ['name', 'cause', 'errors']

function toA2AError(json: ReadonlyJson, depth: number): A2AError {
  const { code, message, data, ...options } = restoreMembers(requireObject(json), depth)
  if (typeof code !== 'string' || typeof message !== 'string') throw unreadable()
  // They are those of an error that had both.
  return new A2AError(code as ErrorCode, message, data as ErrorData[ErrorCode], options)
}

function requireText(json: ReadonlyJson): string {
  if (typeof json !== 'string') throw unreadable()
  return json
}

function requireArray(json: ReadonlyJson): readonly ReadonlyJson[] {
  if (!isArray(json)) throw unreadable()
  return json
}

function requireObject(json: ReadonlyJson): ReadonlyObject {
  if (typeof json !== 'object' || json === null || isArray(json)) throw unreadable()
  return json
}

function isArray(json: ReadonlyJson): json is readonly ReadonlyJson[] {
  return Array.isArray(json)
}

function fromBase64(json: ReadonlyJson): Uint8Array {
  return Uint8Array.from(atob(requireText(json)), (each) => each.charCodeAt(0))
}

function unreadable(): TypeError {
  return new TypeError('Not in the form of its tag')
}
