/**
 * Validation of parameters. Errors have the path of the invalid value.
 *
 * @module
 */
import { type A2AError, invalidParams } from './errors.js'
import { hasLoneSurrogate } from './json.js'
import { hasBase64Digits } from '../runtime/base64.js'
import { describe, isPlain, quote } from '../runtime/describe.js'
import { knownNames } from '../runtime/known-names.js'
import type { JsonObject, JsonValue } from './json-types.js'
import type { Artifact, Message } from './task.js'

/** In UTF-16 units. Enough for any id or URI, too short for a payload. */
const MAX_NAME_LENGTH = 1024
const MAX_REFERENCES = 1000

const ID_KEYS = ['contextId', 'taskId']
const LIST_KEYS = ['extensions', 'referenceTaskIds']
const TYPE_KEYS = ['filename', 'mediaType']
const CONTENTS = ['text', 'raw', 'url', 'data'] as const
const PART_KEYS: readonly string[] = [...CONTENTS, ...TYPE_KEYS, 'metadata']
const MESSAGE_KEYS = ['messageId', 'role', 'parts', 'metadata', ...ID_KEYS, ...LIST_KEYS]

/** Checks an artifact that is clean JSON. */
export function requireArtifact(value: JsonValue | undefined, path: string): Artifact {
  const artifact = requireObject(value, path)
  const { artifactId, parts, metadata } = artifact
  if (artifactId !== undefined) readName(artifactId, `${path}.artifactId`)
  if (parts !== undefined) requireParts(parts, `${path}.parts`)
  if (metadata !== undefined) requireObject(metadata, `${path}.metadata`)
  return artifact
}

/** Checks a message that is clean JSON. */
export function requireMessage(value: JsonValue | undefined, path: string): Message {
  const message = requireObject(value, path)
  const { messageId, role, parts, metadata } = message
  readName(messageId, `${path}.messageId`)
  if (role !== 'user' && role !== 'agent') {
    throw invalidParams(`${path}.role`, `must be "user" or "agent", got ${quote(role)}`)
  }
  requireParts(parts, `${path}.parts`)
  if (Array.isArray(parts) && parts.length === 0) throw invalidParams(`${path}.parts`, 'must not be empty')
  if (metadata !== undefined) requireObject(metadata, `${path}.metadata`)
  for (const key of ID_KEYS) {
    if (message[key] !== undefined) readName(message[key], `${path}.${key}`)
  }
  for (const key of LIST_KEYS) {
    if (message[key] !== undefined) readNames(message[key], `${path}.${key}`)
  }
  // All typed properties of `Message` have been checked.
  return message as unknown as Message
}

function requireParts(value: JsonValue | undefined, path: string): void {
  requireArray(value, path)
  let index = 0
  // Clean JSON.
  for (const part of value) requirePart(part, path, index++)
}

function requirePart(value: JsonValue, path: string, index: number): void {
  // Most parts are objects, so the path is made only for others.
  const part = isObject(value) ? value : requireObject(value, `${path}[${index}]`)
  if (part['metadata'] !== undefined) requireObject(part['metadata'], `${path}[${index}].metadata`)
  for (const key of TYPE_KEYS) {
    if (part[key] !== undefined) readName(part[key], `${path}[${index}].${key}`)
  }
  let content: string | undefined
  for (const key of CONTENTS) {
    if (part[key] === undefined) continue
    if (content !== undefined) throw badContent(path, index, `not both ${content} and ${key}`)
    if (key !== 'data' && typeof part[key] !== 'string') {
      throw invalidParams(`${path}[${index}].${key}`, `must be a string, got ${describe(part[key])}`)
    }
    content = key
  }
  if (content === undefined) throw badContent(path, index, `got ${quote(Object.keys(part).join(', '))}`)
}

/**
 * Refuses keys of a message, and of its parts, that no reader would find, and bytes that no reader would read. Stored messages
 * are not checked for them: another version of the library may have written them.
 */
export function refuseUnknownKeys(message: Message, path: string): void {
  requireKnownKeys(message, MESSAGE_KEYS, path)
  refuseUnknownPartKeys(message, path)
}

/** Refuses such keys and bytes of the parts of an artifact. The artifact itself may be any JSON object. */
export function refuseUnknownPartKeys({ parts = [] }: Pick<Artifact, 'parts'>, path: string): void {
  let index = 0
  for (const part of parts) {
    requireKnownKeys(part, PART_KEYS, path, index)
    if (part.raw !== undefined && !hasBase64Digits(part.raw))
      throw invalidParams(`${path}.parts[${index}].raw`, 'must be base64')
    index += 1
  }
}

/**
 * @param part - The index of the part of `path` that the object is.
 * @throws {A2AError} `INVALID_PARAMS` for a key that is not among `known`.
 */
