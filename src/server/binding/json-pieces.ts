/**
 * JSON text made in pieces, so that a large answer takes neither much memory nor the process for long.
 *
 * @module
 */
import type { ReadonlyJson } from '../../core/json-types.js'

/** About how many characters a piece has. */
export const PIECE_LENGTH = 32_768

/** Text that is made already, by the value whose JSON it is. */
export type MadeTexts = (value: object) => readonly Uint8Array[] | undefined

type Piece = string | Uint8Array
type JsonRecord = Readonly<Record<string, ReadonlyJson | undefined>>

/** How long the JSON of a frozen value is, as far as it was measured: more than `length`, unless it `isWhole`. */
interface Measured {
  readonly length: number
  readonly isWhole: boolean
}

/** Each level that a value is within would measure it again. Short values are measured as fast as they are looked up. */
const measured = new WeakMap<object, Measured>()
const MIN_REMEMBERED = 1_024

/** The approximate length of the JSON of `value`. Does not look further once it exceeds `max`. */
export function lengthUpTo(max: number, value: ReadonlyJson | undefined): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return 8
  const known = measured.get(value)
  if (known !== undefined && (known.isWhole || known.length > max)) return known.length
  const length = measureUpTo(max, value)
  if (length >= MIN_REMEMBERED && Object.isFrozen(value))
    measured.set(value, { length, isWhole: length <= max })
  return length
}

/**
 * Measures all of `value`, so that {@link lengthUpTo} knows each frozen part. Yields after each part that is longer than a
 * piece: measuring a value of a million parts would block the process.
 */
export function* measure(value: ReadonlyJson | undefined): Generator<undefined, void> {
  if (typeof value !== 'object' || value === null || measured.get(value)?.isWhole) return
  for (const part of Object.values<ReadonlyJson | undefined>(value)) {
    if (lengthUpTo(PIECE_LENGTH, part) > PIECE_LENGTH) yield* measure(part)
  }
  lengthUpTo(Infinity, value)
  yield
}

function measureUpTo(max: number, value: object & ReadonlyJson): number {
  let length = 2
  if (isArray(value)) {
    for (const item of value) {
      length += 1 + lengthUpTo(max - length, item)
      if (length > max) return length
    }
    return length
  }
  for (const key in value) {
    length += key.length + 4 + lengthUpTo(max - length, value[key])
    if (length > max) return length
  }
  return length
}

/** The text of `JSON.stringify(value)` between `head` and `tail`, in pieces. A value that `made` knows is not made again. */
export function* jsonPieces(
  value: ReadonlyJson,
  made: MadeTexts = () => undefined,
  head = '',
  tail = '',
): Generator<Piece, undefined> {
  let text = head
  for (const part of expand(value, made)) {
    if (typeof part === 'string') {
      text += part
      if (text.length < PIECE_LENGTH) continue
      yield text
      text = ''
    } else {
      if (text !== '') yield text
      text = ''
      yield part
    }
  }
  text += tail
  if (text !== '') yield text
  return undefined
}

function* expand(value: ReadonlyJson, made: MadeTexts): Generator<Piece, void> {
  if (typeof value === 'string') yield* expandString(value)
  else if (typeof value !== 'object' || value === null) yield JSON.stringify(value)
  else {
    const bytes = made(value)
    if (bytes !== undefined) yield* bytes
    else if (isArray(value)) yield* expandArray(value, made)
    else yield* expandObject(value, made)
  }
}

/** Items that are short are made together: one call for each would take several times as long. */
function* expandArray(items: readonly ReadonlyJson[], made: MadeTexts): Generator<Piece, void> {
  let separator = '['
  for (let at = 0; at < items.length;) {
    let end = at
    for (let length = 0; end < items.length; end += 1) {
      length += lengthUpTo(PIECE_LENGTH - length, items[end])
      if (length > PIECE_LENGTH) break
    }
    yield separator
    separator = ','
    const item = items[at]
    if (end > at) yield JSON.stringify(items.slice(at, end)).slice(1, -1)
    else if (item !== undefined) yield* expand(item, made)
    at = Math.max(end, at + 1)
  }
  yield items.length === 0 ? '[]' : ']'
}

/** Properties that are short are joined before they are yielded, for the same reason. */
function* expandObject(value: JsonRecord, made: MadeTexts): Generator<Piece, void> {
  let text = '{'
  let separator = ''
  for (const [key, property] of Object.entries(value)) {
    if (property === undefined) continue
    text += `${separator}${JSON.stringify(key)}:`
    separator = ','
    const isShort = lengthUpTo(PIECE_LENGTH, property) <= PIECE_LENGTH
    if (isShort) text += JSON.stringify(property)
    if (isShort && text.length < PIECE_LENGTH) continue
    yield text
    text = ''
    if (!isShort) yield* expand(property, made)
  }
  yield `${text}}`
}

function* expandString(text: string): Generator<string, void> {
  yield '"'
  for (let at = 0; at < text.length;) {
    let end = Math.min(text.length, at + PIECE_LENGTH)
    // The halves of a surrogate pair would be escaped, each for itself.
    if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end += 1
    yield JSON.stringify(text.slice(at, end)).slice(1, -1)
    at = end
  }
  yield '"'
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}

function isArray(value: object): value is readonly ReadonlyJson[] {
  return Array.isArray(value)
}
