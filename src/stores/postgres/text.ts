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
/** What a packed name begins with, and an escaped one does not. */
const PACKED = '~z'
/** An entry of an index takes 2,704 bytes at most, and beside a name of this size the other columns of ours. */
const MAX_BYTES = 2_600

/**
 * A name as it is in a column: itself, but for U+0000, which PostgreSQL does not hold, for U+FEFF, which a driver (that of
 * PGlite) drops where a text begins with it, and for names that an index does not hold: those of hundreds of characters
 * that take three bytes each. Different names stay different.
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

/** Names are not empty: so none is the empty one, which an index finds in order, unlike null. */
export function toOwner(owner: string | null | undefined): string {
  return owner == null ? '' : toColumn(owner)
}

/** In UTF-8. A pair of surrogates counts as six, and takes four. */
function maxBytes(text: string): number {
  let bytes = 0
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index)
    bytes += unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3
  }
  return bytes
}

/** Two UTF-16 units become five digits to the base 85, which are of ASCII; one unit at the end becomes three. */
const BASE = 85
const FIRST_DIGIT = 0x28

function pack(name: string): string {
  let packed = ''
  for (let index = 0; index < name.length; index += 2) {
    const isPair = index + 1 < name.length
    let rest = isPair ? name.charCodeAt(index) * 0x10000 + name.charCodeAt(index + 1) : name.charCodeAt(index)
    let digits = ''
    for (let place = 0; place < (isPair ? 5 : 3); place += 1) {
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

/** As a literal of an array of text: drivers differ in what they make of arrays, and agree on text. */
export function toArray(texts: readonly string[]): string {
  return `{${texts.map((text) => `"${text.replace(/["\\]/g, '\\$&')}"`).join(',')}}`
}

/** As `toArray`, of texts that are JSON: they have no control characters. As fast as texts of many megabytes want it. */
export function toJsonArray(texts: readonly string[]): string {
  return `{${texts.map((text) => JSON.stringify(text)).join(',')}}`
}

export function toJson(value: unknown): string {
  return JSON.stringify(value)
}

/** What {@link toJson} was given, of which the caller knows the type. */
export function fromJson(text: string): JsonValue {
  return JSON.parse(text) as JsonValue
}
