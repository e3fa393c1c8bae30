/** Registry, gateway, task store and errors as the document of LiteLLM-RS describes them. */
import { A2AError, TaskManager, type TaskState } from 'a2a-tasks'
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, it, onTestFinished, test } from 'vitest'
import { loadGatewayConfig } from '../../src/gateway/config/config.js'
import { SERVICE_FAILED, TIMED_OUT } from '../../src/gateway/turns/turn.js'
import { A2AGateway } from '../../src/gateway/gateway.js'
import type { AgentProvider, TaskUpdate } from '../../src/gateway/provider.js'
import { langGraph } from '../../src/gateway/providers/langgraph/provider.js'
import { site } from '../http/support/http.js'
import { gate, rejection } from '../server/interop/support/agent.js'
import { gatewayOf, untilAborted, type TestAgent } from './support/request-handler.js'

const echo: TestAgent = ({ text }) => text

const RESEARCH = {
  id: 'research-agent',
  name: 'Research Agent',
  description: 'Performs web research and summarization',
  provider: 'langgraph',
  capabilities: [
    { name: 'web_search', description: 'Search the web for information' },
    { name: 'summarize', description: 'Summarize documents and content' },
  ],
  endpoint: { url: 'http://localhost:8100' },
}

describe('A2AProvider', () => {
  /** The five methods of the document's trait, and what each was asked. */
  function provider(asked: unknown[]): AgentProvider {
    return {
      sendTask({ id }, { text }) {
        asked.push(['send', id, text])
        return Promise.resolve({ ref: { run: 1 }, state: 'working' })
      },
      getTask({ id }, ref) {
        asked.push(['get', id, ref])
        return Promise.resolve({ state: 'completed', artifacts: [{ parts: [{ text: 'Done' }] }] })
      },
      cancelTask({ id }, ref) {
        asked.push(['cancel', id, ref])
        return Promise.resolve({})
      },
      async *streamTask({ id }, { text }): AsyncGenerator<TaskUpdate> {
        asked.push(['stream', id, text])
        const message = 'What next?'
        yield await Promise.resolve({ ref: { run: 2 }, state: 'input-required', progress: 0.5, message })
      },
      healthCheck({ id }) {
        asked.push(['health', id])
        return Promise.resolve('degraded')
      },
    }
  }

  it('is any object with its methods: each is asked for what the document says', async () => {
    const asked: unknown[] = []
    const gateway = new A2AGateway({
      providers: { langgraph: provider(asked) },
      config: { pollIntervalMs: 1 },
    })
    gateway.registry.register(RESEARCH)
    expect(await gateway.sendTask('research-agent', 'Find it')).toMatchObject({ state: 'completed' })
    for await (const event of gateway.streamTask('research-agent', 'Stream it')) {
      if (event.type === 'status' && event.to === 'input-required') {
        expect(event.message).toMatchObject({ metadata: { progress: { current: 0.5, total: 1 } } })
        await gateway.cancelTask(event.taskId)
      }
    }
    expect(await gateway.registry.checkHealth('research-agent')).toMatchObject({ status: 'degraded' })
    const id = 'research-agent'
    expect(asked).toEqual([
      ['send', id, 'Find it'],
      ['get', id, { run: 1 }],
      ['stream', id, 'Stream it'],
      ['cancel', id, { run: 2 }],
      ['health', id],
    ])
    await gateway.close()
  })

  it('refuses a provider that lacks a method', () => {
    const lacking = { ...provider([]), healthCheck: undefined } as unknown as AgentProvider
    expect(() => new A2AGateway({ providers: { langgraph: lacking } })).toThrow(
      '"providers.langgraph" has no healthCheck()',
    )
  })
})

