import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'
import type { AgentInput, AgentStatus, RegisteredAgent } from '../../../src/gateway/registry/agent.js'
import type { HealthCheck } from '../../../src/gateway/registry/health.js'
import type { ProviderCall } from '../../../src/gateway/provider.js'
import { AgentRegistry, type AgentRegistryOptions } from '../../../src/gateway/registry/registry.js'
import { fakeFetch, settle, site } from '../../http/support/http.js'

function agent(id: string, url = 'https://agent.example.com'): AgentInput {
  return { id, provider: 'custom', capabilities: ['echo'], endpoint: { url } }
}

/** A health check that is answered by hand. */
function held() {
  const looks: {
    readonly id: string
    readonly signal: AbortSignal
    readonly answer: (status: string) => void
  }[] = []
  const healthCheck: HealthCheck = ({ id }, { signal }) =>
    new Promise((resolve) => {
      // An untyped caller may return an invalid status.
      looks.push({ id, signal, answer: (status) => resolve(status as AgentStatus) })
    })
  return { looks, healthCheck, asked: () => looks.map(({ id }) => id) }
}

function setUp(healthCheck: HealthCheck, options: AgentRegistryOptions = {}) {
  const clock = new ManualClock()
  const changes: string[] = []
  const registry = new AgentRegistry({
    clock,
    healthCheck,
    onStatusChange: ({ agent: { id }, from, to }) => changes.push(`${id}: ${from} → ${to}`),
    ...options,
  })
  const status = (id: string): AgentStatus | undefined => registry.get(id)?.status
  const lastSeenAt = (id: string): string | undefined => registry.get(id)?.metadata.lastSeenAt
  return { clock, changes, registry, status, lastSeenAt }
}

describe('monitoring', () => {
  test('looks at all agents at once, and again after each interval', async () => {
    const { looks, healthCheck, asked } = held()
    const { registry, clock, status, changes } = setUp(healthCheck)
    for (const id of ['a', 'b', 'c']) registry.register(agent(id))
    registry.startHealthMonitoring(10_000)
    expect(asked()).toEqual(['a', 'b', 'c'])
    for (const [at, answer] of ['online', 'degraded', 'offline'].entries()) looks[at]?.answer(answer)
    await settle()
    expect(['a', 'b', 'c'].map(status)).toEqual(['online', 'degraded', 'offline'])
    expect(changes).toEqual(['b: online → degraded', 'c: online → offline'])
    clock.advance(9_999)
    expect(looks).toHaveLength(3)
    clock.advance(1)
    expect(asked()).toEqual(['a', 'b', 'c', 'a', 'b', 'c'])
  })

  test('every 30 seconds by default', async () => {
    const { looks, healthCheck } = held()
    const { registry, clock } = setUp(healthCheck)
    registry.register(agent('a'))
    registry.startHealthMonitoring()
    looks[0]?.answer('online')
    await settle()
    clock.advance(29_999)
    expect(looks).toHaveLength(1)
    clock.advance(1)
    expect(looks).toHaveLength(2)
  })

  test('looks at 16 at a time, however many there are', async () => {
    const { looks, healthCheck } = held()
    const { registry, clock } = setUp(healthCheck, { healthTimeoutMs: 100_000 })
    for (let count = 0; count < 40; count += 1) registry.register(agent(`agent-${count}`))
    registry.startHealthMonitoring()
    clock.advance(60_000)
    expect(looks).toHaveLength(16)
    for (const { answer } of looks.slice(0, 3)) answer('online')
    await settle()
    expect(looks).toHaveLength(19)
    for (let at = 3; at < 40; at += 1) {
      looks[at]?.answer('degraded')
      await settle()
    }
    expect(registry.find({ status: 'degraded' })).toHaveLength(37)
  })

  test('never checks twice at the same time, however it starts', async () => {
    const { looks, healthCheck } = held()
    const { registry, clock } = setUp(healthCheck, { healthTimeoutMs: 60_000 })
    registry.register(agent('a'))
    registry.startHealthMonitoring(10_000)
    clock.advance(30_000)
    registry.startHealthMonitoring(10_000)
    const looked = registry.checkHealth('a')
    expect(looks).toHaveLength(1)
    looks[0]?.answer('degraded')
    expect(await looked).toMatchObject({ status: 'degraded' })
    await settle()
    clock.advance(10_000)
    expect(looks).toHaveLength(2)
  })

  test('does not start the next round before all agents were checked', async () => {
    const { looks, healthCheck, asked } = held()
    const { registry, clock } = setUp(healthCheck)
    registry.register(agent('a'))
    registry.register(agent('b'))
    registry.startHealthMonitoring(1_000)
    looks[0]?.answer('online')
    await settle()
    clock.advance(1_000)
    expect(asked()).toEqual(['a', 'b'])
    looks[1]?.answer('online')
    await settle()
    clock.advance(1_000)
    expect(asked()).toEqual(['a', 'b', 'a', 'b'])
  })

  test('that is started twice continues once', async () => {
    const { looks, healthCheck } = held()
    const { registry, clock } = setUp(healthCheck)
    registry.register(agent('a'))
    registry.startHealthMonitoring(1_000)
    registry.startHealthMonitoring(10_000)
    looks[0]?.answer('online')
    await settle()
    clock.advance(9_999)
    expect(looks).toHaveLength(1)
    clock.advance(1)
    expect(looks).toHaveLength(2)
  })

  test('stops: it looks at no agent any more, and leaves no timer', async () => {
    const { looks, healthCheck } = held()
    const { registry, clock } = setUp(healthCheck)
    for (let count = 0; count < 20; count += 1) registry.register(agent(`agent-${count}`))
    const monitoring = registry.startHealthMonitoring()
    monitoring.stop()
    monitoring.stop()
    for (const { answer } of looks) answer('degraded')
    await settle()
    expect(looks).toHaveLength(16)
    expect(registry.find({ status: 'degraded' })).toHaveLength(16)
    expect(clock.pending).toBe(0)
    clock.advance(100_000)
    expect(looks).toHaveLength(16)
  })

  test('does not keep the process alive', () => {
    const registry = new AgentRegistry({ healthCheck: held().healthCheck })
    registry.register(agent('a'))
    // Those that keep it alive.
    const timers = (): number => process.getActiveResourcesInfo().filter((type) => type === 'Timeout').length
    const before = timers()
    const monitoring = registry.startHealthMonitoring()
    expect(timers()).toBe(before)
    monitoring.stop()
  })

  test('needs an interval', () => {
    const { registry } = setUp(held().healthCheck)
    expect(() => registry.startHealthMonitoring(0)).toThrow('"intervalMs" must be a positive integer, got 0')
  })

  test('sees agents that came later, and none that have gone', async () => {
    const { looks, healthCheck, asked } = held()
    const { registry, clock } = setUp(healthCheck)
    registry.register(agent('a'))
    registry.startHealthMonitoring(1_000)
    looks[0]?.answer('online')
    await settle()
    registry.unregister('a')
    registry.register(agent('b'))
    clock.advance(1_000)
    expect(asked()).toEqual(['a', 'b'])
  })
})

