/** Values that JSON does not have: kept with tags, and restored as what they were. */
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { A2AError } from '../../src/core/errors.js'
import { JsonReader, jsonSize } from '../../src/core/json.js'
import { fromTagged, TAGS } from '../../src/core/tagged-json.js'

const limit = { option: 'maxStepBytes', subject: 'Output', maxBytes: 100_000 }

function keep(value: unknown, maxBytes = limit.maxBytes, maxDepth = 100) {
  const reader = new JsonReader({ ...limit, maxBytes }, maxDepth, false, TAGS)
  const kept = reader.readTagged(value, 'output')
  reader.check(kept.json)
  return { ...kept, atMost: reader.atMost, cost: reader.cost }
}

/** Through the text that a store keeps. */
function stored(value: unknown): unknown {
  const { json, tagged } = keep(value)
  const read = JSON.parse(JSON.stringify(json)) as never
  return tagged === true ? fromTagged(read, 'output') : read
}

class Point {
  readonly x = 1
  norm(): number {
    return this.x
  }
}
class Cents {
  toJSON(): number {
    return 1
  }
}
class Cache extends Map {}
class Floats extends Uint8Array {}

/** As a class of a program defines it. */
function error({ name = 'Error', ...properties }: Record<string, unknown>): Error {
  const made = Object.assign(new Error('Full'), properties)
  return name === 'Error' ? made : Object.defineProperty(made, 'name', { value: name })
}