describe('A2AGateway', () => {
  it('registers, unregisters, lists and finds agents by its registry', async () => {
    const { gateway, errors } = gatewayOf({})
    const { registry } = gateway
    registry.register(RESEARCH)
    registry.register({ ...RESEARCH, id: 'asleep', status: 'offline' })
    expect(registry.list().map(({ id }) => id)).toEqual(['research-agent', 'asleep'])
    expect(registry.listOnline().map(({ id }) => id)).toEqual(['research-agent'])
    expect(registry.findByCapability('summarize').map(({ id }) => id)).toEqual(['research-agent'])
    expect(registry.findByCapability('summarise')).toEqual([])
    expect(registry.unregister('research-agent')).toMatchObject({ id: 'research-agent' })
    expect(registry.unregister('research-agent')).toBeNull()
    expect(await rejection(() => gateway.sendTask('research-agent', 'x'))).toMatchObject({
      code: 'AGENT_NOT_FOUND',
      message: 'Agent not found: research-agent',
    })
    expect(errors).toEqual([])
  })

  it('stores a task, sends it, and stores its result', async () => {
    const sent = gate<TaskState | undefined>()
    const { gateway } = gatewayOf({
      echo: ({ id, text }) => {
        sent.open(gateway.tasks.peekTask(id)?.state)
        return text
      },
    })
    const task = await gateway.sendTask('echo', 'Hello', { id: 'mine' })
    expect(task).toMatchObject({ id: 'mine', skill: 'echo', state: 'completed' })
    expect(await sent.opened).toBe('submitted')
    expect(await gateway.getTask('mine')).toEqual(task)
  })

  it('keeps a task whose service has failed as one that has failed', async () => {
    const { gateway, errors } = gatewayOf({
      broken: () => {
        throw new Error('connect ECONNREFUSED 10.0.0.7:8100')
      },
    })
    const task = await gateway.sendTask('broken', 'Hello')
    expect(task).toMatchObject({ state: 'failed', message: { parts: [{ text: SERVICE_FAILED }] } })
    expect(await gateway.getTask(task.id)).toEqual(task)
    expect(errors).toMatchObject([
      {
        code: 'PROVIDER_ERROR',
        message: 'Provider broken of agent broken: its function failed',
        data: { reason: 'its function failed: connect ECONNREFUSED 10.0.0.7:8100' },
      },
    ])
  })

  it.each<[string, string, A2AError['code'], string]>([
    ['there is not', 'unknown', 'AGENT_NOT_FOUND', 'Agent not found: unknown'],
    ['is not online', 'asleep', 'AGENT_BUSY', 'Agent asleep is not online'],
    [
      'has no provider',
      'strange',
      'PROVIDER_ERROR',
      'Provider martian of agent strange: No provider for martian: pass it in "providers"',
    ],
  ])('sends nothing to an agent that %s, nor streams', async (_, agentId, code, message) => {
    const { gateway } = gatewayOf({ echo, asleep: { run: () => '', agent: { status: 'offline' } } })
    gateway.registry.register({ ...RESEARCH, id: 'strange', provider: 'martian' })
    for (const send of [
      () => gateway.sendTask(agentId, 'x'),
      () => gateway.streamTask(agentId, 'x'),
    ] as const) {
      expect(await rejection(send)).toMatchObject({ code, message })
    }
    expect(gateway.tasks.size()).toBe(0)
  })

  it('refuses to cancel an ended task, and an unknown one', async () => {
    const { gateway } = gatewayOf({ echo })
    const { id } = await gateway.sendTask('echo', 'x')
    expect(await rejection(() => gateway.cancelTask(id))).toMatchObject({ code: 'TASK_NOT_CANCELABLE' })
    const notFound = { code: 'TASK_NOT_FOUND', message: 'Task not found: none' }
    expect(await rejection(() => gateway.cancelTask('none'))).toMatchObject(notFound)
    expect(await rejection(() => gateway.getTask('none'))).toMatchObject(notFound)
  })

  it('stores what it streams, listened to or not', async () => {
    const { gateway } = gatewayOf({
      poet: async function* () {
        yield await Promise.resolve('Roses ')
        yield 'are red'
      },
    })
    const types: string[] = []
    for await (const event of gateway.streamTask('poet', 'x')) {
      types.push(event.type === 'status' ? event.to : event.type)
      if (event.type === 'artifact') break
    }
    expect([types[0], types.at(-1)]).toEqual(['created', 'artifact'])
    const [task] = gateway.tasks.listTasks()
    const ended = await gateway.tasks.waitFor(task?.id ?? '')
    expect(ended).toMatchObject({
      state: 'completed',
      artifacts: [{ parts: [{ text: 'Roses are red' }] }],
    })
  })

  it('finds the agent for a task: online, with all that is needed, and with least to do', async () => {
    const go = gate()
    const { gateway } = gatewayOf({
      first: {
        run: () => go.opened.then(() => 'done'),
        agent: { capabilities: ['web_search', 'summarize'] },
      },
      second: { run: () => 'done', agent: { capabilities: ['summarize', 'web_search', 'translate'] } },
      third: { run: () => 'done', agent: { capabilities: ['summarize'] } },
      asleep: { run: () => 'done', agent: { capabilities: ['web_search', 'sing'], status: 'maintenance' } },
    })
    const working = gateway.sendTask('first', 'x')
    expect([gateway.loadOf('first'), gateway.loadOf('second')]).toEqual([1, 0])
    const found = (needs: string) => gateway.findAgentForTask(needs)?.id
    expect(found('Do a web search and summarize it')).toBe('second')
    expect(gateway.findAgentForTask({ capabilities: ['sing'] })).toBeNull()
    go.open()
    await working
  })
})

describe('TaskStore', () => {
  it('lists tasks by agent and by state, and forgets those that ended when it is full', async () => {
    const agents = { alice: echo, bob: () => ({ state: 'failed', message: 'No' }) as const }
    const { gateway } = gatewayOf(agents, {
      tasks: new TaskManager({ maxTasks: 3, whenFull: 'evict-terminal' }),
    })
    const { tasks } = gateway
    for (const agentId of ['alice', 'bob', 'alice']) await gateway.sendTask(agentId, 'x')
    expect(tasks.listTasks({ skill: 'alice' })).toHaveLength(2)
    expect(tasks.listTasks({ skill: 'bob' })).toHaveLength(1)
    expect(tasks.listTasks({ state: 'failed' }).map(({ skill }) => skill)).toEqual(['bob'])
    expect(tasks.listTasks({ skill: 'alice', state: 'failed' })).toEqual([])
    expect(await gateway.sendTask('alice', 'one more')).toMatchObject({ state: 'completed' })
    expect(tasks.size()).toBeLessThanOrEqual(3)
  })
})

