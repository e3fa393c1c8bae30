import { inspect } from 'node:util'
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'
import { bearerAuth } from '../../../src/http/auth.js'
import type { AgentInput } from '../../../src/gateway/registry/agent.js'
import {
  AgentRegistry,
  type AgentRegistryOptions,
  type StatusChange,
} from '../../../src/gateway/registry/registry.js'
import { failureOf, fakeFetch, site } from '../../http/support/http.js'
import { uncaughtBy } from '../../support/uncaught.js'

const URL = 'https://agent.example.com'

function agent(id: string, others: Partial<AgentInput> = {}): AgentInput {
  return { id, provider: 'custom', capabilities: ['echo'], endpoint: { url: URL }, ...others }
}

function setUp(options: AgentRegistryOptions = {}) {
  const clock = new ManualClock()
  const changes: string[] = []
  const onStatusChange = ({ agent: { id }, from, to }: StatusChange): void => {
    changes.push(`${id}: ${from} → ${to}`)
  }
  const registry = new AgentRegistry({ clock, onStatusChange, ...options })
  return { clock, changes, registry }
}

const ids = (agents: readonly { readonly id: string }[]): string[] => agents.map(({ id }) => id)

describe('registering', () => {
  test('completes what is left open', () => {
    const { registry } = setUp()
    expect(registry.register(agent('a'))).toEqual({
      id: 'a',
      name: 'a',
      description: '',
      provider: 'custom',
      capabilities: [{ name: 'echo', description: '' }],
      endpoint: { url: URL, timeoutMs: 300_000 },
      status: 'online',
      settings: {},
      metadata: {
        version: '1.0.0',
        createdAt: '2026-01-01T00:00:00.000Z',
        lastSeenAt: '2026-01-01T00:00:00.000Z',
        tags: [],
        extra: {},
      },
    })
  })

  test('keeps copies that callers cannot change', () => {
    const { registry } = setUp()
    const inputSchema = { type: 'object', enum: [null] }
    const given = {
      ...agent('a'),
      name: 'Agent',
      description: 'Knows',
      provider: 'LangChain',
      capabilities: [{ name: 'search', description: 'Finds', inputSchema }],
      endpoint: { url: `${URL}/graph`, timeoutMs: 1_000 },
      maxConcurrentTasks: 2,
      status: 'degraded' as const,
      settings: { assistantId: 'agent', nothing: null },
      metadata: { version: '2', tags: ['fast'], extra: { team: { name: 'x' } } },
    }
    const known = registry.register(given)
    inputSchema.enum.length = 0
    given.settings.assistantId = 'other'
    given.metadata.tags.push('slow')
    expect(known).toMatchObject({
      name: 'Agent',
      description: 'Knows',
      provider: 'langgraph',
      capabilities: [{ name: 'search', description: 'Finds', inputSchema: { type: 'object', enum: [null] } }],
      endpoint: { url: `${URL}/graph`, timeoutMs: 1_000 },
      maxConcurrentTasks: 2,
      status: 'degraded',
      settings: { assistantId: 'agent', nothing: null },
      metadata: { version: '2', tags: ['fast'], extra: { team: { name: 'x' } } },
    })
    const parts = [known, known.endpoint, known.settings, known.metadata.tags, known.metadata.extra['team']]
    expect(parts.map((part) => Object.isFrozen(part))).toEqual(parts.map(() => true))
  })

  test('keeps the nulls of JSON also where a null stands for what is absent', () => {
    const { registry } = setUp()
    const schema = { enum: [null], default: null }
    // As YAML gives what is left empty.
    const given = { ...agent('a'), description: null, settings: { a: null } } as unknown as AgentInput
    const capabilities = [{ name: 'x', description: null, inputSchema: schema }] as unknown as ['x']
    const known = registry.register({ ...given, capabilities })
    expect(known).toMatchObject({ description: '', settings: { a: null } })
    expect(known.capabilities[0]?.inputSchema).toEqual(schema)
  })

  test('an agent takes the place of another of its id, and keeps when that was created', () => {
    const { registry, clock, changes } = setUp()
    registry.register(agent('a'))
    registry.register(agent('b'))
    clock.advance(1_000)
    const second = registry.register(agent('a', { name: 'Second', status: 'maintenance' }))
    expect(second.metadata).toMatchObject({
      createdAt: '2026-01-01T00:00:00.000Z',
      lastSeenAt: '2026-01-01T00:00:01.000Z',
    })
    expect(registry.get('a')).toBe(second)
    expect(ids(registry.list())).toEqual(['a', 'b'])
    expect(changes).toEqual(['a: online → maintenance'])
  })

  test('or is refused, if that is wanted', async () => {
    let looks = 0
    const { registry } = setUp({ onDuplicate: 'reject', healthCheck: () => (looks++, 'online') })
    const first = registry.register(agent('a'))
    const error = { code: 'INVALID_PARAMS', message: 'Agent already registered: a', data: { path: 'id' } }
    expect(() => registry.register(agent('a'))).toThrow(expect.objectContaining({ message: error.message }))
    expect(await failureOf(registry.registerReachable(agent('a')))).toMatchObject(error)
    expect(looks).toBe(0)
    expect(registry.get('a')).toBe(first)
  })

  test('what it gave can be registered again, with changes', () => {
    const { registry } = setUp()
    const first = registry.register(agent('a', { endpoint: { url: URL, auth: bearerAuth('t') } }))
    const second = registry.register({ ...first, name: 'Second' })
    expect(second).toEqual({ ...first, name: 'Second' })
    expect(second.endpoint.auth).toBe(first.endpoint.auth)
  })
})