describe('a value is kept as', () => {
  test.each([
    ['a Date', new Date(1e12), { $Date: '2001-09-09T01:46:40.000Z' }],
    ['a Date that is none', new Date(NaN), { $Date: null }],
    ['a Date of the year 275760', new Date(8.64e15), { $Date: '+275760-09-13T00:00:00.000Z' }],
    ['undefined', undefined, { $undefined: true }],
    ['undefined in an object', { a: undefined, b: 1 }, { a: { $undefined: true }, b: 1 }],
    ['undefined in an array', [undefined], [{ $undefined: true }]],
    ['NaN', NaN, { $number: 'NaN' }],
    ['Infinity', Infinity, { $number: 'Infinity' }],
    ['-Infinity', -Infinity, { $number: '-Infinity' }],
    ['-0', -0, { $number: '-0' }],
    ['a BigInt', -(2n ** 64n), { $BigInt: '-18446744073709551616' }],
    ['bytes', new Uint8Array([1, 2, 255]), { $Uint8Array: 'AQL/' }],
    ['a Buffer', Buffer.from('é'), { $Buffer: 'w6k=' }],
    [
      'a Map',
      new Map<unknown, unknown>([
        ['a', 1],
        [{ b: 2 }, new Date(0)],
      ]),
      {
        $Map: [
          ['a', 1],
          [{ b: 2 }, { $Date: '1970-01-01T00:00:00.000Z' }],
        ],
      },
    ],
    ['a Set', new Set([1, 'a', undefined]), { $Set: [1, 'a', { $undefined: true }] }],
    ['a RegExp', /a\/b[/]"/giu, { $RegExp: '/a\\/b[/]"/giu' }],
    ['a URL', new URL('https://example.com/a?b=c#d'), { $URL: 'https://example.com/a?b=c#d' }],
    ['an Error', new Error('Full'), { $Error: { name: 'Error', message: 'Full' } }],
    [
      'a TypeError with a cause',
      new TypeError('Full', { cause: new RangeError('9') }),
      {
        $Error: {
          name: 'TypeError',
          message: 'Full',
          cause: { $Error: { name: 'RangeError', message: '9' } },
        },
      },
    ],
    [
      'an error of a program',
      error({ name: 'PaymentError', code: 'E1', at: new Date(0) }),
      {
        $Error: {
          name: 'PaymentError',
          message: 'Full',
          code: 'E1',
          at: { $Date: '1970-01-01T00:00:00.000Z' },
        },
      },
    ],
    [
      'an AggregateError',
      new AggregateError([new Error('a')], 'All'),
      {
        $Error: {
          name: 'AggregateError',
          message: 'All',
          errors: [{ $Error: { name: 'Error', message: 'a' } }],
        },
      },
    ],
    [
      'an error of this library',
      new A2AError('TASK_NOT_FOUND', 'Gone', { taskId: 't' }),
      {
        $A2AError: { code: 'TASK_NOT_FOUND', message: 'Gone', data: { taskId: 't' } },
      },
    ],
    [
      'what looks like a tag',
      [{ $Date: 'today' }, { $: 1 }, { $set: { a: -0 } }, { $a: 1, b: 2 }],
      [
        { $: { $Date: 'today' } },
        { $: { $: 1 } },
        { $: { $set: { a: { $number: '-0' } } } },
        { $a: 1, b: 2 },
      ],
    ],
  ])('%s', (_name, value, json) => {
    const kept = keep(value)
    expect(kept.json).toEqual(json)
    expect(kept.tagged).toBe(true)
    const read = stored(value)
    expect(read).toStrictEqual(value)
    expect(Object.getPrototypeOf(Object(read))).toBe(Object.getPrototypeOf(Object(value)))
    expect(kept.atMost).toBeGreaterThanOrEqual(jsonSize(json))
  })
})

test('an error is restored with its properties as they were', () => {
  const read = stored(error({ code: 'E1', name: 'PaymentError' })) as Error
  expect(Object.keys(read)).toEqual(['code'])
  expect(String(read)).toBe('PaymentError: Full')
})

test('an abort of a request is an error', () => {
  const read = stored(AbortSignal.abort().reason)
  expect(read).toBeInstanceOf(Error)
  expect(read).toMatchObject({ name: 'AbortError', message: 'This operation was aborted' })
})

test('values of another realm are restored as those of this one', () => {
  const other = runInNewContext(
    '({ at: new Date(0), map: new Map([[1, new Set([2])]]), fault: new TypeError("No"), bytes: new Uint8Array([1]) })',
  ) as unknown
  expect(stored(other)).toStrictEqual({
    at: new Date(0),
    map: new Map([[1, new Set([2])]]),
    fault: new TypeError('No'),
    bytes: new Uint8Array([1]),
  })
})

describe('plain JSON', () => {
  const json = fc
    .jsonValue({ stringUnit: 'grapheme' })
    .map((value) => JSON.parse(JSON.stringify(value)) as unknown)
    .filter((value) => !/"(?:__proto__|constructor)":/.test(JSON.stringify(value)))

  test('is kept byte for byte, without a mark, at the same cost', () => {
    fc.assert(
      fc.property(json, (value) => {
        const reader = new JsonReader(limit, 100)
        const before = reader.read(value, 'output')
        const kept = keep(value)
        expect(JSON.stringify(kept.json)).toBe(JSON.stringify(before))
        expect(kept).not.toHaveProperty('tagged')
        expect([kept.atMost, kept.cost]).toEqual([reader.atMost, reader.cost])
      }),
    )
  })

  test.each([{ $Date: 'today' }, { $: { $: [] } }, [{ $Map: 1 }]])('%j is kept as it is', (value) => {
    expect(keep(value)).toMatchObject({ json: value })
    expect(keep(value)).not.toHaveProperty('tagged')
    expect(stored(value)).toEqual(value)
  })
})

describe('any value', () => {
  const key = fc
    .oneof(fc.string(), fc.constantFrom('$', '$Date', '$Map', '$Error', '$undefined'))
    .filter((name) => name !== '__proto__' && name !== 'constructor')
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.string(),
      fc.double(),
      fc.boolean(),
      fc.constantFrom(null, undefined, -0),
      fc.bigInt(),
      fc.date({ noInvalidDate: false }),
      fc.uint8Array(),
      fc.webUrl().map((url) => new URL(url)),
      fc.constantFrom(/a/, /[/]\//gu, new RegExp('')),
      fc.array(tie('value')),
      fc.dictionary(key, tie('value'), { noNullPrototype: true }),
      fc.array(tie('value')).map((members) => new Set(members)),
      fc.array(fc.tuple(tie('value'), tie('value'))).map((members) => new Map(members)),
      fc.tuple(fc.string(), tie('value')).map(([message, cause]) => new TypeError(message, { cause })),
    ),
  }))

  test('is restored as it was', () => {
    fc.assert(
      fc.property(value, (given) => {
        const { json, atMost } = keep(given, 10_000_000)
        expect(stored(given)).toStrictEqual(given)
        expect(atMost).toBeGreaterThanOrEqual(jsonSize(json))
      }),
    )
  })
})

