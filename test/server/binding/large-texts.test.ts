/** The texts of large answers: made in pieces, equal to JSON.stringify, shared by readers, within their bytes. */
import { describe, expect, it } from 'vitest'
import { jsonPieces, lengthUpTo, measure, PIECE_LENGTH } from '../../../src/server/binding/json-pieces.js'
import { LargeTexts, type LargeText } from '../../../src/server/binding/large-texts.js'
import type { JsonValue, ReadonlyJson } from '../../../src/core/json-types.js'

const LONG = 'x'.repeat(3 * PIECE_LENGTH)
const PAIRS = '😀'.repeat(PIECE_LENGTH)

function textOf(pieces: Iterable<string | Uint8Array>): string {
  return [...pieces]
    .map((piece) => (typeof piece === 'string' ? piece : Buffer.from(piece).toString()))
    .join('')
}

function piecesOf(text: LargeText): (string | Uint8Array)[] {
  const pieces: (string | Uint8Array)[] = []
  for (let piece = text.next(); piece !== undefined; piece = text.next()) pieces.push(piece)
  return pieces
}

const frozen = (): ReadonlyJson =>
  Object.freeze([Object.freeze({ text: LONG }), Object.freeze({ text: `é${LONG}` })])

describe('pieces', () => {
  it.each<[string, ReadonlyJson]>([
    ['a scalar', 3],
    ['empty values', { a: [], b: {}, c: '', d: [[], {}, '', null] }],
    ['a long string', LONG],
    ['escapes', `${'"\\\n\u0007'.repeat(PIECE_LENGTH)}\ud800`],
    ['surrogate pairs at each position', [PAIRS, `a${PAIRS}`, { [PAIRS]: PAIRS }]],
    ['many short items', Array.from({ length: 50_000 }, (_, index) => ({ index, text: 'short' }))],
    ['many keys', Object.fromEntries(Array.from({ length: 9_000 }, (_, index) => [`key ${index}`, index]))],
    ['long and short items in turn', [1, LONG, 2, 3, { a: LONG, b: 1 }, [LONG], null, true]],
  ])('are the text of JSON.stringify: %s', (_, value) => {
    const pieces = [...jsonPieces(value, undefined, 'head', 'tail')]
    expect(textOf(pieces) === `head${JSON.stringify(value)}tail`).toBe(true)
    // An escape takes six characters.
    for (const piece of pieces) expect(piece.length).toBeLessThan(8 * PIECE_LENGTH)
  })

  it('omit values that JSON omits', () => {
    // Codecs may leave a property undefined.
    const value = { a: undefined, b: LONG } as unknown as ReadonlyJson
    expect(textOf(jsonPieces(value)) === JSON.stringify(value)).toBe(true)
  })

  it('are measured no further than they need to be', () => {
    const visited: string[] = []
    const value = [LONG, new Proxy({}, { ownKeys: () => (visited.push('x'), []) })]
    expect(lengthUpTo(10, value)).toBeGreaterThan(10)
    expect(visited).toEqual([])
  })
})

describe('an answer that was encoded', () => {
  const plain = { encode: (view: unknown): JsonValue => view as JsonValue }

  it.each([
    ['is large, and so is the response of JSON-RPC with it', LONG, true],
    ['is not large if it is short', 'short', false],
  ])('%s', (_, text, isLarge) => {
    const texts = new LargeTexts(1_000_000, () => true)
    const json = texts.encode(plain, { text }, undefined)
    expect(texts.isLarge(json)).toBe(isLarge)
    expect(texts.isLarge({ jsonrpc: '2.0', id: 1, result: json })).toBe(isLarge)
  })
})

