import { A2AError } from 'a2a-tasks'
import { AgentCard, buildAgentCard, parseAgentCard, toHybridCard, toV03Card } from 'a2a-tasks/agent-card'
import { AgentCardSchema } from 'a2a-tasks/schemas'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { thrown } from '../support/manager.js'
import { samples } from '../support/samples.js'

const KEYS = [
  ...[
    'name',
    'description',
    'version',
    'url',
    'preferredTransport',
    'additionalInterfaces',
    'protocolVersion',
  ],
  ...[
    'supportedInterfaces',
    'protocolBinding',
    'tenant',
    'transport',
    'provider',
    'organization',
    'skills',
    'id',
  ],
  ...[
    'tags',
    'capabilities',
    'extensions',
    'params',
    'uri',
    'security',
    'securityRequirements',
    'schemes',
    'list',
  ],
  ...['securitySchemes', 'type', 'in', 'scheme', 'flows', 'flow', '$case', 'value', 'oauth2SecurityScheme'],
  ...['authentication', 'supportedProtocols', 'protocol', 'endpoint', 'signatures', 'protected', 'header'],
  ...['__proto__', 'constructor', 'prototype', 'toString', 'toJSON', 'hasOwnProperty', 'length', 'a'],
]

const { node: json } = fc.letrec<{ node: unknown }>((tie) => ({
  node: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(
      null,
      '',
      'a',
      '0.3.0',
      'http',
      'oauth2',
      '__proto__',
      'constructor',
      0,
      true,
      'https://a.example',
    ),
    fc.array(tie('node'), { maxLength: 3 }),
    fc
      .array(fc.tuple(fc.constantFrom(...KEYS), tie('node')), { maxLength: 6 })
      // As JSON.parse makes it: `__proto__` is a key as others are.
      .map((entries) => Object.fromEntries(entries)),
  ),
}))

function outcome(read: () => object): object | undefined {
  try {
    return read()
  } catch (error) {
    if (A2AError.is(error, 'INVALID_PARAMS') && error.data.path.startsWith('card')) return undefined
    throw error
  }
}

/** Objects whose prototype is another one than JSON's. */
function strangers(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return []
  const isPlain = [Object.prototype, Array.prototype].includes(Object.getPrototypeOf(value) as object)
  const isNamed = Object.hasOwn(value, '__proto__')
  return [...(isPlain && !isNamed ? [] : [value]), ...Object.values(value).flatMap(strangers)]
}

test('`parseAgentCard` gives a card or says what is wrong, whatever the JSON', () => {
  const before = Object.getOwnPropertyNames(Object.prototype)
  fc.assert(
    fc.property(fc.oneof(json, fc.jsonValue()), fc.boolean(), (given, isNamed) => {
      const isObject = typeof given === 'object' && given !== null && !Array.isArray(given)
      const tried = isNamed && isObject ? { name: 'A', url: 'https://a.example', ...given } : given
      const card = outcome(() => parseAgentCard(tried))
      if (card === undefined) return
      expect(strangers(card)).toEqual([])
      expect(AgentCardSchema.parse(card)).toEqual(card)
      expect(parseAgentCard(card)).toEqual(card)
      expect(outcome(() => new AgentCard(tried as never))).toEqual(card)
    }),
    { numRuns: samples(3_000) },
  )
  expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before)
})

test('`__proto__` neither pollutes nor passes through', () => {
  const text = `{"name":"A","url":"https://a.example","__proto__":{"polluted":1},
    "authentication":{"schemes":["__proto__"]},
    "skills":[{"id":"s","__proto__":{"polluted":1}}],
    "security":[{"__proto__":["x"]}],
    "capabilities":{"extensions":[{"uri":"u","params":{"__proto__":{"polluted":1},"deep":[{"__proto__":1}]}}]}}`
  const card = parseAgentCard(JSON.parse(text))
  expect(strangers(card)).toEqual([])
  expect(JSON.stringify(card)).not.toContain('polluted')
  expect({}).not.toHaveProperty('polluted')
})

test('deeply nested JSON is refused, and params are unchanged', () => {
  let deep: unknown = 1
  for (let depth = 0; depth < 20_000; depth++) deep = depth % 2 === 0 ? [deep] : { a: deep }
  for (const given of [deep, { name: 'A', url: 'https://a.example', skills: deep, other: deep }]) {
    expect(thrown(() => parseAgentCard(given))).toMatchObject({
      code: 'INVALID_PARAMS',
      data: { path: 'card' },
    })
  }
  const params = { nothing: null, list: [null, ''], empty: '' }
  const extensions = [{ uri: 'urn:x', params }]
  const card = parseAgentCard({ name: 'A', url: 'https://a.example', capabilities: { extensions } })
  expect(card.capabilities.extensions).toStrictEqual(extensions)
  expect(card.capabilities.extensions?.[0]?.params).not.toBe(params)
})

test('every reader reads the cards of every version', () => {
  const words = fc.stringMatching(/^[a-z]{1,5}$/)
  const skill = fc.record({
    id: words,
    name: words,
    description: words,
    tags: fc.array(words, { minLength: 1 }),
  })
  fc.assert(
    fc.property(words, fc.array(skill, { maxLength: 3 }), fc.boolean(), (name, skills, streaming) => {
      const card = buildAgentCard({ name, url: 'https://a.example', skills, capabilities: { streaming } })
      expect(parseAgentCard(toHybridCard(card))).toEqual(card)
      const { supportedInterfaces, ...others } = parseAgentCard(toV03Card(card))
      expect({ ...card, ...others }).toEqual(card)
      expect(supportedInterfaces).toEqual(
        card.supportedInterfaces.filter((each) => each.protocolVersion === '0.3'),
      )
    }),
  )
})
