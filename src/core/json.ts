/**
 * JSON values at the border of the library: reading (check, copy, bound), copying, freezing and measuring.
 *
 * Values that were read are clean: own data properties only, no `__proto__`, finite numbers, well-formed strings,
 * bounded depth. The other functions here rely on that.
 *
 * @module
 */
import { utf8Length } from '../runtime/buffer.js'
import { describe, isPlain } from '../runtime/describe.js'
import { A2AError, invalidParams } from './errors.js'
import type { JsonObject, JsonValue } from './json-types.js'

/** An inclusive limit in bytes of UTF-8 JSON, with its names for errors. */
export interface SizeLimit {
  /** The option that sets the limit. */
  readonly option: string
  /** The subject of the error text: `Input`. */
  readonly subject: string
  readonly maxBytes: number
}

/** A size in bytes of UTF-8 JSON, and the {@link JsonReader.cost} of the same values. */
export interface Size {
  readonly bytes: number
  readonly cost: number
}

export const NO_SIZE: Size = { bytes: 0, cost: 0 }

// Costs on the heap of V8, in bytes. An array reserves half an element more for each that it has.
const OBJECT_COST = 120
/** Beside the name. */
const PROPERTY_COST = 16
const ARRAY_COST = 56
const ELEMENT_COST = 12
const STRING_COST = 24
const NUMBER_COST = 16

/** Reading stops at this multiple of the limit. Below it the error has the exact size. */
const GIVE_UP_FACTOR = 16

/** A value holds what JSON does not have, so that it has to be read with tags. */
const NEEDS_TAGS = new Error('The value needs tags')

/** A value with its tag. What it holds can be values of any kind. */
export type Tagged = Readonly<Record<string, unknown>>

/** JSON, and whether it holds tags. */
export interface TaggedJson<T = JsonValue> {
  readonly json: T
  /** Absent for plain JSON. */
  readonly tagged?: true
}

/** How values are read that JSON does not have. */
export interface Tags {
  /** The value with its tag, or the reason why it has none. */
  readonly toTagged: (value: unknown) => Tagged | string
  /** Whether an object with these names looks like a tag. */
  readonly isTag: (keys: readonly string[]) => boolean
  /** The tag of an object that looks like a tag. */
  readonly escape: string
}

/**
 * Reads values of callers under one common size limit.
 *
 * Counting bytes exactly costs up to 2 ns per character. Where the exact size is not needed, the reader sums bounds instead: a
 * string of n UTF-16 units has between n + 2 and 6n + 2 bytes. {@link check} counts only if the upper bound exceeds the limit.
 */
export class JsonReader {
  #atLeast = 0
  #atMost = 0
  #cost = 0
  #root = ''
  /** The keys that lead to the current value. The first `#pathLength` are in use. */
  readonly #path: (string | number)[] = []
  #pathLength = 0
  readonly #limit: SizeLimit
  readonly #maxDepth: number
  readonly #isExact: boolean
  readonly #tags: Tags | undefined
  #isTagging = false

  /**
   * @param isExact - Whether the reader counts bytes exactly, so that no one has to measure its values again.
   * @param tags - For {@link readTagged}.
   */
  constructor(limit: SizeLimit, maxDepth: number, isExact = false, tags?: Tags) {
    this.#limit = limit
    this.#maxDepth = maxDepth
    this.#isExact = isExact
    this.#tags = tags
  }