describe('is refused with its path', () => {
  const cycle: unknown[] = []
  cycle.push(new Map([['self', cycle]]))
  test.each([
    ['a function', { call: () => 1 }, 'output.call must be data, got a function: return plain data'],
    ['a symbol', [Symbol('a')], 'output[0] must be data, got a symbol: return plain data'],
    [
      'an instance',
      { at: new Point() },
      'output.at must be data, got an instance of Point: return plain data',
    ],
    [
      'what has a toJSON',
      { price: new Cents() },
      'output.price must be data, got an instance of Cents: return plain data, such as what its toJSON() returns',
    ],
    ['a promise', [Promise.resolve(1)], 'output[0] must be data, got an instance of Promise: await it'],
    [
      'a stream',
      new ReadableStream(),
      'output must be data, got an instance of ReadableStream: return plain data',
    ],
    ['a response', new Response(''), 'output must be data, got an instance of Response: return plain data'],
    ['a generator', (function* () {})(), 'output must be data, got an object: return plain data'],
    ['a derived Map', new Cache(), 'output must be data, got an instance of Cache: return plain data'],
    ['derived bytes', new Floats(1), 'output must be data, got an instance of Floats: return plain data'],
    ['other numbers', new Float32Array(1), 'output must be data, got an instance of Float32Array'],
    ['a weak map', new WeakMap(), 'output must be data, got an instance of WeakMap'],
    ['a Number', Object(1), 'output must be data, got an instance of Number'],
    [
      'in a Map',
      new Map([['a', new Map([[1, () => 1]])]]),
      'output.$Map[0][1].$Map[0][1] must be data, got a function',
    ],
    [
      'in an Error',
      error({ socket: new Point() }),
      'output.$Error.socket must be data, got an instance of Point',
    ],
    ['a cycle', cycle, 'is nested deeper than maxDepth (100), or refers to itself'],
    ['a name', { at: new Date(), constructor: 1 }, 'output.constructor is a name that careless code reads'],
    [
      'a pretended Map',
      { [Symbol.toStringTag]: 'Map', __proto__: { __proto__: Object.prototype } },
      'output could not be read',
    ],
    [
      'a getter that throws',
      {
        at: new Date(),
        get now() {
          throw new Error('No')
        },
      },
      'output.now could not be read',
    ],
  ])('%s', (_name, value, message) => {
    expect(() => keep(value)).toThrow(message)
    expect(() => keep(value)).toThrow(A2AError)
  })
})

describe('limits hold for', () => {
  test('depth, with the levels of the tags', () => {
    const nested = (depth: number, leaf: unknown): unknown => (depth === 0 ? leaf : [nested(depth - 1, leaf)])
    keep(nested(99, new Date()))
    expect(() => keep(nested(100, new Date()))).toThrow('is nested deeper than maxDepth (100)')
    expect(() => keep(nested(100, 1n))).toThrow('is nested deeper than maxDepth (100)')
    keep([{ $a: undefined }], 100, 4)
    expect(() => keep([{ $a: undefined }], 100, 3)).toThrow(
      'output[0].$.$a is nested deeper than maxDepth (3)',
    )
    keep(new Map([[1, []]]), 100, 4)
    expect(() => keep(new Map([[1, []]]), 100, 3)).toThrow('deeper')
  })

  test.each([
    ['bytes', new Uint8Array(9_000), 12_018],
    ['a Map', new Map([['a'.repeat(990), 1]]), 1_007],
    ['a Set', new Set(['a'.repeat(1_000)]), 1_013],
    ['undefined', Array.from({ length: 100 }), 2_001],
    ['escapes', Array.from({ length: 100 }, (_, at) => (at > 0 ? { $: 1 } : -0)), 1_404],
  ])('the size of %s', (_name, value, bytes) => {
    expect(jsonSize(keep(value, bytes).json)).toBe(bytes)
    expect(() => keep(value, bytes - 1)).toThrow(`Output size (${bytes} bytes) exceeds maxStepBytes`)
  })

  test('bytes that would fill the memory', () => {
    expect(() => keep(new Uint8Array(2_000_000), 100_000)).toThrow('Output size (over 1600000 bytes) exceeds')
  })

  test('arrays of holes', () => {
    expect(() => keep(new Array(2 ** 32 - 1), 1_000)).toThrow('Output size (over 16000 bytes) exceeds')
  })

  test('a value that refers to others many times', () => {
    let laughs: unknown = new Map([['ha', -0]])
    for (let level = 0; level < 24; level += 1) laughs = new Set([[laughs], [laughs]])
    expect(() => keep(laughs, 1_000)).toThrow('Output size (over 16000 bytes) exceeds')
  })

  test('a BigInt of a million digits', () => {
    const max = 10n ** 10_000n - 1n
    expect(stored([max, -max])).toEqual([max, -max])
    for (const value of [max + 1n, -max - 1n, 1n << 4_000_000n])
      expect(() => keep({ value })).toThrow('output.value is a BigInt of more than 10000 digits')
  })
})