describe('registering what is reachable', () => {
  test('asks the agent, and takes its status', async () => {
    const service = await site(({ path }) => ({ status: path === '/fine' ? 204 : 500 }))
    const { registry } = setUp()
    const fine = await registry.registerReachable(agent('a', { endpoint: { url: `${service.url}/fine` } }))
    const ill = await registry.registerReachable(agent('b', { endpoint: { url: `${service.url}/ill` } }))
    expect([fine.status, ill.status]).toEqual(['online', 'degraded'])
    expect(service.asked).toMatchObject([{ method: 'GET', path: '/fine' }, { path: '/ill' }])
    expect(ids(registry.list())).toEqual(['a', 'b'])
  })

  test('registers nothing that is offline', async () => {
    const { registry } = setUp({ healthCheck: () => Promise.reject(new Error('secret')) })
    expect(await failureOf(registry.registerReachable(agent('a')))).toMatchObject({
      code: 'AGENT_BUSY',
      message: 'Agent cannot be reached: a',
      data: { agentId: 'a', reason: 'it cannot be reached', retryable: true, retryAfterMs: 5_000 },
    })
    expect(registry.list()).toEqual([])
  })

  test('sends nothing when the agent is invalid', async () => {
    let calls = 0
    const { registry } = setUp({ healthCheck: () => (calls++, 'online') })
    expect(await failureOf(registry.registerReachable(agent('')))).toMatchObject({ code: 'INVALID_PARAMS' })
    expect(calls).toBe(0)
  })

  test('leaves an agent in maintenance', async () => {
    const { registry } = setUp({ healthCheck: () => 'online' })
    const known = await registry.registerReachable(agent('a', { status: 'maintenance' }))
    expect(known.status).toBe('maintenance')
  })
})

describe('finding', () => {
  function peopled() {
    const { registry } = setUp()
    registry.register(agent('a', { capabilities: ['search', 'sum'], metadata: { tags: ['fast', 'eu'] } }))
    registry.register(agent('b', { capabilities: ['search'], metadata: { tags: ['fast'] } }))
    registry.register(agent('c', { capabilities: ['search'], provider: 'vertex_ai', status: 'degraded' }))
    return registry
  }

  test.each([
    [{}, ['a', 'b', 'c']],
    [{ status: 'online' }, ['a', 'b']],
    [{ capabilities: ['search'] }, ['a', 'b', 'c']],
    [{ capabilities: ['sum', 'search'] }, ['a']],
    [{ capabilities: ['Search'] }, []],
    [{ tags: ['fast'] }, ['a', 'b']],
    [{ tags: ['fast', 'eu'], capabilities: ['sum'] }, ['a']],
    [{ provider: 'VertexAI' }, ['c']],
    [{ provider: 'custom', status: 'degraded' }, []],
  ] as const)('%j finds %j', (query, expected) => {
    expect(ids(peopled().find(query))).toEqual(expected)
  })

  test('by a capability finds those online', () => {
    const registry = peopled()
    expect(ids(registry.findByCapability('search'))).toEqual(['a', 'b'])
    expect(ids(registry.listOnline())).toEqual(['a', 'b'])
    expect(registry.findByCapability('sea')).toEqual([])
  })

  test('an agent that is not there finds nothing', () => {
    expect(peopled().get('x')).toBeNull()
    expect(peopled().get('__proto__')).toBeNull()
  })

  test('changes nothing of what the registry holds', () => {
    const registry = peopled()
    registry.list().length = 0
    expect(registry.list()).toHaveLength(3)
  })
})

