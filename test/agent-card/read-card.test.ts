/** Tolerant reading of cards refuses what the schema of A2A 1.0 refuses, at the same path. */
import { parseAgentCard } from 'a2a-tasks/agent-card'
import { AgentCardSchema, type AgentCard } from 'a2a-tasks/schemas'
import { check } from 'a2a-tasks/wire'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { samples } from '../support/samples.js'

/** Everything that a card may have. */
const CARD: AgentCard = {
  name: 'Weather',
  description: 'Tells the weather',
  version: '2.0.0',
  supportedInterfaces: [
    { url: 'https://a.example', protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: 'north' },
    { url: 'https://b.example', protocolBinding: 'HTTP+JSON', protocolVersion: '0.3' },
  ],
  provider: { url: 'https://p.example', organization: 'P' },
  documentationUrl: 'https://docs.example',
  capabilities: {
    streaming: true,
    pushNotifications: false,
    extendedAgentCard: true,
    extensions: [{ uri: 'urn:x', description: 'X', required: false, params: { any: [1, null] } }],
  },
  securitySchemes: {
    key: { apiKeySecurityScheme: { location: 'header', name: 'X-Key', description: 'A key' } },
    http: { httpAuthSecurityScheme: { scheme: 'bearer', bearerFormat: 'JWT' } },
    code: {
      oauth2SecurityScheme: {
        flows: {
          authorizationCode: {
            authorizationUrl: 'https://o.example/a',
            tokenUrl: 'https://o.example/t',
            scopes: { read: 'Reads' },
            pkceRequired: true,
          },
        },
      },
    },
    own: {
      oauth2SecurityScheme: { flows: { clientCredentials: { tokenUrl: 'https://o.example/t', scopes: {} } } },
    },
    device: {
      oauth2SecurityScheme: {
        flows: {
          deviceCode: {
            deviceAuthorizationUrl: 'https://o.example/d',
            tokenUrl: 'https://o.example/t',
            scopes: {},
          },
        },
        oauth2MetadataUrl: 'https://o.example/m',
      },
    },
    open: { openIdConnectSecurityScheme: { openIdConnectUrl: 'https://i.example' } },
    mutual: { mtlsSecurityScheme: {} },
  },
  securityRequirements: [{ schemes: { key: { list: [] }, code: { list: ['read'] } } }],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain', 'image/png'],
  skills: [
    {
      id: 'rain',
      name: 'Rain',
      description: 'Whether it rains',
      tags: ['weather'],
      examples: ['Does it rain?'],
      inputModes: ['text/plain'],
      outputModes: ['text/plain'],
      securityRequirements: [{ schemes: { http: {} } }],
    },
  ],
  signatures: [{ protected: 'eyJ', signature: 'c2ln', header: { kid: 'a' } }],
  iconUrl: 'https://icon.example',
}

type Path = readonly (string | number)[]

function pathsOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path]
  return [
    path,
    ...Object.entries(value).flatMap(([key, child]) =>
      pathsOf(child, [...path, Array.isArray(value) ? Number(key) : key]),
    ),
  ]
}

function changed(path: Path, to: unknown): unknown {
  const copy: object = structuredClone(CARD)
  const holder = path.slice(0, -1).reduce<object>((at, key) => Reflect.get(at, key) as object, copy)
  const last = path.at(-1)
  if (last === undefined) return to
  if (to === undefined) Reflect.deleteProperty(holder, last)
  else Reflect.set(holder, last, to)
  return copy
}

function outcomeOf(read: () => unknown): unknown {
  try {
    return { gives: read() }
  } catch (error) {
    // Where; the words may differ.
    return { refuses: String(error).split(' ').slice(0, 2) }
  }
}

test('reads every field of a card', () => {
  expect(parseAgentCard(CARD)).toEqual(CARD)
  expect(AgentCardSchema.parse(CARD)).toEqual(CARD)
})

/** What may be left out, where the schema has nothing of it; and what 0.3 has at the same place in another form. */
const FORGIVEN =
  /^(description|version|capabilities|default(In|Out)putModes|skills|provider|tenant|securitySchemes|protocolVersion)$/

function isForgiven(path: Path, to: unknown): boolean {
  if (path.some((key) => ['schemes', 'securityRequirements', 'provider'].includes(String(key)))) return true
  return (
    to === undefined && (typeof path.at(-1) === 'number' || path.some((key) => FORGIVEN.test(String(key))))
  )
}

test('reports the same fault as the schema', () => {
  const paths = pathsOf(CARD).filter((path) => path.length > 0)
  const wrong = fc.constantFrom<unknown>(undefined, 1, true, {}, 'text', ['text'], [1])
  fc.assert(
    fc.property(fc.constantFrom(...paths), wrong, (path, to) => {
      // Those are for parse.test.ts.
      fc.pre(!isForgiven(path, to))
      const card = changed(path, to)
      expect(outcomeOf(() => parseAgentCard(card))).toEqual(
        outcomeOf(() => check(AgentCardSchema, card, 'card')),
      )
    }),
    { numRuns: samples(3_000) },
  )
})