describe('a look', () => {
  test.each<[string, HealthCheck]>([
    ['that rejects', () => Promise.reject(new Error('no'))],
    [
      'that throws',
      () => {
        throw new Error('no')
      },
    ],
    // As an untyped caller may pass it.
    ['that says something else', () => 'fine' as AgentStatus],
    ['that says what operators say', () => 'maintenance'],
  ])('%s finds the agent offline', async (_, healthCheck) => {
    const { registry } = setUp(healthCheck)
    registry.register(agent('a'))
    expect(await registry.checkHealth('a')).toMatchObject({ status: 'offline' })
  })

  test('that takes too long finds the agent offline, and is aborted', async () => {
    const { looks, healthCheck } = held()
    const { registry, clock, status } = setUp(healthCheck)
    registry.register(agent('a'))
    const looked = registry.checkHealth('a')
    clock.advance(4_999)
    expect(looks[0]?.signal.aborted).toBe(false)
    clock.advance(1)
    expect(await looked).toMatchObject({ status: 'offline' })
    expect(looks[0]?.signal.aborted).toBe(true)
    looks[0]?.answer('online')
    await settle()
    expect(status('a')).toBe('offline')
    expect(clock.pending).toBe(0)
  })

  test('reports when the agent was last seen, if it was seen', async () => {
    let answer: AgentStatus = 'offline'
    const { registry, clock, lastSeenAt } = setUp(() => answer)
    registry.register(agent('a'))
    clock.advance(1_000)
    await registry.checkHealth('a')
    expect(lastSeenAt('a')).toBe('2026-01-01T00:00:00.000Z')
    answer = 'degraded'
    await registry.checkHealth('a')
    expect(lastSeenAt('a')).toBe('2026-01-01T00:00:01.000Z')
    clock.advance(1_000)
    await registry.checkHealth('a')
    expect(lastSeenAt('a')).toBe('2026-01-01T00:00:02.000Z')
  })

  test('is not made at an agent in maintenance', async () => {
    const { looks, healthCheck } = held()
    const { registry } = setUp(healthCheck)
    registry.register({ ...agent('a'), status: 'maintenance' })
    expect(await registry.checkHealth('a')).toMatchObject({ status: 'maintenance' })
    expect(looks).toEqual([])
  })

  test('does not change an agent that was put into maintenance during the check', async () => {
    const { looks, healthCheck } = held()
    const { registry } = setUp(healthCheck)
    registry.register(agent('a'))
    const looked = registry.checkHealth('a')
    const set = registry.updateStatus('a', 'maintenance')
    looks[0]?.answer('offline')
    expect(await looked).toBe(set)
  })

  test('does not change an agent that was registered again during the check, which is checked by itself', async () => {
    const { looks, healthCheck } = held()
    const { registry, status, changes } = setUp(healthCheck)
    registry.register(agent('a'))
    const first = registry.checkHealth('a')
    registry.register(agent('a', 'https://other.example.com'))
    const second = registry.checkHealth('a')
    expect(looks).toHaveLength(2)
    looks[0]?.answer('offline')
    await first
    expect(status('a')).toBe('online')
    looks[1]?.answer('degraded')
    await second
    expect(status('a')).toBe('degraded')
    expect(changes).toEqual(['a: online → degraded'])
  })

  test('does not bring back an agent that has gone', async () => {
    const { looks, healthCheck } = held()
    const { registry, changes } = setUp(healthCheck)
    registry.register(agent('a'))
    const looked = registry.checkHealth('a')
    registry.unregister('a')
    looks[0]?.answer('offline')
    expect(await looked).toBeNull()
    expect(changes).toEqual([])
  })

  test('at all agents returns all of them', async () => {
    const { registry } = setUp(({ id }) => (id === 'a' ? 'online' : 'degraded'))
    registry.register(agent('a'))
    registry.register(agent('b'))
    expect(await registry.checkHealth()).toMatchObject([{ status: 'online' }, { status: 'degraded' }])
    expect(await registry.checkHealth('c')).toBeNull()
  })

  test('is made by the check that was set, unless the options have one', async () => {
    const check = (_: RegisteredAgent, { signal }: ProviderCall): AgentStatus =>
      signal.aborted ? 'offline' : 'degraded'
    const set = new AgentRegistry()
    set.setHealthCheck(check)
    set.register(agent('a'))
    expect(await set.checkHealth('a')).toMatchObject({ status: 'degraded' })
    const { registry } = setUp(() => 'online')
    registry.setHealthCheck(check)
    registry.register(agent('a'))
    expect(await registry.checkHealth('a')).toMatchObject({ status: 'online' })
  })
})

