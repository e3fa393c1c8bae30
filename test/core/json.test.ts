import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { copyJson, freezeDeep, JsonReader, jsonSize } from '../../src/core/json.js'

const limit = { option: 'maxInputSize', subject: 'Input', maxBytes: 1_000_000 }

/** JSON with every kind of character, and no -0, which JSON does not have. */
const json = fc
  .jsonValue({ stringUnit: 'binary' })
  .map((value) => JSON.parse(JSON.stringify(value)) as unknown)
  .filter((value) => !/"(?:__proto__|constructor)":/.test(JSON.stringify(value)))
  .filter((value) => !/\\ud[89a-f]/.test(JSON.stringify(value)))

describe('jsonSize', () => {
  test('is the length of the UTF-8 JSON', () => {
    fc.assert(fc.property(json, (value) => jsonSize(value) === Buffer.byteLength(JSON.stringify(value))))
  })

  test.each([
    '',
    'é',
    '😀',
    '\u0000\b\t\n\f\r\u001f',
    '"\\',
    '\u007f\u0080\u07ff\u0800\uffff',
    1e21,
    0.1,
    -5,
    [],
    {},
  ])('of %j', (value) => {
    expect(jsonSize(value)).toBe(Buffer.byteLength(JSON.stringify(value)))
  })
})

describe('JsonReader', () => {
  test('copies JSON, and never underestimates its size', () => {
    fc.assert(
      fc.property(json, (value) => {
        const taker = new JsonReader(limit, 100)
        expect(taker.read(value, 'input')).toEqual(value)
        expect(taker.atMost).toBeGreaterThanOrEqual(jsonSize(value))
      }),
    )
  })

  test('accepts exactly what the limit allows', () => {
    fc.assert(
      fc.property(json, fc.integer({ min: -2, max: 2 }), (value, slack) => {
        const taker = new JsonReader({ ...limit, maxBytes: Math.max(1, jsonSize(value) + slack) }, 100)
        const check = (): void => taker.check(taker.read(value, 'input'))
        if (slack >= 0 || jsonSize(value) === 1) check()
        else expect(check).toThrow('exceeds maxInputSize')
      }),
    )
  })
})

test('freezeDeep does not freeze a copy of copyJson, and copies of frozen values are not frozen', () => {
  fc.assert(
    fc.property(json, (value) => {
      const copy = copyJson(value)
      freezeDeep(value)
      expect(copy).toEqual(value)
      const isFrozen = (each: unknown): boolean =>
        typeof each === 'object' && each !== null && Object.isFrozen(each)
      expect(isFrozen(copy)).toBe(false)
      expect(isFrozen(copyJson(value))).toBe(false)
    }),
  )
})