export function requireKnownKeys(
  object: object,
  known: readonly string[],
  path: string,
  part?: number,
): void {
  for (const key of Object.keys(object)) {
    if (known.includes(key)) continue
    // Most objects have no such key, so the path is made only here.
    const at = part === undefined ? path : `${path}.parts[${part}]`
    throw invalidParams(`${at}.${key}`, `is unknown${knownNames(key, known)}`)
  }
}

function badContent(path: string, index: number, got: string): A2AError {
  return invalidParams(`${path}[${index}]`, `must have exactly one of ${CONTENTS.join(', ')}, ${got}`)
}

export function requireState<S extends string>(value: unknown, path: string, states: readonly S[]): S {
  const state = states.find((each) => each === value)
  if (state !== undefined) return state
  throw invalidParams(path, `must be one of ${states.join(', ')}, got ${quote(value)}`)
}

export function requireObject(value: JsonValue | undefined, path: string): JsonObject {
  if (isObject(value)) return value
  throw invalidParams(path, `must be an object, got ${describe(value)}`)
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function requireArray(value: unknown, path: string): asserts value is unknown[] {
  if (!Array.isArray(value)) throw invalidParams(path, `must be an array, got ${describe(value)}`)
}

/** The list under `key`; an absent or null one is empty. */
export function readElements(json: JsonObject, key: string, root: string): JsonValue[] {
  const value = json[key] ?? []
  requireArray(value, `${root}.${key}`)
  return value
}

/** An id, a skill or an owner: a short string that is not empty. */
export function readName(value: unknown, path: string, maxLength = MAX_NAME_LENGTH): string {
  if (typeof value !== 'string') throw invalidParams(path, `must be a string, got ${describe(value)}`)
  if (value === '') throw invalidParams(path, 'must not be empty')
  if (value.length > maxLength) {
    throw invalidParams(path, `must have at most ${maxLength} characters, got ${value.length}`)
  }
  if (hasLoneSurrogate(value)) throw invalidParams(path, 'has a lone surrogate, which UTF-8 cannot hold')
  return value
}

export function readNames(value: unknown, path: string): string[] {
  requireArray(value, path)
  if (value.length > MAX_REFERENCES) throw invalidParams(path, `must have at most ${MAX_REFERENCES} elements`)
  const names: string[] = []
  // Holes count.
  for (let index = 0; index < value.length; index += 1)
    names.push(readName(value[index], `${path}[${index}]`))
  return names
}

/** An ISO 8601 timestamp, as ms since 1970. */
export function readTimestamp(value: unknown, path: string): number {
  const ms = typeof value === 'string' && /^\d{4}-\d\d/.test(value) ? Date.parse(value) : NaN
  if (Number.isNaN(ms)) throw invalidParams(path, `must be an ISO 8601 timestamp, got ${quote(value)}`)
  return ms
}

export function readBoolean(value: unknown, path: string): boolean {
  if (typeof value !== 'boolean') throw invalidParams(path, `must be a boolean, got ${describe(value)}`)
  return value
}

/** A generation, as a cursor or an expectation; 0 is before the first event. */
export function readGeneration(value: unknown, path: string): number | undefined {
  if (value === undefined) return undefined
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    const got = typeof value === 'number' ? String(value) : describe(value)
    throw invalidParams(path, `must be a generation (an integer, 0 or more), got ${got}`)
  }
  return value
}

export function readSignal(value: unknown): AbortSignal | undefined {
  if (value === undefined || value instanceof AbortSignal) return value
  throw invalidParams('signal', `must be an AbortSignal, got ${describe(value)}`)
}

/**
 * A copy of `params`; each property is read once. Unknown properties are refused: ignoring a misspelt key would lose an
 * update, or widen a filter to all tasks.
 */
export function readParams<T extends object>(params: T, known: readonly string[], method: string): T {
  const given: unknown = params
  if (typeof given !== 'object' || given === null) {
    throw invalidParams(`${method}()`, `takes an object, got ${describe(given)}`)
  }
  let copy: T
  let isObject: boolean
  try {
    // Spreading a promise or a Map copies nothing, so a forgotten `await` would become a filter that matches all tasks.
    isObject = isPlain(given)
    copy = { ...params }
  } catch (error) {
    throw invalidParams(unreadable(params) ?? `${method}()`, 'could not be read', error)
  }
  if (!isObject) throw invalidParams(`${method}()`, `takes a plain object, got ${describe(given)}`)
  for (const key of Object.keys(copy)) {
    if (known.includes(key)) continue
    const reason = `is unknown${knownNames(key, known)}`
    throw invalidParams(key, reason, undefined, `${method}(): ${quote(key)} ${reason}`)
  }
  return copy
}

/** The first property whose getter throws. */
function unreadable(params: object): string | undefined {
  let key: string | undefined
  try {
    for (key of Object.keys(params)) Reflect.get(params, key)
  } catch {
    return key
  }
  return undefined
}