describe('a look by default', () => {
  test.each([
    [200, 'online'],
    [204, 'online'],
    [404, 'degraded'],
    [500, 'degraded'],
  ])('at an agent that responds with %i finds it %s', async (code, expected) => {
    const service = await site(() => ({ status: code }))
    const registry = new AgentRegistry()
    registry.register(agent('a', `${service.url}/agent`))
    expect(await registry.checkHealth('a')).toMatchObject({ status: expected })
    expect(service.asked).toMatchObject([{ method: 'GET', path: '/agent' }])
  })

  test('of an unreachable agent finds it offline', async () => {
    const registry = new AgentRegistry()
    registry.register(agent('a', 'http://127.0.0.1:1'))
    expect(await registry.checkHealth('a')).toMatchObject({ status: 'offline' })
  })

  test('waits for the response, not for its body', async () => {
    const { registry, clock } = setUp(() => 'online', {
      healthCheck: undefined,
      fetch: () => Promise.resolve(new Response(new ReadableStream())),
    })
    registry.register(agent('a'))
    expect(await registry.checkHealth('a')).toMatchObject({ status: 'online' })
    expect(clock.pending).toBe(0)
  })

  test('at an agent that never responds ends in time', async () => {
    const { fetch } = fakeFetch(() => 'never')
    const { registry, clock } = setUp(() => 'online', { healthCheck: undefined, fetch, healthTimeoutMs: 100 })
    registry.register(agent('a'))
    const looked = registry.checkHealth('a')
    await settle()
    clock.advance(100)
    expect(await looked).toMatchObject({ status: 'offline' })
  })

  test('at one whose URL leads in circles finds it degraded', async () => {
    const { fetch } = fakeFetch(() => ({ status: 302, headers: { location: '/' } }))
    const { registry } = setUp(() => 'online', { healthCheck: undefined, fetch })
    registry.register(agent('a'))
    expect(await registry.checkHealth('a')).toMatchObject({ status: 'degraded' })
  })

  test('follows a redirect within the origin, and to no other', async () => {
    const elsewhere = await site(() => ({ status: 200 }))
    const service = await site(({ path }) =>
      path === '/there' ? { status: 200 } : { status: 302, headers: { location: path.slice(1) } },
    )
    const registry = new AgentRegistry()
    registry.register(agent('near', `${service.url}//there`))
    registry.register(agent('far', `${service.url}/${elsewhere.url}`))
    expect(await registry.checkHealth('near')).toMatchObject({ status: 'online' })
    expect(await registry.checkHealth('far')).toMatchObject({ status: 'degraded' })
    expect(elsewhere.asked).toEqual([])
  })

  test('goes nowhere that the guard forbids', async () => {
    const { fetch, asked } = fakeFetch(() => ({ status: 200 }))
    const urlGuard = (): void => {
      throw new Error('not there')
    }
    const { registry } = setUp(() => 'online', { healthCheck: undefined, fetch, urlGuard })
    registry.register(agent('a'))
    expect(await registry.checkHealth('a')).toMatchObject({ status: 'offline' })
    expect(asked).toEqual([])
  })
})
