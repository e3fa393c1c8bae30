import { createAuthenticatingFetchWithRetry, DefaultAgentCardResolver } from '@a2a-js/sdk/client'
import {
  createAuthenticatingFetchWithRetry as legacyAuthentication,
  JsonRpcTransport,
  RestTransport,
  type Client,
} from 'a2a-sdk-v0-3/client'
import type { AgentCard } from 'a2a-tasks/schemas'
import type { Principal, Run } from 'a2a-tasks/server'
import { v0_3, v1 } from 'a2a-tasks/wire'
import { describe, expect, test } from 'vitest'
import {
  connect,
  faultOf,
  legacyFactory,
  LINES,
  modernFactory,
  say,
  taskOf,
  textOf,
  type Binding,
  type Line,
} from './peers.js'
import { collect, rejection, serve, spyFetch } from './support/agent.js'

const BINDINGS: readonly Binding[] = ['JSONRPC', 'HTTP+JSON']

const echo = { execute: (run: Run): string => run.text }

const message = {
  kind: 'message' as const,
  messageId: 'm',
  role: 'user' as const,
  parts: [{ kind: 'text' as const, text: 'hi' }],
}

describe.each(BINDINGS)('a client of 0.3 finds the agent: %s', (binding) => {
  async function sends(client: Client): Promise<void> {
    expect(client.transport).toBeInstanceOf(binding === 'JSONRPC' ? JsonRpcTransport : RestTransport)
    expect(await client.sendMessage({ message })).toMatchObject({
      kind: 'task',
      status: { state: 'completed' },
      artifacts: [{ parts: [{ kind: 'text', text: 'hi' }] }],
    })
  }

  test('by the card for clients that name no version', async () => {
    const { url } = await serve(echo)
    await sends(await legacyFactory(binding, fetch).createFromUrl(url))
  })

  test('by the card at a URL that names the version', async () => {
    const { url } = await serve(echo)
    const path = '/.well-known/agent-card.json?A2A-Version=0.3'
    const client = await legacyFactory(binding, fetch).createFromUrl(url, path)
    await sends(client)
    expect(await client.getAgentCard()).not.toHaveProperty('supportedInterfaces')
  })

  test('by a header on each of its requests', async () => {
    const { url } = await serve(echo)
    const { fetchImpl } = spyFetch({ 'A2A-Version': '0.3' })
    await sends(await legacyFactory(binding, fetchImpl).createFromUrl(url))
  })

  test('by a card that it is given', async () => {
    const { handler } = await serve(echo)
    const card = v0_3().encodeCard(handler.card)
    // JSON, until the client has read it.
    await sends(await legacyFactory(binding, fetch).createFromAgentCard(card as never))
  })

  test('that prefers 0.3, or speaks nothing else', async () => {
    for (const dialects of [[v0_3(), v1()], [v0_3()]]) {
      const { url } = await serve({ ...echo, dialects })
      await sends(await legacyFactory(binding, fetch).createFromUrl(url))
    }
  })

  test('and not the agent that does not speak 0.3', async () => {
    const { url } = await serve({ ...echo, dialects: [v1()] })
    const error = await rejection(() => legacyFactory(binding, fetch).createFromUrl(url))
    expect(String(error)).toContain('No compatible transport found')
  })

  test('whatever schemes of 1.0 its card has', async () => {
    const flows = {
      deviceCode: {
        deviceAuthorizationUrl: 'https://id.example/d',
        tokenUrl: 'https://id.example/t',
        scopes: {},
      },
    }
    const { url } = await serve({
      ...echo,
      card: () => ({ securitySchemes: { device: { oauth2SecurityScheme: { flows } } } }),
    })
    await sends(await legacyFactory(binding, fetch).createFromUrl(url))
  })
})

