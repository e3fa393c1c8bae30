import { readdirSync, readFileSync } from 'node:fs'
import { A2AError } from 'a2a-tasks'
import { buildAgentCard, parseAgentCard, toV03Card } from 'a2a-tasks/agent-card'
import { AgentCardSchema, type AgentCard } from 'a2a-tasks/schemas'
import { describe, expect, test } from 'vitest'
import { v0_3 } from '../../src/wire/index.js'
import { thrown } from '../support/manager.js'

const CORPUS = new URL('../wire/corpus/', import.meta.url)

/** The cards of the corpus, under `wire` in 1.0 and `card` in 0.3. */
function corpus(version: string): [name: string, example: { wire: unknown; card: AgentCard }][] {
  const folder = new URL(`${version}/AgentCard/`, CORPUS)
  return readdirSync(folder).map((name) => [
    name,
    JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as { wire: unknown; card: AgentCard },
  ])
}

const url = 'https://a.example'
const rest = {
  description: '',
  version: '',
  capabilities: {},
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
}

function interfacesOf(json: object): string[] {
  return parseAgentCard({ name: 'A', ...json }).supportedInterfaces.map(
    (each) => `${each.url} ${each.protocolBinding} ${each.protocolVersion}`,
  )
}

function schemeOf(scheme: unknown): unknown {
  return parseAgentCard({ name: 'A', url, securitySchemes: { s: scheme } }).securitySchemes?.['s']
}

function faultOf(json: unknown): string {
  const error = thrown(() => parseAgentCard(json))
  if (!A2AError.is(error, 'INVALID_PARAMS')) throw error
  return error.message
}

describe('a card of 1.0', () => {
  test.each(corpus('1.0').filter(([name]) => name.startsWith('valid')))(
    '%s stays as it is',
    (_, { wire }) => {
      expect(parseAgentCard(wire)).toStrictEqual(wire)
    },
  )

  test('may lack the fields that agents leave out', () => {
    expect(
      parseAgentCard({ name: 'A', supportedInterfaces: [{ url, protocolBinding: 'JSONRPC' }] }),
    ).toStrictEqual({
      name: 'A',
      supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
      ...rest,
    })
  })

  test('is read as 1.0 where a card is valid in 0.3 too', () => {
    const interfaces = [{ url: 'https://new.example', protocolBinding: 'GRPC', protocolVersion: '1.0' }]
    expect(interfacesOf({ url, supportedInterfaces: interfaces })).toEqual(['https://new.example GRPC 1.0'])
    expect(interfacesOf({ url, supportedInterfaces: [] })).toEqual([`${url} JSONRPC 0.3`])
    expect(interfacesOf({ url, supportedInterfaces: null })).toEqual([`${url} JSONRPC 0.3`])
  })

  test('has no tenant that is empty, and no provider without a URL', () => {
    const supportedInterfaces = [{ url, protocolBinding: 'X', protocolVersion: '1.0', tenant: '' }]
    const card = parseAgentCard({ name: 'A', supportedInterfaces, provider: { organization: 'Us' } })
    expect(card.supportedInterfaces[0]).not.toHaveProperty('tenant')
    expect(card).not.toHaveProperty('provider')
    expect(parseAgentCard({ ...card, provider: { url } }).provider).toEqual({ url, organization: '' })
  })
})