describe('an answer of many long parts', () => {
  const PARTS = 40
  const part = (): ReadonlyJson => Object.freeze(Array.from({ length: 12_000 }, () => Object.freeze([])))

  it('leaves other work its turn while its parts are measured and made', async () => {
    const texts = new LargeTexts(100_000_000, () => true)
    const value = Array.from({ length: PARTS }, () => ({ history: [{ parts: [{ data: part() }] }] }))
    let turns = 0
    let isMade = false
    const count = (): void => {
      if (isMade) return
      turns += 1
      setImmediate(count)
    }
    setImmediate(count)
    const text = await texts.of(value)
    isMade = true
    expect(textOf(piecesOf(text)) === JSON.stringify(value)).toBe(true)
    // At least one for each few parts, while they are measured and while they are made.
    expect(turns).toBeGreaterThanOrEqual(PARTS / 2)
  })

  it('measures each frozen part once, however deep it is and however often it is shown', () => {
    let reads = 0
    const counted = new Proxy(Object.freeze(Array.from({ length: 20_000 }, () => 1)), {
      get(target, name): unknown {
        if (typeof name === 'string' && /^\d+$/.test(name)) reads += 1
        return Reflect.get(target, name)
      },
    })
    let value: ReadonlyJson = counted
    for (let level = 0; level < 90; level += 1) value = Object.freeze([value])
    expect([...measure(value)].length).toBeGreaterThan(0)
    const before = reads
    expect([...measure([value, value])]).toHaveLength(1)
    expect(lengthUpTo(Infinity, value)).toBeGreaterThan(20_000)
    expect(reads).toBe(before)
    expect(before).toBeLessThan(5 * 20_000)
  })
})

describe('shared texts', () => {
  it('are made once for each frozen value, for all that read it', async () => {
    const texts = new LargeTexts(1_000_000, () => true)
    const value = frozen()
    const [one, two] = await Promise.all([
      texts.of({ id: 1, result: value }),
      texts.of([value], 'data: ', '\n\n'),
    ])
    const [first, second] = [piecesOf(one), piecesOf(two)]
    expect(textOf(first) === JSON.stringify({ id: 1, result: value })).toBe(true)
    expect(textOf(second) === `data: ${JSON.stringify([value])}\n\n`).toBe(true)
    const third = piecesOf(await texts.of({ result: value }))
    const bytes = first.filter((piece) => typeof piece !== 'string')
    expect(bytes.length).toBeGreaterThan(5)
    for (const later of [second, third]) {
      later.filter((piece) => typeof piece !== 'string').forEach((piece, at) => expect(piece).toBe(bytes[at]))
    }
  })

  it('are left out where there is no room for them', async () => {
    const texts = new LargeTexts(100_000, () => true)
    const value = frozen()
    const pieces = piecesOf(await texts.of({ value }))
    expect(pieces.every((piece) => typeof piece === 'string')).toBe(true)
    expect(textOf(pieces) === JSON.stringify({ value })).toBe(true)
  })

  it('give way to others once nothing reads them', async () => {
    const texts = new LargeTexts(250_000, () => true)
    const [a, b] = [frozen(), frozen()]
    const isShared = (text: LargeText): boolean => piecesOf(text).some((piece) => typeof piece !== 'string')
    const reading = await texts.of({ a })
    expect(isShared(await texts.of({ b }))).toBe(false)
    reading.release()
    reading.release()
    expect(isShared(await texts.of({ b }))).toBe(true)
    // It was read last, and gives way again.
    expect(isShared(await texts.of({ a }))).toBe(true)
  })

  it('count the bytes of characters that take several', async () => {
    // 200,000 characters, but 600,000 bytes.
    const value = Object.freeze({ text: '語'.repeat(200_000) })
    const texts = new LargeTexts(400_000, () => true)
    const pieces = piecesOf(await texts.of({ value }))
    expect(pieces.every((piece) => typeof piece === 'string')).toBe(true)
    expect(textOf(pieces) === JSON.stringify({ value })).toBe(true)
    // The room is free again.
    const next = Object.freeze({ text: 'a'.repeat(390_000) })
    expect(piecesOf(await texts.of({ next })).some((piece) => typeof piece !== 'string')).toBe(true)
  })

  it('encode a large task once for each kind of answer', () => {
    const texts = new LargeTexts(10_000_000, () => true)
    let count = 0
    const encoder = { encode: () => ({ count: (count += 1), text: LONG }) }
    const task = Object.freeze({ id: 'a' })
    const view = { type: 'task', task, historyLength: undefined }
    const json = texts.encode(encoder, view, view)
    expect(texts.encode(encoder, { ...view }, view)).toBe(json)
    expect(texts.encode(encoder, { ...view, historyLength: 1 }, view)).not.toBe(json)
    expect(texts.encode({ encode: () => LONG }, view, view)).toBe(LONG)
    expect(texts.encode(encoder, { ...view, task: Object.freeze({ id: 'a' }) }, view)).not.toBe(json)
    expect(count).toBe(3)
  })
})