describe.each(BINDINGS)('a client of 1.0 finds the agent: %s', (binding) => {
  const compat = { legacyCompat: { enabled: true } }

  test('with and without the 0.3 that it has built in', async () => {
    const { url } = await serve(echo)
    for (const options of [{}, compat]) {
      const client = await modernFactory(binding, options).createFromUrl(url)
      expect(client.protocolVersion).toBe('1.0')
      expect(client.transport.protocolName).toBe(binding)
    }
  })

  test('that prefers 0.3, and speaks 1.0 with it', async () => {
    const { url } = await serve({ ...echo, dialects: [v0_3(), v1()] })
    expect((await modernFactory(binding, compat).createFromUrl(url)).protocolVersion).toBe('1.0')
  })

  test('by the card for clients that name no version', async () => {
    const { url } = await serve(echo)
    const raw: unknown = await (await fetch(`${url}/.well-known/agent-card.json`)).json()
    const client = await modernFactory(binding, compat).createFromAgentCard(raw as never)
    expect(client.protocolVersion).toBe('1.0')
  })

  test('whose card of 1.0 has interfaces of 0.3 only', async () => {
    const card = (url: string): Partial<AgentCard> => ({
      supportedInterfaces: [{ url, protocolBinding: binding, protocolVersion: '0.3' }],
    })
    const { url } = await serve({ ...echo, card })
    expect((await modernFactory(binding, compat).createFromUrl(url)).protocolVersion).toBe('0.3')
  })

  test('that speaks 0.3 only: its card is served whatever is asked for', async () => {
    const { url } = await serve({ ...echo, dialects: [v0_3()] })
    expect((await modernFactory(binding, compat).createFromUrl(url)).protocolVersion).toBe('0.3')
  })
})

test.each([
  ['1.0', v1()],
  ['0.3', v0_3()],
])('a card made of a URL names the versions that are spoken: %s', async (version, dialect) => {
  const { handler } = await serve({ ...echo, dialects: [dialect] })
  const versions = handler.card.supportedInterfaces.map(({ protocolVersion }) => protocolVersion)
  expect(new Set(versions)).toEqual(new Set([version]))
})

const SCHEMES = {
  securitySchemes: {
    bearer: { httpAuthSecurityScheme: { scheme: 'bearer', bearerFormat: 'JWT' } },
    key: { apiKeySecurityScheme: { location: 'header', name: 'X-Key' } },
    oauth: {
      oauth2SecurityScheme: {
        flows: { clientCredentials: { tokenUrl: 'https://id.example/token', scopes: { read: 'Read' } } },
      },
    },
  },
  securityRequirements: [{ schemes: { bearer: {} } }, { schemes: { oauth: { list: ['read'] } } }],
} satisfies Partial<AgentCard>

test('SDK 1.3.0 reads the security schemes of the card', async () => {
  const { url } = await serve({ ...echo, card: () => SCHEMES })
  const card = await new DefaultAgentCardResolver().resolve(url)
  expect(card.securitySchemes['bearer']?.scheme).toMatchObject({
    $case: 'httpAuthSecurityScheme',
    value: { scheme: 'bearer', bearerFormat: 'JWT' },
  })
  expect(card.securitySchemes['key']?.scheme).toMatchObject({ $case: 'apiKeySecurityScheme' })
  expect(card.securitySchemes['oauth']?.scheme).toMatchObject({
    value: { flows: { flow: { $case: 'clientCredentials', value: { scopes: { read: 'Read' } } } } },
  })
  expect(card.securityRequirements).toEqual([
    { schemes: { bearer: { list: [] } } },
    { schemes: { oauth: { list: ['read'] } } },
  ])
})

test('SDK 0.3.14 reads the security schemes of the card', async () => {
  const { url } = await serve({ ...echo, card: () => SCHEMES })
  const client = await legacyFactory('JSONRPC', fetch).createFromUrl(url)
  const card = await client.getAgentCard()
  expect(card.securitySchemes).toMatchObject({
    bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
    key: { type: 'apiKey', in: 'header', name: 'X-Key' },
    oauth: { type: 'oauth2', flows: { clientCredentials: { scopes: { read: 'Read' } } } },
  })
  expect(card.security).toEqual([{ bearer: [] }, { oauth: ['read'] }])
})

const KNOWN = 'https://extensions.example/known/v1'

/** Accepts any bearer token as a principal. */
function authenticate(request: Request): Principal | null {
  const [, token] = /^Bearer (\w+)$/.exec(request.headers.get('authorization') ?? '') ?? []
  return token === undefined ? null : { id: token }
}

function authenticating({ sdk }: Line, token: string): { fetchImpl: typeof fetch; challenges: unknown[] } {
  const challenges: unknown[] = []
  const wrap = sdk === '1.3.0' ? createAuthenticatingFetchWithRetry : legacyAuthentication
  const fetchImpl = wrap(fetch, {
    headers: () => Promise.resolve({}),
    shouldRetryWithHeaders(_, response) {
      if (response.status !== 401) return Promise.resolve(undefined)
      challenges.push(response.headers.get('www-authenticate'))
      return Promise.resolve({ Authorization: `Bearer ${token}` })
    },
  })
  return { fetchImpl, challenges }
}

