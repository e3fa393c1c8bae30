import { describe, expect, it, onTestFinished } from 'vitest'
import { loadGatewayConfig } from '../../../src/gateway/config/config.js'
import { AgentRegistry } from '../../../src/gateway/registry/registry.js'
import { read } from '../../support/repository.js'

/** The configuration of the task gateway's document. */
const DOCUMENT = read('examples/32-gateway.yaml')

const ENV = {
  LANGGRAPH_API_KEY: 'k-123',
  GOOGLE_CLIENT_ID: 'client',
  GOOGLE_CLIENT_SECRET: 's-456',
}

/** A configuration with one agent, with these lines in place of its own or beside them. */
function withAgent(lines: Readonly<Record<string, string>> = {}): string {
  const all = {
    ...{ id: 'one', provider: 'a2a', capabilities: '[echo]', endpoint: '{ url: "https://one.test" }' },
    ...lines,
  }
  const agent = Object.entries(all).map(([key, value]) => `      ${key}: ${value}`)
  return `a2a:\n  agents:\n    -\n${agent.join('\n')}\n`
}

describe('a configuration', () => {
  it('is read as the document has it', async () => {
    const config = await loadGatewayConfig(DOCUMENT, { env: ENV })
    const auth = { apply: expect.any(Function) as unknown }
    expect(config).toMatchObject({
      enabled: true,
      gateway: { healthCheckIntervalMs: 30_000, taskTimeoutMs: 300_000, maxConcurrentTasks: 100 },
      agents: [
        {
          ...{ id: 'research-agent', name: 'Research Agent', provider: 'langgraph' },
          description: 'Performs web research and summarization',
          endpoint: { url: 'http://localhost:8100', auth, timeoutMs: 120_000 },
          capabilities: [
            { name: 'web_search', description: 'Search the web for information' },
            { name: 'summarize', description: 'Summarize documents and content' },
          ],
        },
        {
          ...{ id: 'code-agent', provider: 'vertex_ai' },
          endpoint: { url: 'https://us-central1-aiplatform.googleapis.com', auth, timeoutMs: 180_000 },
        },
        {
          ...{ id: 'data-agent', provider: 'bedrock' },
          endpoint: { url: 'https://bedrock-runtime.us-east-1.amazonaws.com', timeoutMs: 240_000 },
        },
      ],
    })
    expect(config.agents[2]?.endpoint.auth).toBeUndefined()
  })

  it('is read as the documentation has it', async () => {
    const [, text = ''] = /```yaml\n([^]*?)```/.exec(read('docs/guides/gateway-config.md')) ?? []
    const config = await loadGatewayConfig(text, { env: (name) => (name.endsWith('_URL') ? '' : 'x') })
    expect(config.gateway).toEqual({
      ...{ healthCheckIntervalMs: 30_000, taskTimeoutMs: 300_000, maxConcurrentTasks: 100 },
      ...{ pollIntervalMs: 1_000, cancelTimeoutMs: 10_000, rateLimit: { requests: 60, perMs: 60_000 } },
      circuitBreaker: { failures: 5, resetMs: 30_000 },
    })
    expect(Object.keys(config.agents[0] ?? {})).toHaveLength(10)
    expect(config.agents.map(({ endpoint }) => [endpoint.url, typeof endpoint.auth])).toEqual([
      ['http://localhost:2024', 'object'],
      ['https://x.services.ai.azure.com/api/projects/support', 'object'],
      ['http://localhost:8080', 'object'],
    ])
  })

  it('is what a registry takes', async () => {
    const { agents } = await loadGatewayConfig(DOCUMENT, { env: ENV })
    const registry = new AgentRegistry()
    for (const agent of agents) registry.register(agent)
    expect(registry.findByCapability('code_review').map(({ id }) => id)).toEqual(['code-agent'])
  })

  it('has credentials that work', async () => {
    const types = [
      [`{ type: bearer, token: t-1 }`, { authorization: 'Bearer t-1' }],
      [`{ type: api_key, header: x-key, key: 12345 }`, { 'x-key': '12345' }],
    ] as const
    for (const [auth, headers] of types) {
      const text = withAgent({ endpoint: `{ url: "https://one.test", auth: ${auth} }` })
      const { agents } = await loadGatewayConfig(text, { env: ENV })
      const given = agents[0]?.endpoint.auth
      const request = { url: new URL('https://one.test'), headers: new Headers() }
      if (given !== undefined && 'apply' in given) await given.apply(request)
      expect(Object.fromEntries(request.headers)).toEqual(headers)
    }
  })

  it('may say no more than which agents there are', async () => {
    expect(await loadGatewayConfig(withAgent())).toEqual({
      enabled: true,
      gateway: { healthCheckIntervalMs: 30_000, taskTimeoutMs: 300_000, maxConcurrentTasks: 100 },
      agents: [{ id: 'one', provider: 'a2a', capabilities: ['echo'], endpoint: { url: 'https://one.test' } }],
    })
  })

  it('may contain all settings of an agent and a gateway', async () => {
    const gateway = `
  gateway: { poll_interval_seconds: 0.5, cancel_timeout_seconds: 2, rate_limit: { requests: 10, per_seconds: 60 },
    circuit_breaker: { failures: 3 } }`
    const text = withAgent({
      ...{ max_concurrent_tasks: '4', status: 'maintenance', name: '007', description: '""' },
      capabilities: '[{ name: a, input_schema: { type: object, x_y: 1 }, output_schema: {} }]',
      settings: '{ assistant_id: a-1, region: eu, config: { user_id: 1 } }',
      metadata: '{ version: 1.10, tags: [a, 2], extra: { team_name: x } }',
    })
    const config = await loadGatewayConfig(text + gateway)
    expect(config.gateway).toEqual({
      ...{ healthCheckIntervalMs: 30_000, taskTimeoutMs: 300_000, maxConcurrentTasks: 100 },
      ...{ pollIntervalMs: 500, cancelTimeoutMs: 2_000 },
      rateLimit: { requests: 10, perMs: 60_000 },
      circuitBreaker: { failures: 3, resetMs: 30_000 },
    })
    expect(config.agents[0]).toMatchObject({
      ...{ maxConcurrentTasks: 4, status: 'maintenance', name: '007', description: '' },
      capabilities: [{ name: 'a', inputSchema: { type: 'object', x_y: 1 }, outputSchema: {} }],
      settings: { assistantId: 'a-1', region: 'eu', config: { user_id: 1 } },
      metadata: { version: '1.10', tags: ['a', '2'], extra: { team_name: 'x' } },
    })
  })

  it('may be one section of many, and use their anchors', async () => {
    const text = `model_list: !include models.yaml
defaults: &endpoint { url: "https://one.test", timeout_seconds: 5 }
${withAgent({ endpoint: '*endpoint' })}`
    const { agents } = await loadGatewayConfig(text)
    expect(agents[0]?.endpoint).toEqual({ url: 'https://one.test', timeoutMs: 5_000 })
  })

  it('merges maps: their own keys win, then those of the first map', async () => {
    const text = `defaults:
  - &agent { provider: a2a, description: one, endpoint: &endpoint { url: "https://one.test", timeout_seconds: 5 } }
  - &words { description: two, capabilities: [echo] }
a2a:
  agents:
    - <<: [*agent, *words]
      id: one
      endpoint: { <<: *endpoint, timeout_seconds: 7 }
    - { id: two, <<: *words, <<: }
`
    const [first] = (await loadGatewayConfig(text.replace('    - { id: two, <<: *words, <<: }\n', ''))).agents
    expect(first).toEqual({
      ...{ id: 'one', provider: 'a2a', description: 'one', capabilities: ['echo'] },
      endpoint: { url: 'https://one.test', timeoutMs: 7_000 },
    })
    await expect(loadGatewayConfig(text)).rejects.toThrow('the key "<<" is there already')
  })

  it.each<[string, string, Record<string, string>, object | undefined]>([
    ['langgraph', '{}', { AGENT_1_ASSISTANT_ID: 'graph' }, { assistantId: 'graph' }],
    ['langgraph', '{ assistant_id: mine }', { AGENT_1_ASSISTANT_ID: 'graph' }, { assistantId: 'mine' }],
    ['vertex_ai', '', { GOOGLE_CLOUD_PROJECT: 'p' }, { project: 'p' }],
    ['vertex_ai', '', { GOOGLE_CLOUD_PROJECT: 'p', AGENT_1_PROJECT: 'q' }, { project: 'q' }],
    ['vertex_ai', '{ resource: r }', { GOOGLE_CLOUD_PROJECT: 'p' }, { resource: 'r' }],
    ['vertex_ai', '', { AGENT_1_RESOURCE: 'r', GOOGLE_CLOUD_PROJECT: 'p' }, { resource: 'r' }],
    ['azure_ai', '', { AGENT_1_AGENT_NAME: 'n', AGENT_1_AGENT_VERSION: '' }, { agentName: 'n' }],
    ['azure_ai', '{ api: threads }', { AGENT_1_ASSISTANT_ID: 'a' }, { api: 'threads', assistantId: 'a' }],
    ['bedrock', '', { AGENT_1_AGENT_ID: 'A', AGENT_1_ALIAS_ID: 'B' }, { agentId: 'A', aliasId: 'B' }],
    ['bedrock', '', { AGENT_1_RUNTIME_ARN: 'arn' }, { runtimeArn: 'arn' }],
    ['bedrock', '{ runtime_arn: arn }', { AGENT_1_AGENT_ID: 'A' }, { runtimeArn: 'arn' }],
    ['a2a', '', { AGENT_1_AGENT_ID: 'A' }, undefined],
  ])('of an agent of %s with settings %s takes others from %j', async (provider, settings, env, expected) => {
    const text = withAgent({ id: 'agent.1', provider, ...(settings !== '' && { settings }) })
    expect((await loadGatewayConfig(text, { env })).agents[0]?.settings).toEqual(expected)
  })

  it('has aliases for the anchor of their name that stands last before them', async () => {
    const text = `x: &x [{ y: &y one }, &x two]\nlist: [*y, *x, &x three]\n${withAgent({
      name: '*x',
      description: '&x four',
      metadata: '{ version: *x, tags: [*y] }',
    })}`
    const { agents } = await loadGatewayConfig(text)
    expect(agents[0]).toMatchObject({ name: 'three', metadata: { version: 'four', tags: ['one'] } })
  })

  it.each([
    ['aliases', withAgent({ name: '&x a', settings: `{ list: [${'*x,'.repeat(40_000)}] }` })],
    ['keys', `${Array.from({ length: 40_000 }, (_, at) => `k${at.toString(36)}:\n`).join('')}${withAgent()}`],
  ])('of many %s is read in no time', async (_name, text) => {
    expect((await loadGatewayConfig(text)).agents).toHaveLength(1)
  })

  it('has a circuit breaker, its defaults, or none', async () => {
    const breakerWith = async (value: string, env = {}) =>
      (await loadGatewayConfig(`a2a: { gateway: { circuit_breaker: ${value} } }`, { env })).gateway
        .circuitBreaker
    expect(await breakerWith('{}')).toEqual({ failures: 5, resetMs: 30_000 })
    expect(await breakerWith('{ reset_seconds: 1 }')).toEqual({ failures: 5, resetMs: 1_000 })
    expect(await breakerWith('')).toBeUndefined()
    expect(await breakerWith('false')).toBe(false)
    expect(await breakerWith('"${BREAKER}"', { BREAKER: 'false' })).toBe(false)
  })

  it('that is not enabled needs no variables', async () => {
    const text = DOCUMENT.replace('enabled: true', 'enabled: ${A2A:-false}')
    expect(await loadGatewayConfig(text, { env: {} })).toMatchObject({ enabled: false, agents: [] })
    expect(await loadGatewayConfig(text, { env: { ...ENV, A2A: 'true' } })).toMatchObject({ enabled: true })
  })

  it('knows providers by all their spellings, and those that are passed', async () => {
    const { agents } = await loadGatewayConfig(withAgent({ provider: 'LangChain' }))
    expect(agents[0]?.provider).toBe('langgraph')
    for (const providers of [['poets'], { poets: {} }]) {
      expect(
        (await loadGatewayConfig(withAgent({ provider: 'poets' }), { providers })).agents[0]?.provider,
      ).toBe('poets')
    }
  })
})

