/** The schemas that the library reads with, and those of zod that are made of them: the same values, the same faults. */
import { describe, expect, it } from 'vitest'
import * as card from '../../src/schemas/agent-card.js'
import * as artifact from '../../src/schemas/artifact.js'
import * as events from '../../src/schemas/events.js'
import * as rpc from '../../src/schemas/json-rpc.js'
import * as publicSchemas from '../../src/schemas/index.js'
import * as json from '../../src/schemas/json.js'
import * as message from '../../src/schemas/message.js'
import * as part from '../../src/schemas/part.js'
import * as push from '../../src/schemas/push.js'
import * as received from '../../src/schemas/received.js'
import * as requests from '../../src/schemas/requests.js'
import {
  dateTime,
  nonEmptyString,
  nullish,
  object,
  optional,
  record,
  string,
  unknown,
} from '../../src/schemas/scalars.js'
import { Fault, type Schema } from '../../src/schemas/schema.js'
import * as security from '../../src/schemas/security.js'
import * as task from '../../src/schemas/task.js'
import { toZod } from '../../src/schemas/zod.js'
import * as v01 from '../../src/compat/v0-1/schemas.js'
import * as v03 from '../../src/wire/v0-3/schemas.js'

const own = {
  AnyTime: dateTime({ local: true, error: 'must be an ISO 8601 timestamp' }),
  Optional: object({ text: nullish(string), any: optional(unknown), texts: record(nonEmptyString) }),
}

const OF_1_0 = [artifact, card, events, json, message, part, push, received, requests, rpc, security, task]
const SCHEMAS = [...OF_1_0, v01, v03, own]
  .flatMap((module): [string, unknown][] => Object.entries(module))
  .filter((entry): entry is [string, Schema] => isSchema(entry[1]))

function isSchema(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'read' in value && 'definition' in value
}

/** Numbers from 0 to below 1, always the same ones. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

class Generator {
  readonly #random: () => number

  constructor(seed: number) {
    this.#random = randomFrom(seed)
  }

  happens(probability: number): boolean {
    return this.#random() < probability
  }

  pick<T>(values: readonly T[]): T | undefined {
    return values[this.below(values.length)]
  }

  below(limit: number): number {
    return Math.floor(this.#random() * limit)
  }

  /** A value that the schema accepts, or seldom one that only its type allows. */
  valueOf(schema: Schema): unknown {
    for (let attempt = 1; ; attempt += 1) {
      const value = this.#ofType(schema)
      if (attempt === 30 || !(schema.read(value) instanceof Fault) || this.happens(0.02)) return value
    }
  }

  #ofType({ definition }: Schema): unknown {
    switch (definition.type) {
      case 'string':
        return this.pick(TEXTS)
      case 'number':
        return this.pick(NUMBERS)
      case 'boolean':
        return this.happens(0.5)
      case 'dateTime':
        return this.pick(TIMES)
      case 'enum':
      case 'literal':
        return this.pick(definition.values)
      case 'list':
        return Array.from({ length: this.below(4) }, () => this.valueOf(definition.element))
      case 'record':
        return Object.fromEntries(KEYS.map((key) => [key, this.valueOf(definition.member)]))
      case 'object':
        return this.#objectOf(definition.shape)
      case 'optional':
        return this.valueOf(definition.inner)
      case 'nullable':
        return this.happens(0.3) ? null : this.valueOf(definition.inner)
      default:
        return this.pick(ANY)
    }
  }

  #objectOf(shape: Readonly<Record<string, Schema>>): object {
    const entries = Object.entries(shape).filter(
      ([, field]) => field.definition.type !== 'optional' || this.happens(0.4),
    )
    return Object.fromEntries(entries.map(([name, field]) => [name, this.valueOf(field)]))
  }

  /** `value` with something changed, at any depth. */
  changed(value: unknown): unknown {
    if (typeof value !== 'object' || value === null || this.happens(0.1)) return this.pick(ANY)
    const copy: object = Array.isArray(value) ? Array.from<unknown>(value) : { ...value }
    const keys = Object.keys(copy)
    const key = String(this.pick(this.happens(0.1) ? KEYS : [...keys, 'new']))
    if (this.happens(0.2)) Reflect.deleteProperty(copy, key)
    else Reflect.set(copy, key, this.changed(Reflect.get(copy, key)))
    return copy
  }
}

const KEYS = ['a', 'text', '__proto__', 'new']
const TEXTS = ['', 'x', 'aGk=', 'aGk==', 'message', 'TASK_STATE_WORKING', 'working', '2.0']
const NUMBERS = [0, 1, -1, 1.5, 100, 101, 2 ** 31, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY]
const TIMES = [
  '2026-01-31T12:00:00.000Z',
  '2024-02-29T23:59:59+05:30',
  '2023-02-29T12:00:00Z',
  '2026-01-31T12:00:00',
  '2026-01-31T12:00',
  '2026-01-31T12:00Z',
  '2026-01-31T24:00:00Z',
  '2026-01-31',
  '2026-01-31T12:00:00Z\n',
]
const ANY: readonly unknown[] = [
  ...TEXTS,
  ...NUMBERS,
  ...TIMES,
  ...[
    null,
    undefined,
    true,
    1n,
    Symbol.iterator,
    [],
    ['x'],
    [null],
    {},
    { text: 'x' },
    { new: null },
    new Date(0),
  ],
  JSON.parse('{"__proto__":{"a":1},"b":"x"}') as unknown,
]

describe.each(SCHEMAS)('%s', (_, schema) => {
  it('accepts and refuses the same as the schema of zod, with the same path and text', () => {
    const zod = toZod(schema)
    const counts = { accepted: 0, refused: 0 }
    for (let seed = 1; seed <= 100; seed += 1) {
      const generator = new Generator(seed)
      let value = generator.valueOf(schema)
      for (let change = 0; change < 3; change += 1) {
        const read = schema.read(value)
        const parsed = zod.safeParse(value)
        const [issue] = parsed.error?.issues ?? []
        const expected = issue === undefined ? parsed.data : new Fault(issue.message, issue.path)
        expect(read).toEqual(expected)
        counts[read instanceof Fault ? 'refused' : 'accepted'] += 1
        value = generator.changed(value)
      }
    }
    expect(counts.accepted).toBeGreaterThan(20)
    expect(counts.refused).toBeGreaterThan(5)
  })
})

it('covers each public schema', () => {
  const covered = new Set<unknown>(SCHEMAS.map(([, schema]) => toZod(schema)))
  const others = Object.entries(publicSchemas).filter(([, schema]) => !covered.has(schema))
  expect(others.map(([name]) => name)).toEqual([])
})