describe.each(LINES)('SDK $sdk, A2A $speaks over $binding', (line) => {
  test('an agent below a path of its server is found there', async () => {
    const { url } = await serve({ ...echo, path: '/agents/echo' })
    const { fetchImpl, requests } = spyFetch()
    const peer = await connect(line, url, fetchImpl)
    expect(textOf(taskOf(await peer.send(say('hi'))).artifacts?.[0]?.parts)).toBe('hi')
    for (const request of requests) expect(new URL(request.url).pathname).toMatch(/^\/agents\/echo/)
  })

  test('a client that is challenged authenticates, and has its own tasks', async () => {
    const { url } = await serve({ ...echo, authenticate, card: () => SCHEMES })
    const alice = authenticating(line, 'alice')
    const peer = await connect(line, url, alice.fetchImpl)
    const { id } = taskOf(await peer.send(say('hi')))
    expect(alice.challenges).toEqual([
      'Bearer realm="Interop", ApiKey realm="Interop", in="header", name="X-Key"',
    ])
    const events = await collect(peer.stream(say('hi')))
    expect(events.at(-1)?.statusUpdate?.status.state).toBe('TASK_STATE_COMPLETED')
    const other = await connect(line, url, authenticating(line, 'bob').fetchImpl)
    expect(faultOf(await rejection(() => other.get(id)))).toBe('TaskNotFoundError')
    expect((await peer.get(id)).id).toBe(id)
  })

  test('a client without credentials does nothing', async () => {
    let runs = 0
    const { url } = await serve({
      execute() {
        runs += 1
      },
      authenticate,
    })
    const { fetchImpl, responses } = spyFetch()
    const peer = await connect(line, url, fetchImpl)
    const calls = [
      () => peer.send(say('x')),
      () => collect(peer.stream(say('x'))),
      () => peer.get('x'),
      () => peer.cancel('x'),
      () => collect(peer.subscribe('x')),
    ]
    for (const call of calls) {
      expect(String(await rejection(call))).toMatch(/Authentication required|401/)
      expect(responses.at(-1)?.status).toBe(401)
      expect(responses.at(-1)?.headers.get('www-authenticate')).toBe('Bearer realm="Interop"')
    }
    expect(runs).toBe(0)
  })

  test('the extended card is for authenticated clients', async () => {
    const { url } = await serve({
      ...echo,
      authenticate,
      extendedCard: ({ id }) => ({ name: `For ${id}`, url: 'https://extended.example', ...SCHEMES }),
    })
    const peer = await connect(line, url, authenticating(line, 'alice').fetchImpl)
    expect(await peer.extendedCard()).toMatchObject({
      name: 'For alice',
      skills: [{ id: 'default' }],
      securitySchemes: { bearer: {}, key: {}, oauth: {} },
    })
    const { fetchImpl, responses } = spyFetch()
    const stranger = await connect(line, url, fetchImpl)
    await rejection(() => stranger.extendedCard())
    expect(responses.at(-1)?.status).toBe(401)
  })

  test('of the extensions that a client asks for, those of the card are on', async () => {
    let extensions: unknown
    const { url } = await serve({
      execute(run) {
        extensions = run.extensions
        return 'ok'
      },
      card: () => ({ capabilities: { streaming: true, extensions: [{ uri: KNOWN }] } }),
    })
    const { fetchImpl, responses } = spyFetch()
    const peer = await connect(line, url, fetchImpl)
    const header = line.speaks === '1.0' ? 'a2a-extensions' : 'x-a2a-extensions'
    await peer.send(say('x'), { extensions: ['urn:unknown', KNOWN] })
    expect(extensions).toEqual([KNOWN])
    expect(responses.at(-1)?.headers.get(header)).toBe(KNOWN)
    await collect(peer.stream(say('x'), { extensions: [KNOWN] }))
    expect(responses.at(-1)?.headers.get(header)).toBe(KNOWN)
    await peer.send(say('x'))
    expect(extensions).toEqual([])
    expect(responses.at(-1)?.headers.get(header)).toBeNull()
  })
})