describe('variables', () => {
  async function nameWith(text: string, env: Record<string, string>): Promise<string | undefined> {
    return (await loadGatewayConfig(withAgent({ name: text }), { env })).agents[0]?.name
  }

  it.each([
    ['"a ${X} b ${Y}"', 'a 1 b 2'],
    ['${X}${Y}', '12'],
    ['${NONE:-default}', 'default'],
    ['${EMPTY:-default}', 'default'],
    ['${EMPTY}x', 'x'],
    ['${X:-default}', '1'],
    ['"${NONE:-}x"', 'x'],
    ['"${NONE:-a ${b}"', 'a ${b'],
    ['$${X}', '${X}'],
    ['cost $5', 'cost $5'],
    ['${NESTED}', '${X}'],
  ])('%s is %s', async (text, expected) => {
    expect(await nameWith(text, { X: '1', Y: '2', EMPTY: '', NESTED: '${X}' })).toBe(expected)
  })

  it('come from a function, or from the environment', async () => {
    const text = withAgent({ name: '${A2A_CONFIG_TEST}' })
    const { agents } = await loadGatewayConfig(text, { env: (name) => name.toLowerCase() })
    expect(agents[0]?.name).toBe('a2a_config_test')
    process.env['A2A_CONFIG_TEST'] = 'from the process'
    onTestFinished(() => {
      delete process.env['A2A_CONFIG_TEST']
    })
    expect((await loadGatewayConfig(text)).agents[0]?.name).toBe('from the process')
  })

  it('are numbers and flags where those are wanted, and texts else', async () => {
    const text = withAgent({ name: '${N}', endpoint: '{ url: "https://one.test", timeout_seconds: "${N}" }' })
    const { agents } = await loadGatewayConfig(text, { env: { N: '12' } })
    expect(agents[0]).toMatchObject({ name: '12', endpoint: { timeoutMs: 12_000 } })
  })

  it('change nothing of the structure, whatever they hold', async () => {
    const evil = 'x"\n      provider: bedrock\n    - id: two # {[*&!'
    expect(await nameWith('"${EVIL}"', { EVIL: evil })).toBe(evil)
    expect(await nameWith('${EVIL}', { EVIL: evil })).toBe(evil)
  })

  it('are not taken from the prototype', async () => {
    await expect(nameWith('${toString}', {})).rejects.toThrow('the variable toString is not set')
  })
})