describe('a card of 0.3', () => {
  test.each(corpus('0.3'))('%s reads as the card that it was made of', (_, { card, wire }) => {
    const read = parseAgentCard(wire)
    expect(AgentCardSchema.parse(read)).toEqual(read)
    expect(v0_3().encodeCard(read)).toEqual({ ...(wire as object), protocolVersion: '0.3.0' })
    expect(read).toMatchObject({ name: card.name, skills: card.skills.map(({ id, tags }) => ({ id, tags })) })
  })

  test('survives a round trip through 0.3, but for fields that 0.3 lacks', () => {
    const [, [, { wire }] = ['', { wire: undefined }]] = [
      0,
      corpus('1.0').find(([name]) => name === 'valid-everything.json'),
    ]
    const card = AgentCardSchema.parse(wire)
    const back = parseAgentCard(toV03Card(card))
    // Signatures are of the card of 1.0. Interfaces have no tenant, and are said to speak 0.3.
    const { signatures, ...others } = card
    expect(signatures).toHaveLength(1)
    const supportedInterfaces = card.supportedInterfaces.map(({ tenant, ...each }) => ({
      ...each,
      protocolVersion: '0.3',
      ...(tenant === '' && { tenant }),
    }))
    expect(back).toStrictEqual({ ...others, supportedInterfaces })
  })

  test.each([
    [{ url }, [`${url} JSONRPC 0.3`]],
    [{ url, preferredTransport: 'HTTP+JSON', protocolVersion: '0.3.0' }, [`${url} HTTP+JSON 0.3`]],
    [{ url, preferredTransport: '', protocolVersion: '' }, [`${url} JSONRPC 0.3`]],
    [{ url, protocolVersion: '0.2.6' }, [`${url} JSONRPC 0.3`]],
    // BeeAI names 0.1, and speaks 0.3.
    [{ url, protocolVersion: '0.1.0' }, [`${url} JSONRPC 0.3`]],
    [{ url, protocolVersion: '0.1' }, [`${url} JSONRPC 0.3`]],
    [
      { supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '' }] },
      [`${url} JSONRPC 1.0`],
    ],
    [
      {
        protocolVersion: '0.3',
        supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '' }],
      },
      [`${url} JSONRPC 0.3`],
    ],
    [{ url, protocolVersion: '0.10.1' }, [`${url} JSONRPC 0.10`]],
    [{ url, protocolVersion: '1.0' }, [`${url} JSONRPC 1.0`]],
    [{ url, protocolVersion: 'next' }, [`${url} JSONRPC next`]],
    [
      {
        url,
        protocolVersion: '0.3.0',
        additionalInterfaces: [
          { url, transport: 'JSONRPC' },
          { url: `${url}/rest`, transport: 'HTTP+JSON' },
          { url: `${url}/rest`, transport: 'HTTP+JSON' },
          { url: `${url}/REST`, transport: 'HTTP+JSON' },
        ],
      },
      [`${url} JSONRPC 0.3`, `${url}/rest HTTP+JSON 0.3`, `${url}/REST HTTP+JSON 0.3`],
    ],
  ])('%j speaks %j', (json, interfaces) => {
    expect(interfacesOf(json)).toEqual(interfaces)
  })

  test('has its extended card among the capabilities, and no signatures of 1.0', () => {
    const card = parseAgentCard({
      name: 'A',
      url,
      capabilities: { streaming: true, stateTransitionHistory: true },
      supportsAuthenticatedExtendedCard: true,
      signatures: [{ protected: 'e30', signature: 'c2ln' }],
    })
    expect(card.capabilities).toStrictEqual({ streaming: true, extendedAgentCard: true })
    expect(card).not.toHaveProperty('signatures')
  })
})

