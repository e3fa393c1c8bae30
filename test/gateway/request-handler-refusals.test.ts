/** Messages that a gateway refuses before their task exists, in every dialect, and as the client reads the error. */
import type { AnyA2AError } from 'a2a-tasks'
import { A2AClient } from 'a2a-tasks/client'
import type { JsonObject } from 'a2a-tasks/schemas'
import { describe, expect, it, onTestFinished, test } from 'vitest'
import { A2AError, invalidParams } from '../../src/core/errors.js'
import { A2AGateway } from '../../src/gateway/gateway.js'
import { custom, type CustomRun } from '../../src/gateway/providers/custom.js'
import { providerError } from '../../src/gateway/providers/shared/service.js'
import { gate, rejection } from '../server/interop/support/agent.js'
import {
  gatewayOf,
  rpc,
  scene,
  serveGateway,
  untilAborted,
  type Options,
  type TestAgent,
} from './support/request-handler.js'

interface Case {
  readonly agents: Readonly<Record<string, TestAgent>>
  readonly options?: Options
  /** What makes the agent refuse. */
  readonly before?: (gateway: A2AGateway) => unknown
  readonly agentId?: string
  readonly expected: {
    readonly code: AnyA2AError['code']
    readonly message: string
    readonly data: object
    readonly rpc: readonly [code: number, http: number]
    readonly rest: number
    readonly litellm: object
    /** Seconds. */
    readonly retryAfter: string | null
  }
}

const echo: CustomRun = ({ text }) => text
const endless: TestAgent = (_task, { signal }) => untilAborted(signal)

const NOT_FOUND: Case['expected'] = {
  code: 'AGENT_NOT_FOUND',
  message: 'Agent not found: unknown',
  data: { agentId: 'unknown' },
  rpc: [-32602, 200],
  rest: 404,
  litellm: { code: -32002, message: 'Agent not found: unknown' },
  retryAfter: null,
}

const NO_AGENT = 'No online agent has a capability for this message: name an agent in metadata.agentId'

const MISMATCH: Case['expected'] = {
  code: 'CAPABILITY_MISMATCH',
  message: NO_AGENT,
  data: { capabilities: [] },
  rpc: [-32004, 200],
  rest: 400,
  litellm: { code: -32005, message: NO_AGENT },
  retryAfter: null,
}

function busy(reason: string, seconds = 5, message = 'Agent is busy: bob'): Case['expected'] {
  return {
    code: 'AGENT_BUSY',
    message,
    data: { agentId: 'bob', reason, retryable: true, retryAfterMs: seconds * 1_000 },
    rpc: [-32603, 503],
    rest: 503,
    litellm: {
      code: -32003,
      message,
      data: { retry_after: seconds, retryable: true },
    },
    retryAfter: String(seconds),
  }
}

const CASES: Readonly<Record<string, Case>> = {
  'an agent that there is not': { agents: { bob: echo }, agentId: 'unknown', expected: NOT_FOUND },
  'an agent that was there': {
    agents: { unknown: echo },
    agentId: 'unknown',
    before: (gateway) => gateway.registry.unregister('unknown'),
    expected: NOT_FOUND,
  },
  ...Object.fromEntries(
    (['offline', 'degraded', 'maintenance'] as const).map((status) => [
      `an agent that is ${status}`,
      {
        agents: { bob: echo },
        agentId: 'bob',
        before: (gateway: A2AGateway) => gateway.registry.updateStatus('bob', status),
        expected: busy(`it is ${status}`, 5, 'Agent bob is not online'),
      },
    ]),
  ),
  'an agent that has too much to do': {
    agents: { bob: { run: endless as never, agent: { maxConcurrentTasks: 1 } } },
    agentId: 'bob',
    before: (gateway) => gateway.sendTask('bob', 'work', { returnImmediately: true }),
    expected: busy('it has too much to do'),
  },
  'a gateway that has too much to do': {
    agents: { alice: endless, bob: echo },
    options: { config: { maxConcurrentTasks: 1 } },
    agentId: 'bob',
    before: (gateway) => gateway.sendTask('alice', 'work', { returnImmediately: true }),
    expected: busy('the gateway has too much to do'),
  },
  'a service that keeps failing': {
    agents: {
      bob: (_task, { agent }) => {
        throw providerError('bob', agent, 'HTTP 503', { retryable: true })
      },
    },
    options: { config: { circuitBreaker: { failures: 1, resetMs: 30_000 } }, clock: frozen() },
    agentId: 'bob',
    before: (gateway) => gateway.sendTask('bob', 'work'),
    expected: busy('its service keeps failing', 30),
  },
  'work that no online agent can do': {
    agents: { work: echo },
    before: (gateway) => gateway.registry.updateStatus('work', 'offline'),
    expected: MISMATCH,
  },
  'work that no agent declares': { agents: { bob: echo }, expected: MISMATCH },
  'too many tasks': {
    agents: { bob: echo },
    options: { config: { rateLimit: { requests: 1, perMs: 60_000 } }, clock: frozen() },
    agentId: 'bob',
    before: (gateway) => gateway.sendTask('bob', 'the only one'),
    expected: {
      code: 'RATE_LIMITED',
      message: 'Rate limited: retry after 60 seconds',
      data: { retryable: true, retryAfterMs: 60_000 },
      rpc: [-32603, 429],
      rest: 429,
      litellm: {
        code: -32006,
        message: 'Rate limited: retry after 60 seconds',
        data: { retry_after: 60, retryable: true },
      },
      retryAfter: '60',
    },
  },
}

/** A clock on which no time passes. */
function frozen() {
  return { now: () => 1_700_000_000_000, schedule: () => () => undefined }
}

const NAMES = Object.keys(CASES)

