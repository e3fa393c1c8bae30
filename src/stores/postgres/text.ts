/**
 * Text forms of names, JSON and lists that every driver and column preserves.
 *
 * @module
 */
import type { JsonValue } from '../../core/json-types.js'

const ESCAPES = new Map([
  ['~', '~~'],
  ['\0', '~0'],
  ['\uFEFF', '~f'],
])
const ESCAPED = new Map([...ESCAPES].map(([character, escaped]) => [escaped, character]))
/** Prefix of a packed name. An escaped name never begins with it. */
const PACKED = '~z'
/** An index entry holds 2,704 bytes, and a name of this size leaves room for the other columns of our indexes. */
const MAX_BYTES = 2_600

/**
 * The form of a name in a column. U+0000 is escaped because PostgreSQL cannot store it, and U+FEFF because PGlite drops
 * it at the start of a text. Names too large for an index entry (hundreds of characters of three bytes each) are
 * packed. Different names stay different, and all others are stored unchanged.
 */
export function toColumn(name: string): string {
  const escaped = name.replace(/[~\0\uFEFF]/g, (character) => ESCAPES.get(character) ?? character)
  return escaped.length > MAX_BYTES / 3 && maxBytes(escaped) > MAX_BYTES ? PACKED + pack(name) : escaped
}

/** The inverse of {@link toColumn}. */
export function fromColumn(column: string): string {
  if (column.startsWith(PACKED)) return unpack(column.slice(PACKED.length))
  return column.replace(/~[~0f]/g, (pair) => ESCAPED.get(pair) ?? pair)
}

/**
 * A missing owner is stored as the empty text. Owners are never empty, and an index keeps the empty text in order,
 * unlike null.
 */
export function toOwner(owner: string | null | undefined): string {
  return owner == null ? '' : toColumn(owner)
}

/** An upper bound of the length in UTF-8. A surrogate pair counts as six bytes and takes four. */
function maxBytes(text: string): number {
  let bytes = 0
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index)
    bytes += unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3
  }
  return bytes
}

/** Packing writes two UTF-16 units as five base-85 digits, all of them ASCII, and a single last unit as three. */
const BASE = 85
const FIRST_DIGIT = 0x28

function pack(name: string): string {
  let packed = ''
  for (let index = 0; index < name.length; index += 2) {
    const isPair = index + 1 < name.length
    let rest = isPair ? name.charCodeAt(index) * 0x10000 + name.charCodeAt(index + 1) : name.charCodeAt(index)
    let digits = ''
    for (let count = 0; count < (isPair ? 5 : 3); count += 1) {
      digits = String.fromCharCode(FIRST_DIGIT + (rest % BASE)) + digits
      rest = Math.floor(rest / BASE)
    }
    packed += digits
  }
  return packed
}

function unpack(packed: string): string {
  let name = ''
  for (let index = 0; index < packed.length; index += 5) {
    const digits = packed.slice(index, index + 5)
    let value = 0
    for (const digit of digits) value = value * BASE + (digit.charCodeAt(0) - FIRST_DIGIT)
    name +=
      digits.length === 5 ? String.fromCharCode(value >>> 16, value & 0xffff) : String.fromCharCode(value)
  }
  return name
}

/** Writes an array literal, because drivers convert arrays differently but pass text unchanged. */
export function toArray(texts: readonly (string | null)[]): string {
  return `{${texts.map((text) => (text === null ? 'NULL' : `"${text.replace(/["\\]/g, '\\$&')}"`)).join(',')}}`
}

/**
 * Like `toArray`, for texts that are JSON and therefore have no control characters. Fast enough for texts of many
 * megabytes.
 */
export function toJsonArray(texts: readonly string[]): string {
  return `{${texts.map((text) => JSON.stringify(text)).join(',')}}`
}

export function toJson(value: unknown): string {
  return JSON.stringify(value)
}

/** Parses text written by {@link toJson}. The caller knows its type. */
export function fromJson(text: string): JsonValue {
  return JSON.parse(text) as JsonValue
}