describe('security', () => {
  const bearer = { httpAuthSecurityScheme: { scheme: 'bearer' } }
  const codes = { authorizationUrl: url, tokenUrl: url, scopes: { a: 'A' } }

  test.each([
    [{ type: 'http', scheme: 'bearer' }, bearer],
    [{ type: 'http', scheme: 'bearer', description: null }, bearer],
    [
      { type: 'apiKey', in: 'header', name: 'X-Key', description: 'D' },
      { apiKeySecurityScheme: { location: 'header', name: 'X-Key', description: 'D' } },
    ],
    // `location` must not put a key for a header into URLs.
    [
      { type: 'apiKey', in: 'header', location: 'query', name: 'X-Key' },
      { apiKeySecurityScheme: { location: 'header', name: 'X-Key' } },
    ],
    [
      { apiKeySecurityScheme: { in: 'header', location: 'query', name: 'X-Key' } },
      { apiKeySecurityScheme: { location: 'header', name: 'X-Key' } },
    ],
    [{ type: 'mutualTLS' }, { mtlsSecurityScheme: {} }],
    [
      { type: 'openIdConnect', openIdConnectUrl: url },
      { openIdConnectSecurityScheme: { openIdConnectUrl: url } },
    ],
    [
      { type: 'oauth2', flows: { password: { tokenUrl: url }, authorizationCode: codes } },
      { oauth2SecurityScheme: { flows: { authorizationCode: codes } } },
    ],
    [
      {
        type: 'oauth2',
        flows: { implicit: {}, clientCredentials: { tokenUrl: url } },
        oauth2MetadataUrl: url,
      },
      {
        oauth2SecurityScheme: {
          flows: { clientCredentials: { tokenUrl: url, scopes: {} } },
          oauth2MetadataUrl: url,
        },
      },
    ],
    [
      { type: 'oauth2', flows: { password: {}, implicit: {} } },
      { oauth2SecurityScheme: { flows: { implicit: {} } } },
    ],
    // ProtoJSON, 1.0, and both in one.
    [bearer, bearer],
    [{ ...bearer, type: 'http', scheme: 'bearer' }, bearer],
    // What the official SDK serves.
    [
      { scheme: { $case: 'httpAuthSecurityScheme', value: { scheme: 'bearer', description: '' } } },
      { httpAuthSecurityScheme: { scheme: 'bearer', description: '' } },
    ],
    [
      {
        scheme: {
          $case: 'oauth2SecurityScheme',
          value: { flows: { flow: { $case: 'authorizationCode', value: codes } } },
        },
      },
      { oauth2SecurityScheme: { flows: { authorizationCode: codes } } },
    ],
  ])('%j', (given, read) => {
    expect(schemeOf(given)).toStrictEqual(read)
  })

  test('requirements of 0.3, of ProtoJSON and of 1.0', () => {
    const read = [{ schemes: { google: { list: ['openid'] } } }, { schemes: {} }]
    for (const json of [
      { security: [{ google: ['openid'] }, {}] },
      { security: [{ schemes: { google: { list: ['openid'] } } }, { schemes: {} }] },
      { securityRequirements: read, security: [{ other: [] }] },
    ]) {
      const skills = [{ id: 's', ...json }]
      const card = parseAgentCard({ name: 'A', url, ...json, skills })
      expect([card.securityRequirements, card.skills[0]?.securityRequirements]).toStrictEqual([read, read])
    }
    // A scheme that is called so.
    const named = parseAgentCard({ name: 'A', url, security: [{ schemes: ['a'] }] })
    expect(named.securityRequirements).toEqual([{ schemes: { schemes: { list: ['a'] } } }])
  })

  test('the authentication of 0.2', () => {
    const card = parseAgentCard({
      name: 'A',
      url,
      authentication: { schemes: ['Bearer', 'Basic'], credentials: 'x' },
    })
    expect(card.securitySchemes).toStrictEqual({
      bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } },
      basic: { httpAuthSecurityScheme: { scheme: 'Basic' } },
    })
    expect(card.securityRequirements).toStrictEqual([
      { schemes: { bearer: { list: [] } } },
      { schemes: { basic: { list: [] } } },
    ])
    for (const authentication of [null, {}, { schemes: null }, { schemes: [] }, { schemes: [1] }]) {
      expect(parseAgentCard({ name: 'A', url, authentication })).not.toHaveProperty('securitySchemes')
    }
  })
})

describe('cards of others', () => {
  test('corvid-agent: its protocols are its interfaces', () => {
    const card = parseAgentCard({
      name: 'CorvidAgent',
      description: 'AI development agent',
      url,
      provider: { organization: 'CorvidLabs', url: 'https://github.com/CorvidLabs' },
      version: '1.2.0',
      capabilities: { streaming: true, pushNotifications: false, stateTransitionHistory: false },
      authentication: { schemes: ['Bearer'] },
      defaultInputModes: ['text/plain', 'application/json'],
      defaultOutputModes: ['text/plain', 'application/json'],
      skills: [
        {
          id: 'corvid_web_search',
          name: 'Web Search',
          description: 'D',
          tags: ['web'],
          inputModes: [],
          outputModes: [],
        },
      ],
      supportedProtocols: [
        { protocol: 'A2A', description: 'D', endpoint: `${url}/a2a/tasks/send` },
        { protocol: 'AlgoChat', description: 'D' },
        { protocol: 'HTTP', description: 'D', endpoint: `${url}/api` },
      ],
    })
    expect(card.supportedInterfaces).toEqual([
      { url: `${url}/a2a/tasks/send`, protocolBinding: 'A2A', protocolVersion: '0.1' },
      { url: `${url}/api`, protocolBinding: 'HTTP', protocolVersion: '0.1' },
    ])
    expect(card).toMatchObject({
      version: '1.2.0',
      securitySchemes: { bearer: {} },
      skills: [{ id: 'corvid_web_search' }],
    })
  })

  test('KAOS', () => {
    const modes = { inputModes: ['application/json'], outputModes: ['application/json'] }
    const card = parseAgentCard({
      name: 'researcher',
      description: 'Agent',
      url: 'http://localhost:8000',
      version: '1.0.0',
      protocolVersion: '0.3.0',
      skills: [{ id: 'echo', name: 'echo', description: 'Echo', tags: [], ...modes }],
      capabilities: { streaming: true, pushNotifications: false, stateTransitionHistory: true },
      supportedProtocols: ['jsonrpc'],
      defaultInputModes: ['application/json'],
      defaultOutputModes: ['application/json'],
    })
    expect(card).toStrictEqual({
      name: 'researcher',
      description: 'Agent',
      supportedInterfaces: [
        { url: 'http://localhost:8000', protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
      ],
      version: '1.0.0',
      capabilities: { streaming: true, pushNotifications: false },
      defaultInputModes: ['application/json'],
      defaultOutputModes: ['application/json'],
      skills: [{ id: 'echo', name: 'echo', description: 'Echo', tags: ['general'], ...modes }],
    })
  })

  test('of few words', () => {
    const nulls = {
      description: null,
      version: null,
      capabilities: null,
      skills: null,
      provider: null,
      tags: null,
    }
    expect(parseAgentCard({ name: 'A', url, ...nulls, defaultInputModes: [] })).toStrictEqual({
      name: 'A',
      supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '0.3' }],
      ...rest,
    })
    expect(parseAgentCard({ name: 'A', url, skills: [{ id: 's' }] }).skills).toStrictEqual([
      { id: 's', name: 's', description: '', tags: ['general'] },
    ])
  })
})