/** A served gateway that is about to refuse, and how many tasks it has by then. */
async function about(name: string) {
  const { agents, options, before, agentId, expected } = CASES[name] as Case
  const { gateway } = gatewayOf(agents, options)
  const { url } = await serveGateway(gateway)
  await before?.(gateway)
  const metadata: JsonObject = agentId === undefined ? {} : { agentId }
  return { gateway, url, metadata, agentId, expected, size: gateway.tasks.size() }
}

function message(metadata: JsonObject): JsonObject {
  return { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'work' }], metadata }
}

describe.each(NAMES)('%s', (name) => {
  test.each(['SendMessage', 'SendStreamingMessage'])('is refused to %s of A2A 1.0', async (method) => {
    const { gateway, url, metadata, expected, size } = await about(name)
    const version = { 'a2a-version': '1.0' }
    const { status, headers, body } = await rpc(url, method, { message: message(metadata) }, version)
    expect(body['error']).toMatchObject({
      code: expected.rpc[0],
      message: expected.message,
      data: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: expected.code }],
    })
    expect([status, headers.get('retry-after')]).toEqual([expected.rpc[1], expected.retryAfter])
    expect(gateway.tasks.size()).toBe(size)
  })

  test('is refused to HTTP+JSON', async () => {
    const { gateway, url, metadata, expected, size } = await about(name)
    const response = await fetch(`${url}/message:send`, {
      method: 'POST',
      headers: { 'content-type': 'application/a2a+json', 'a2a-version': '1.0' },
      body: JSON.stringify({ message: message(metadata) }),
    })
    expect([response.status, response.headers.get('retry-after')]).toEqual([
      expected.rest,
      expected.retryAfter,
    ])
    expect(await response.json()).toMatchObject({
      error: { message: expected.message, details: [{ reason: expected.code }] },
    })
    expect(gateway.tasks.size()).toBe(size)
  })

  test.each(['task_send', 'task_send_subscribe'])('is refused to %s of LiteLLM-RS', async (method) => {
    const { gateway, url, agentId, expected, size } = await about(name)
    const task = { input: { instruction: 'work' }, metadata: { agent_id: agentId } }
    const { status, headers, body } = await rpc(url, method, task)
    expect(body['error']).toEqual(expected.litellm)
    expect([status, headers.get('retry-after')]).toEqual([expected.rpc[1], expected.retryAfter])
    expect(gateway.tasks.size()).toBe(size)
  })

  test.each(['JSONRPC', 'HTTP+JSON'] as const)('is what our client reads, over %s', async (binding) => {
    const { url, metadata, expected } = await about(name)
    const client = await A2AClient.connect(url, { protocolBindings: [binding] })
    expect(client.interface.protocolBinding).toBe(binding)
    const { code, message: text, data } = expected
    expect(await rejection(() => client.send('work', { metadata }))).toMatchObject({
      code,
      message: text,
      data,
    })
  })
})

test.each([
  ['has no provider', 'unheard_of', 'No provider for unheard_of: pass it in "providers"'],
  ['is not set up', 'langgraph', 'settings.assistantId is missing'],
])('an agent that %s is refused without the reason, which onError receives', async (_, provider, reason) => {
  const reported: unknown[] = []
  const checkAgent = (): never => {
    throw invalidParams('settings.assistantId', 'is missing')
  }
  const gateway = new A2AGateway({
    providers: { langgraph: Object.assign(custom(echo), { checkAgent }) },
    onError: (error, context) =>
      reported.push([A2AError.is(error, 'PROVIDER_ERROR') && error.data.reason, context]),
  })
  onTestFinished(() => gateway.close())
  gateway.registry.register({
    ...{ id: 'carol', provider, capabilities: ['sing'], endpoint: { url: 'https://service.test' } },
  })
  const { url } = await serveGateway(gateway)
  const task = { input: { instruction: 'sing' }, metadata: { agent_id: 'carol' } }
  expect((await rpc(url, 'task_send', task)).body['error']).toEqual({
    code: -32603,
    message: 'Internal error',
  })
  expect(reported).toEqual([[reason, { during: 'sendTask', agentId: 'carol' }]])
  expect(gateway.tasks.size()).toBe(0)
})

describe('the rate limit', () => {
  it('is that of each principal, and counts no message that was refused', async () => {
    const { url } = await scene(
      { bob: echo },
      { config: { rateLimit: { requests: 1, perMs: 60_000 } }, clock: frozen() },
      {
        authenticate: (request) => {
          const id = request.headers.get('authorization')
          return id === null ? null : { id }
        },
      },
    )
    const as = (name: string) => A2AClient.connect(url, { headers: { authorization: name } })
    const [ann, ben] = [await as('ann'), await as('ben')]
    expect(await rejection(() => ann.send('x', { metadata: { agentId: 'unknown' } }))).toMatchObject({
      code: 'AGENT_NOT_FOUND',
    })
    expect(await ann.run('bob')).toMatchObject({ type: 'completed' })
    expect(await rejection(() => ann.send('bob'))).toMatchObject({ code: 'RATE_LIMITED' })
    expect(await ben.run('bob')).toMatchObject({ type: 'completed' })
  })
})

it('a place is free again when the task has ended', async () => {
  const [begun, go] = [gate(), gate()]
  const { client, gateway } = await scene({
    bob: {
      run: async () => {
        begun.open()
        await go.opened
        return 'done'
      },
      agent: { maxConcurrentTasks: 1 },
    },
  })
  const first = client.run('bob')
  await begun.opened
  expect(await rejection(() => client.send('bob'))).toMatchObject({ code: 'AGENT_BUSY' })
  go.open()
  await first
  expect(gateway.loadOf('bob')).toBe(0)
  expect(await client.run('bob')).toMatchObject({ type: 'completed' })
})