describe('removing', () => {
  test('returns the agent, once, and notifies listeners', () => {
    const { registry } = setUp()
    const known = registry.register(agent('a'))
    registry.register(agent('b'))
    const gone: string[] = []
    const end = registry.onUnregister((id) => gone.push(id))
    expect(registry.unregister('a')).toBe(known)
    expect(registry.unregister('a')).toBeNull()
    end()
    registry.unregister('b')
    expect(gone).toEqual(['a'])
    expect(registry.list()).toEqual([])
  })
})

describe('the status', () => {
  test('is set, with the moment', () => {
    const { registry, clock, changes } = setUp()
    const first = registry.register(agent('a'))
    clock.advance(5)
    const second = registry.updateStatus('a', 'offline')
    expect(second).toEqual({
      ...first,
      status: 'offline',
      metadata: { ...first.metadata, lastSeenAt: '2026-01-01T00:00:00.005Z' },
    })
    expect(Object.isFrozen(second)).toBe(true)
    expect(registry.get('a')).toBe(second)
    expect(first.status).toBe('online')
    registry.updateStatus('a', 'offline')
    expect(changes).toEqual(['a: online → offline'])
  })

  test('of an unknown agent does nothing', () => {
    expect(setUp().registry.updateStatus('a', 'online')).toBeNull()
  })

  test('is one of four', () => {
    const { registry } = setUp()
    registry.register(agent('a'))
    // As an untyped caller may pass it.
    expect(() => registry.updateStatus('a', 'fine' as 'online')).toThrow(
      'status must be one of online, offline, degraded, maintenance, got "fine"',
    )
  })

  test('changes even where a listener throws', async () => {
    const error = new Error('listener')
    const { registry } = setUp({
      onStatusChange: () => {
        throw error
      },
    })
    registry.register(agent('a'))
    const errors = await uncaughtBy(() => {
      expect(registry.updateStatus('a', 'offline')?.status).toBe('offline')
    })
    expect(errors).toEqual([error])
  })
})

describe('credentials', () => {
  const SECRET = 'hush-hush'

  test.each<[string, AgentInput['endpoint']['auth'], Record<string, string>]>([
    ['a bearer token', { type: 'bearer', token: SECRET }, { authorization: `Bearer ${SECRET}` }],
    ['a key', { type: 'api_key', header: 'x-api-key', key: SECRET }, { 'x-api-key': SECRET }],
    ['an authenticator', bearerAuth(SECRET), { authorization: `Bearer ${SECRET}` }],
    [
      'one of another kind',
      Object.assign(bearerAuth(SECRET), { SECRET }),
      { authorization: `Bearer ${SECRET}` },
    ],
  ])('%s goes to the agent, and is shown nowhere', async (_, auth, headers) => {
    const { fetch, asked } = fakeFetch(() => ({ body: '' }))
    const { registry } = setUp({ fetch })
    const known = registry.register(agent('a', { endpoint: { url: URL, auth } }))
    await registry.checkHealth('a')
    expect(asked[0]?.headers).toMatchObject(headers)
    expect(inspect(known, { depth: Infinity, showHidden: true }) + JSON.stringify(known)).not.toContain(
      SECRET,
    )
  })

  test('of OAuth become a token, and another when it is refused', async () => {
    let tokens = 0
    const { fetch, asked } = fakeFetch(({ path, headers }) => {
      if (path.startsWith('https://login')) return { body: { access_token: `t${++tokens}` } }
      return { status: headers['authorization'] === 'Bearer t2' ? 200 : 401 }
    })
    const { registry } = setUp({ fetch })
    const auth = {
      type: 'oauth2',
      clientId: 'id',
      clientSecret: SECRET,
      scope: 'all',
      tokenUrl: 'https://login.example.com/token',
    } as const
    const known = registry.register(agent('a', { status: 'offline', endpoint: { url: URL, auth } }))
    expect(await registry.checkHealth('a')).toMatchObject({ status: 'online' })
    expect(asked.map(({ path }) => path)).toEqual([auth.tokenUrl, `${URL}/`, auth.tokenUrl, `${URL}/`])
    expect(asked[0]?.body).toContain('scope=all')
    expect(inspect(known, { depth: Infinity, showHidden: true })).not.toContain(SECRET)
  })
})