describe('a card that is wrong', () => {
  const ok = buildAgentCard({ name: 'A', url })

  test.each([
    [null, 'card must be an object, got null'],
    [[], 'card must be an object, got an array'],
    ['x', 'card must be an object, got a string'],
    [undefined, 'card is missing'],
    [{}, 'card.name is missing'],
    [{ name: 'A' }, 'card.supportedInterfaces is missing'],
    [{ name: 'A', supportedInterfaces: [] }, 'card.supportedInterfaces must have at least one interface'],
    [{ name: 'A', url: 5 }, 'card.supportedInterfaces[0].url must be a string, got a number'],
    // Comparing this length with a number throws.
    [
      { name: 'A', url: { length: { toString: 1, valueOf: 1 } } },
      'card.supportedInterfaces[0].url must be a string, got an object',
    ],
    [
      { name: 'A', url, additionalInterfaces: ['x'] },
      'card.supportedInterfaces[1] must be an object, got a string',
    ],
    [{ name: 'A', url, skills: [{}] }, 'card.skills[0].id is missing'],
    [{ name: 'A', url, skills: [{ id: '' }] }, 'card.skills[0].id must not be empty'],
    [{ name: 'A', url, skills: {} }, 'card.skills must be an array, got an object'],
    [{ name: 'A', url, capabilities: 'all' }, 'card.capabilities must be an object, got a string'],
    [{ name: 'A', url, version: 2 }, 'card.version must be a string, got a number'],
    [
      { name: 'A', url, security: [{ a: 'b' }] },
      'card.securityRequirements[0].schemes.a.list must be an array, got a string',
    ],
    [{ ...ok, defaultInputModes: [1] }, 'card.defaultInputModes[0] must be a string, got a number'],
    [{ ...ok, defaultInputModes: '' }, 'card.defaultInputModes must be an array, got a string'],
    [{ ...ok, defaultOutputModes: '' }, 'card.defaultOutputModes must be an array, got a string'],
    [{ ...ok, skills: [{ id: 's', tags: '' }] }, 'card.skills[0].tags must be an array, got a string'],
    [
      { ...ok, supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', tenant: [] }] },
      'card.supportedInterfaces[0].tenant must be a string, got an array',
    ],
    [
      { ...ok, signatures: [{ protected: 'p', signature: 's', header: 'x' }] },
      'card.signatures[0].header must be an object, got a string',
    ],
    [
      { ...ok, capabilities: { extensions: [{ params: [] }] } },
      'card.capabilities.extensions[0].params must be an object, got an array',
    ],
    [
      { ...ok, securitySchemes: { s: { type: 'apiKey', in: 'body', location: 'query', name: 'k' } } },
      'card.securitySchemes.s.apiKeySecurityScheme.location must be one of query, header, cookie',
    ],
  ])('%j: %s', (json, message) => {
    expect(faultOf(json)).toBe(message)
  })

  test('has an unknown security scheme', () => {
    expect(faultOf({ ...ok, securitySchemes: { s: { type: 'magic' } } })).toMatch(
      /^card\.securitySchemes\.s must have/,
    )
    expect(faultOf({ ...ok, securitySchemes: { s: { type: 'constructor' } } })).toMatch(
      /^card\.securitySchemes\.s must/,
    )
  })
})