describe('the configuration', () => {
  it('makes a gateway, whose agents are reached with their credentials', async () => {
    const { url, asked } = await site(({ method, path }) => {
      if (`${method} ${path}` !== 'POST /runs') return { status: path === '/health' ? 200 : 404, body: {} }
      return { body: { output: { messages: [{ role: 'assistant', content: 'Found' }] } } }
    })
    const config = await loadGatewayConfig(
      `a2a:
  enabled: true
  gateway:
    health_check_interval_seconds: 30
    task_timeout_seconds: 300
    max_concurrent_tasks: 100
  agents:
    - id: "research-agent"
      provider: "langgraph"
      endpoint:
        url: "${url}"
        auth:
          type: "bearer"
          token: \${LANGGRAPH_API_KEY}
        timeout_seconds: 120
      capabilities:
        - name: "web_search"
          description: "Search the web for information"
`,
      { env: { LANGGRAPH_API_KEY: 'k-123' } },
    )
    const providers = { langgraph: langGraph({ profile: 'litellm-rs' }) }
    const gateway = A2AGateway.fromConfig(config, { providers })
    onTestFinished(() => gateway.close())
    const input = { parts: [{ text: 'Find it' }], metadata: { tags: ['t'] } }
    const task = await gateway.sendTask('research-agent', input)
    expect(task).toMatchObject({ state: 'completed', artifacts: [{ parts: [{ text: 'Found' }] }] })
    const [sent] = asked.filter(({ method }) => method === 'POST')
    expect(sent?.headers.authorization).toBe('Bearer k-123')
    expect(JSON.parse(sent?.body ?? '')).toEqual({
      input: { messages: [{ role: 'user', content: 'Find it' }], context: null },
      config: { tags: ['t'] },
    })
  })

  it('limits how long a task takes, and how many run at once', async () => {
    const clock = new ManualClock()
    const config = { taskTimeoutMs: 300_000, maxConcurrentTasks: 1 }
    const { gateway, errors } = gatewayOf(
      { idler: (_task, { signal }) => untilAborted(signal) },
      { clock, config },
    )
    const sent = gateway.sendTask('idler', 'x')
    expect(await rejection(() => gateway.sendTask('idler', 'y'))).toMatchObject({ code: 'AGENT_BUSY' })
    clock.advance(299_999)
    expect(gateway.tasks.listTasks({ state: 'failed' })).toEqual([])
    clock.advance(1)
    expect(await sent).toMatchObject({
      state: 'failed',
      message: { parts: [{ text: TIMED_OUT }], metadata: { code: 'TASK_TIMED_OUT', retryable: true } },
    })
    expect(errors).toMatchObject([{ code: 'TASK_TIMED_OUT' }])
  })
})

describe('errors', () => {
  const endpoint = { url: 'https://service.test', timeoutMs: 5 }

  test.each<[string, string, string]>([
    ['does not answer in time', 'never', 'it did not answer in time'],
    ['cannot be reached', 'gone', 'https://service.test/runs cannot be reached: ECONNREFUSED'],
  ])('of a service that %s are worth a retry', async (_, how, reason) => {
    const errors: unknown[] = []
    const gateway = new A2AGateway({
      providers: {
        langgraph: langGraph({
          profile: 'litellm-rs',
          fetch: (_url, { signal }) =>
            how === 'never' && signal
              ? untilAborted(signal)
              : Promise.reject(new TypeError('fetch failed', { cause: new Error('ECONNREFUSED') })),
        }),
      },
      onError: (error) => errors.push(error),
    })
    gateway.registry.register({ ...RESEARCH, endpoint })
    const task = await gateway.sendTask('research-agent', 'x')
    expect(task).toMatchObject({ state: 'failed', message: { metadata: { retryable: true } } })
    expect(errors).toMatchObject([
      {
        code: 'PROVIDER_ERROR',
        message: `Provider langgraph of agent research-agent: ${reason}`,
        data: { provider: 'langgraph', agentId: 'research-agent', reason, retryable: true },
      },
    ])
    await gateway.close()
  })

  test('have one class, and codes for programs', async () => {
    const { gateway } = gatewayOf({ echo })
    const error = await rejection(() => gateway.sendTask('unknown', 'x'))
    expect(A2AError.is(error, 'AGENT_NOT_FOUND') && error.data).toEqual({ agentId: 'unknown' })
    expect(await rejection(() => loadGatewayConfig('a2a: {agents: 7}'))).toMatchObject({
      code: 'CONFIGURATION_ERROR',
      message: expect.stringContaining('a2a.agents') as unknown,
    })
  })
})