describe('what is stored', () => {
  let deep: unknown = 1
  for (let level = 0; level < 100_000; level += 1) deep = [deep]
  test.each([
    ['an unknown tag', { $Temporal: '2026' }],
    ['a tag of Object.prototype', JSON.parse('{"$toString":1}')],
    ['a number that is one', { $number: '1' }],
    ['a number that is none', { $number: 'x' }],
    ['a BigInt that is none', { $BigInt: '0x10' }],
    ['a BigInt of a million digits', { $BigInt: '9'.repeat(1_000_000) }],
    ['a Date that is none', { $Date: 'tomorrow' }],
    ['a Date that is a number', { $Date: 1 }],
    ['bytes that are not base64', { $Uint8Array: '*' }],
    ['bytes that are numbers', { $Buffer: [1] }],
    ['a Map of numbers', { $Map: [1] }],
    ['a Map of threes', { $Map: [[1, 2, 3]] }],
    ['a Map with a single', { $Map: [[1]] }],
    ['a Map with a length', { $Map: { length: 4_000_000_000 } }],
    ['a Set that is none', { $Set: 'abc' }],
    ['a RegExp that is none', { $RegExp: '/(/' }],
    ['a RegExp with unknown flags', { $RegExp: '/a/_' }],
    ['a URL that is none', { $URL: 'here' }],
    ['an Error that is a text', { $Error: 'No' }],
    ['an Error without a message', { $Error: { name: 'Error' } }],
    ['an A2AError without a code', { $A2AError: { message: 'No', data: {} } }],
    ['an escaped array', { $: [] }],
    ['too deep a value', deep],
    ['too deep a Map', Array.from({ length: 600 }).reduce<unknown>((inner) => ({ $Map: [[1, inner]] }), 1)],
  ])('is refused: %s', (_name, json) => {
    const error = rejection(() => fromTagged(json as never, 'output'))
    expect(A2AError.is(error, 'INVALID_PARAMS')).toBe(true)
    expect(error).toMatchObject({
      message: 'output holds a tag that this version of a2a-tasks does not read',
    })
  })

  test.each([
    '{"__proto__":{"polluted":true},"at":{"$Date":null}}',
    '{"$":{"__proto__":{"polluted":true}}}',
    '{"$Error":{"name":"Error","message":"","__proto__":{"polluted":true}}}',
    '{"$Error":{"name":"__proto__","message":"","constructor":{"prototype":{"polluted":true}}}}',
    '{"$A2AError":{"code":"__proto__","message":"","data":{"__proto__":{"polluted":true}},"__proto__":{"cause":1}}}',
    '{"$Map":[["__proto__",{"polluted":true}]]}',
  ])('reaches no prototype: %s', (text) => {
    const read = fromTagged(JSON.parse(text) as never, 'output') as object
    expect({}).not.toHaveProperty('polluted')
    expect(new Error()).not.toHaveProperty('polluted')
    expect(Reflect.get(read, 'polluted')).toBeUndefined()
  })

  test('is not shared by what is restored from it', () => {
    const json = Object.freeze({ $Map: [['a', { b: [] }]] }) as never
    const [first, second] = [fromTagged(json, 'output'), fromTagged(json, 'output')] as Map<string, object>[]
    expect(first?.get('a')).not.toBe(second?.get('a'))
  })

  test('never throws anything but one error, whatever it is', () => {
    const tag = fc.constantFrom(
      ...['$', '$undefined', '$number', '$BigInt', '$Date', '$Uint8Array', '$Buffer', '$Map', '$Set'],
      ...[
        '$RegExp',
        '$URL',
        '$Error',
        '$A2AError',
        '$Other',
        'name',
        'message',
        'code',
        '__proto__',
        'constructor',
      ],
    )
    const { json } = fc.letrec<{ json: unknown }>((tie) => ({
      json: fc.oneof(
        fc.jsonValue(),
        fc.array(tie('json')),
        fc
          .dictionary(tag, tie('json'), { maxKeys: 3 })
          .map((each) => JSON.parse(JSON.stringify(each)) as unknown),
      ),
    }))
    fc.assert(
      fc.property(json, (value) => {
        const error = rejection(() => fromTagged(value as never, 'output'))
        expect(error === undefined || A2AError.is(error, 'INVALID_PARAMS')).toBe(true)
      }),
    )
  })
})

function rejection(call: () => unknown): unknown {
  try {
    call()
    return undefined
  } catch (error) {
    return error
  }
}