  /** The size of all values read, if this reader is exact. */
  get size(): Size {
    return { bytes: this.#atMost, cost: this.#cost }
  }

  /** An upper bound of the size in bytes of all values read. */
  get atMost(): number {
    return this.#atMost
  }

  /**
   * The estimated bytes of heap that the copies of all values read take, with their texts. Strings of Latin-1 have one byte per
   * character, others two. The estimate is high for small objects of equal keys, and up to a third low for those whose keys no
   * other object has.
   */
  get cost(): number {
    return this.#cost
  }

  /**
   * A clean deep copy of `value`. `root` names the value in errors.
   *
   * @throws {A2AError} `INVALID_PARAMS` with the path of what is not JSON; `LIMIT_EXCEEDED` when the value is too deep,
   *   or so much too large that copying it would be harmful.
   */
  read(value: unknown, root: string): JsonValue {
    this.#root = root
    this.#pathLength = 0
    try {
      return this.#read(value, 0)
    } catch (error) {
      if (A2AError.is(error) || error === NEEDS_TAGS) throw error
      // A getter or a proxy of the caller threw.
      throw invalidParams(this.#pathAt(this.#pathLength), 'could not be read', error)
    }
  }

  /**
   * Like {@link read}, and with a tag for what JSON does not have. Plain JSON is read as `read` does.
   *
   * @throws {A2AError} As `read`, for what has no tag.
   */
  readTagged(value: unknown, root: string): TaggedJson {
    const [atLeast, atMost, cost] = [this.#atLeast, this.#atMost, this.#cost]
    try {
      return { json: this.read(value, root) }
    } catch (error) {
      if (error !== NEEDS_TAGS) throw error
    }
    // An object that looks like a tag may have come before.
    this.#atLeast = atLeast
    this.#atMost = atMost
    this.#cost = cost
    this.#isTagging = true
    try {
      return { json: this.read(value, root), tagged: true }
    } finally {
      this.#isTagging = false
    }
  }

  /** Like {@link read}, for a value that must be an object. */
  readObject(value: unknown, root: string): JsonObject {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw invalidParams(root, `must be an object, got ${describe(value)}`)
    }
    // The copy of an object that is not an array is an object.
    return this.read(value, root) as JsonObject
  }

  /** Adds a generated text to an object that this reader has read, which lacks it or has `null` in its place. */
  add(object: JsonObject, name: string, text: string, root: string): void {
    if (name in object) {
      this.#count(-4)
    } else {
      // The first member has no comma.
      this.#count(Object.keys(object).length === 0 ? 1 : 2)
      this.#readName(name)
      this.#cost += PROPERTY_COST
    }
    object[name] = this.read(text, `${root}.${name}`)
  }

  /** @throws {A2AError} `LIMIT_EXCEEDED` when `values`, which this reader has read, are larger than the limit. */
  check(...values: (JsonValue | undefined)[]): void {
    if (this.#atMost <= this.#limit.maxBytes) return
    const size = values.reduce<number>((sum, value) => sum + (value === undefined ? 0 : jsonSize(value)), 0)
    if (size > this.#limit.maxBytes) throw tooLarge(this.#limit, size)
  }

  #read(value: unknown, depth: number): JsonValue {
    switch (typeof value) {
      case 'string':
        return this.#readString(value)
      case 'number':
        if (!Number.isFinite(value)) return this.#readOther(value, depth, String(value))
        if (value === 0 && this.#tags !== undefined && Object.is(value, -0))
          return this.#readOther(value, depth, '-0')
        this.#readNumber(value)
        return value === 0 ? 0 : value // JSON has no -0
      case 'boolean':
        this.#count(value ? 4 : 5)
        return value
      case 'object':
        if (value === null) {
          this.#count(4)
          return null
        }
        this.#requireDepth(depth)
        return Array.isArray(value) ? this.#readArray(value, depth) : this.#readObject(value, depth)
      default:
        return this.#readOther(value, depth)
    }
  }

  #requireDepth(depth: number): void {
    if (depth < this.#maxDepth) return
    throw new A2AError(
      'LIMIT_EXCEEDED',
      `${this.#pathAt(depth)} is nested deeper than maxDepth (${this.#maxDepth}), or refers to itself`,
      { limit: 'maxDepth', max: this.#maxDepth, actual: depth + 1 },
    )
  }

  /** Reads what JSON does not have. */
  #readOther(value: unknown, depth: number, got = describe(value)): JsonObject {
    if (this.#tags === undefined) throw this.#refuse(depth, `must be JSON, got ${got}`)
    if (!this.#isTagging) throw NEEDS_TAGS
    this.#requireDepth(depth)
    // Encoding bytes takes memory.
    if (ArrayBuffer.isView(value)) this.#requireRoom(value.byteLength)
    const tagged = this.#tags.toTagged(value)
    if (typeof tagged === 'string') throw this.#refuse(depth, tagged)
    return this.#readMembers(tagged, Object.keys(tagged), depth)
  }

  #readNumber(value: number): void {
    this.#cost += numberCost(value)
    if (this.#isExact) this.#count(String(value).length)
    else this.#count(1, 24)
  }

  #readString(given: string): string {
    if (this.#isExact && PLAIN.test(given)) {
      this.#count(given.length + 2)
      this.#cost += STRING_COST + given.length
      return given
    }
    this.#cost += STRING_COST + textCost(given)
    // Latin-1 has no surrogates.
    const value = isLatin(given) ? given : wellFormed(given)
    const { length } = value
    // Refuses a much too large text before its characters are counted.
    if (!this.#isExact) this.#count(length + 2, 6 * length + 2)
    else if (length > this.#limit.maxBytes * GIVE_UP_FACTOR) this.#count(length + 2)
    else this.#count(textSize(value))
    return value
  }

  #readName(key: string): string {
    if (!FREQUENT_NAMES.has(key)) return this.#readString(key)
    this.#count(key.length + 2)
    this.#cost += STRING_COST + key.length
    return key
  }

  #readArray(value: readonly unknown[], depth: number): JsonValue[] {
    // Brackets and commas: each element but the first adds one.
    this.#count(value.length === 0 ? 2 : 1)
    const copy: JsonValue[] = []
    for (let index = 0; index < value.length; index++) {
      this.#descend(index, depth)
      this.#count(1)
      copy.push(this.#read(value[index], depth + 1))
    }
    this.#cost += ARRAY_COST + ELEMENT_COST * copy.length
    // Pushing reserves 17 elements: 152 bytes for the single element that most arrays here have.
    return copy.length < 17 ? copy.slice() : copy
  }

  #readObject(value: object, depth: number): JsonObject {
    if (!isPlain(value)) return this.#readOther(value, depth)
    const keys = Object.keys(value)
    return this.#isTagging && this.#tags?.isTag(keys) === true
      ? this.#escape(value, keys, depth, this.#tags.escape)
      : this.#readMembers(value, keys, depth)
  }

  #escape(value: object, keys: readonly string[], depth: number, tag: string): JsonObject {
    this.#descend(tag, depth)
    this.#requireDepth(depth + 1)
    this.#readString(tag)
    this.#count(4, 4)
    this.#cost += OBJECT_COST + PROPERTY_COST
    return { [tag]: this.#readMembers(value, keys, depth + 1) }
  }

  #readMembers(value: object, keys: readonly string[], depth: number): JsonObject {
    const copy: JsonObject = isIndex(keys[0]) ? sparseObject() : {}
    let isEmpty = true
    for (const key of keys) {
      this.#descend(key, depth)
      const member: unknown = (value as Record<string, unknown>)[key]
      if (member === undefined && this.#tags === undefined) continue
      if (key === '__proto__' || key === 'constructor') {
        throw this.#refuse(depth + 1, 'is a name that careless code reads as a prototype: rename it')
      }
      const name = this.#readName(key)
      // Keys that differ by half a character only: one value would be lost.
      if (name !== key && (Object.hasOwn(copy, name) || Object.hasOwn(value, name)))
        throw this.#refuse(
          depth + 1,
          'becomes the name of another value, because UTF-8 cannot hold half a character',
        )
      this.#count(2)
      this.#cost += PROPERTY_COST
      isEmpty = false
      copy[name] = this.#read(member, depth + 1)
    }
    this.#count(isEmpty ? 2 : 1)
    this.#cost += OBJECT_COST
    return copy
  }

  #descend(key: string | number, depth: number): void {
    this.#path[depth] = key
    this.#pathLength = depth + 1
  }

  #count(atLeast: number, atMost = atLeast): void {
    this.#atMost += atMost
    this.#atLeast += atLeast
    this.#requireRoom(0)
  }

  #requireRoom(bytes: number): void {
    const { maxBytes } = this.#limit
    if (this.#atLeast + bytes > maxBytes * GIVE_UP_FACTOR)
      throw tooLarge(this.#limit, maxBytes * GIVE_UP_FACTOR, 'over ')
  }

  #refuse(depth: number, reason: string): A2AError {
    return invalidParams(this.#pathAt(depth), reason)
  }

  #pathAt(depth: number): string {
    const keys = this.#path.slice(0, depth)
    const shown = keys.length > 10 ? [...keys.slice(0, 8), '…', ...keys.slice(-1)] : keys
    return shown.reduce<string>(childPath, this.#root)
  }
}

/**
 * True for strings that UTF-8 cannot hold.
 *
 * On V8 the regular expression also flattens strings that were built by concatenation, as many ids and texts are.
 * Unflattened strings retain all their pieces (a UUID as a key of a Map: 517 bytes instead of 93). `isWellFormed` alone does
 * not flatten those of Latin-1.
 */
export function hasLoneSurrogate(text: string): boolean {
  return SURROGATE.test(text) && !text.isWellFormed()
}
const SURROGATE = /[\uD800-\uDFFF]/

/** The text with U+FFFD in place of each lone surrogate: code cuts texts, and models are cut by tokens. */
export function wellFormed(text: string): string {
  // Encoding replaces them. Not `replace`: it takes 150 ns for each.
  return hasLoneSurrogate(text) ? DECODER.decode(new TextEncoder().encode(text)) : text
}
const DECODER = new TextDecoder('utf-8', { ignoreBOM: true })

function numberCost(value: number): number {
  return (value | 0) === value ? 0 : NUMBER_COST
}

function textCost(text: string): number {
  return isLatin(text) ? text.length : 2 * text.length
}

/** On V8 this test takes no time for strings that are stored as Latin-1. As each regular expression, it flattens the string. */
function isLatin(text: string): boolean {
  return !/[^\0-\xff]/.test(text)
}

/** Whether a name may be that of an element, as in an array. Those come first among the names of an object. */
function isIndex(key: string | undefined): boolean {
  if (key === undefined) return false
  const first = key.charCodeAt(0)
  return first >= 0x30 && first <= 0x39
}

/** Names of the protocol, which most objects have. They need no test of their characters. */
const FREQUENT_NAMES: ReadonlySet<string> = new Set([
  ...['artifactId', 'name', 'parts', 'text', 'data', 'metadata', 'messageId', 'role', 'mediaType', 'url'],
])

/**
 * An empty object for members with such names. V8 reserves room for all elements up to the highest: `{"1000":1}` takes 12 kB.
 * Once an object has had a very high one, it keeps its elements in a table.
 */
function sparseObject(): JsonObject {
  const object: JsonObject = { 4294967294: 0 }
  delete object['4294967294']
  return object
}

function childPath(path: string, key: string | number): string {
  if (typeof key === 'number') return `${path}[${key}]`
  if (/^(?:…|[A-Za-z_$][\w$]{0,79})$/.test(key)) return `${path}.${key}`
  return `${path}[${JSON.stringify(key.length > 80 ? `${key.slice(0, 80)}…` : key)}]`
}

/** Creates the error, does not throw it. `prefix` marks a `size` that is a lower bound. */
export function tooLarge(limit: SizeLimit, size: number, prefix = ''): A2AError<'LIMIT_EXCEEDED'> {
  const { subject, option, maxBytes } = limit
  return new A2AError(
    'LIMIT_EXCEEDED',
    `${subject} size (${prefix}${size} bytes) exceeds ${option} (${maxBytes} bytes)`,
    { limit: option, max: maxBytes, actual: size },
  )
}

/** A deep, mutable copy of a clean value. */
export function copyJson<T>(value: T): T
export function copyJson(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((element: unknown) => copyJson(element))
  let copy: Record<string, unknown> | undefined
  // for-in over the source is the fastest way to list its keys. It also lists enumerable keys of Object.prototype.
  for (const key in value) {
    copy ??= isIndex(key) ? Object.assign(sparseObject(), value) : { ...value }
    const member = copy[key]
    if (typeof member === 'object' && member !== null && Object.hasOwn(copy, key))
      copy[key] = copyJson(member)
  }
  return copy ?? {}
}

/** Freezes a value in place and deeply. Stops at values that are frozen already. */
export function freezeDeep<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  if (Array.isArray(value)) for (const element of value) freezeDeep(element)
  else
    for (const key of Object.keys(value)) {
      const member = (value as Record<string, unknown>)[key]
      if (typeof member === 'object') freezeDeep(member)
    }
  return Object.freeze(value)
}

/** Frozen JSON that tasks hold themselves, and not copies of it. */
export const sharedJson = new WeakSet<object>()

/** Freezes JSON so that the tasks it is given to hold it itself. No property may have a getter, nor be `undefined`. */
export function shareJson(value: object | undefined): void {
  if (value !== undefined) sharedJson.add(freezeDeep(value))
}

/** The exact size in bytes of a clean value as UTF-8 JSON, and its cost. Properties that are `undefined` count nothing. */
export function sizeOf(value: unknown): Size {
  costs = 0
  const bytes = jsonSize(value)
  return { bytes, cost: costs }
}

/**
 * The cost of what {@link jsonSize} has measured. {@link sizeOf} sets it to 0 before the walk, and reads it after. An object that
 * the walk hands on would take 4 % longer for small values.
 */
let costs = 0

/** As {@link sizeOf}, the bytes alone. */
export function jsonSize(value: unknown): number {
  if (typeof value === 'string') return stringSize(value)
  if (typeof value === 'number') costs += numberCost(value)
  if (typeof value !== 'object' || value === null) return String(value).length
  let size = 1 // one bracket; each element adds a comma or the other bracket
  if (Array.isArray(value)) {
    for (const element of value) size += jsonSize(element) + 1
    costs += ARRAY_COST + ELEMENT_COST * value.length
  } else {
    for (const key of Object.keys(value)) {
      const member = (value as Record<string, unknown>)[key]
      if (member === undefined) continue
      size += stringSize(key) + jsonSize(member) + 2
      costs += PROPERTY_COST
    }
    costs += OBJECT_COST
  }
  return Math.max(2, size)
}

function stringSize(text: string): number {
  costs += STRING_COST + text.length
  if (PLAIN.test(text)) return text.length + 2
  costs += textCost(text) - text.length
  return textSize(text)
}

/** The bytes of a text as JSON. It is called for each text, so ASCII is looked up. */
function textSize(text: string): number {
  // The platform counts long texts ten times as fast. Calling it costs more than a short text.
  if (text.length > LONG_TEXT && !ESCAPED.test(text)) {
    const bytes = utf8Length(text)
    if (bytes !== undefined) return bytes + 2
  }
  let size = 2
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    size += unit < 0x80 ? (ASCII_SIZES[unit] ?? 1) : unit < 0x800 || isSurrogate(unit) ? 2 : 3
  }
  return size
}
const PLAIN = /^[ !#-[\]-~]*$/
/** What JSON escapes. */
const ESCAPED = /["\\\0-\x1f]/
const LONG_TEXT = 256

/** A surrogate counts half of its pair. */
function isSurrogate(unit: number): boolean {
  return (unit & 0xf800) === 0xd800
}

/** The bytes of each character of ASCII in a JSON string. */
const ASCII_SIZES = Uint8Array.from(
  { length: 0x80 },
  (_, unit) => JSON.stringify(String.fromCharCode(unit)).length - 2,
)
