/** Telemetry of a client's requests, and propagation of the trace to agents. */
import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import * as otel from '@opentelemetry/api'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { A2AError, TaskManager } from 'a2a-tasks'
import { A2AClient } from 'a2a-tasks/client'
import type { Execute } from 'a2a-tasks/server'
import { instrumentClient } from 'a2a-tasks/telemetry'
import { fakeAgent, type FakeAgent } from 'a2a-tasks/testing'
import { idOf, parentOf, sdk, textOfSpans, traceOf, unregister } from './support/sdk.js'

function connect(agent: FakeAgent, options: Parameters<typeof instrumentClient>[1] = {}): A2AClient {
  return instrumentClient(new A2AClient({ card: agent.card, fetch: agent.fetch }), options)
}

/** Each once: a run makes several requests. */
function traceparents({ requests }: FakeAgent): (string | null)[] {
  return [...new Set(requests.map(({ headers }) => headers.get('traceparent')))]
}

const askAndLeave: Execute = async (run) => {
  await run.requireInput('Where?')
}

const silent = { onError: () => undefined }

const CARD = { capabilities: { pushNotifications: true, streaming: true } }

describe('one operation', () => {
  it('is a span of its name, which the request takes along', async () => {
    const { inSpan, span } = sdk()
    const agent = fakeAgent('Hello')
    const client = connect(agent)
    const sent = await inSpan('caller', () => client.send('Hi', { headers: { 'x-mine': '1' } }))
    const sendSpan = span('SendMessage')
    const task = sent.type === 'task' ? sent.task : undefined
    expect(sendSpan.kind).toBe(SpanKind.CLIENT)
    expect(parentOf(sendSpan)).toBe(idOf(span('caller')))
    expect(sendSpan.attributes).toEqual({
      'a2a.method.name': 'SendMessage',
      'a2a.protocol.binding': 'JSONRPC',
      'a2a.protocol.version': '1.0',
      'a2a.task.id': task?.id,
      'a2a.task.state': 'TASK_STATE_COMPLETED',
      'gen_ai.agent.name': 'Fake agent',
      'gen_ai.agent.version': agent.card.version,
      'gen_ai.conversation.id': task?.contextId,
      'server.address': 'agent.test',
      'server.port': 443,
    })
    expect(traceparents(agent)).toEqual([`00-${traceOf(sendSpan)}-${idOf(sendSpan)}-01`])
    expect(agent.requests[0]?.headers.get('x-mine')).toBe('1')
  })

  it('names the card that the client has fetched, without what may be secret in its URL', async () => {
    const { span } = sdk()
    const agent = fakeAgent('Hello')
    const url = `${new URL(agent.url).origin}/.well-known/agent-card.json`
    const fetch = (): Promise<Response> => Promise.resolve(Response.json(agent.card))
    const client = instrumentClient(await A2AClient.connect(`${url}?key=secret`, { fetch }))
    await client.getTask('t').catch(() => undefined)
    expect(span('GetTask').attributes['a2a.agent.card.url']).toBe(url)
  })

  it('may be any of those that send', async () => {
    const { spans } = sdk()
    const agent = fakeAgent('Hello', { card: CARD, ...silent })
    const client = connect(agent)
    const sent = await client.send('Hi')
    const id = sent.type === 'task' ? sent.task.id : ''
    const config = { url: 'https://hooks.test' }
    await client.getTask(id)
    await client.cancelTask(id).catch(() => undefined)
    await client.createPushConfig(id, config).catch(() => undefined)
    await client.getPushConfig(id, 'none').catch(() => undefined)
    await client.listPushConfigs(id)
    await client.deletePushConfig(id, 'none')
    await client.getExtendedAgentCard().catch(() => undefined)
    await client
      .subscribe(id)
      .next()
      .catch(() => undefined)
    expect(spans().map(({ name, attributes }) => [name, attributes['error.type']])).toEqual([
      ['SendMessage', undefined],
      ['GetTask', undefined],
      ['CancelTask', 'TASK_NOT_CANCELABLE'],
      ['CreateTaskPushNotificationConfig', expect.anything()],
      ['GetTaskPushNotificationConfig', expect.anything()],
      ['ListTaskPushNotificationConfigs', undefined],
      ['DeleteTaskPushNotificationConfig', undefined],
      ['GetExtendedAgentCard', 'UNSUPPORTED_OPERATION'],
      ['SubscribeToTask', expect.anything()],
    ])
  })

  it('is an error if the agent refuses, with its code and without its text', async () => {
    const { span, spans } = sdk()
    const client = connect(fakeAgent('Hello'))
    await expect(client.getTask('secret')).rejects.toThrow('secret')
    expect(span('GetTask').status.code).toBe(SpanStatusCode.ERROR)
    expect(span('GetTask').attributes['error.type']).toBe('TASK_NOT_FOUND')
    expect(textOfSpans(spans())).not.toContain('secret')
  })

  it('is no failure of its own when a task that it asks for has failed', async () => {
    const { span } = sdk()
    const client = connect(fakeAgent((run) => run.fail('No')))
    const sent = await client.send('Hi')
    await client.getTask(sent.type === 'task' ? sent.task.id : '')
    expect(span('SendMessage').attributes['error.type']).toBe('failed')
    expect(span('GetTask').status.code).toBe(SpanStatusCode.UNSET)
  })

  it('gives pages as the client does', async () => {
    const { span } = sdk()
    const agent = fakeAgent('Hello')
    const client = connect(agent)
    for (let sent = 0; sent < 3; sent++) await client.send('Hi')
    const pages = client.listTasks({ pageSize: 2 })
    const sizes: number[] = []
    for await (const page of pages) sizes.push(page.tasks.length)
    expect(sizes).toEqual([2, 1])
    expect((await pages).tasks).toHaveLength(2)
    const listSpan = span('ListTasks')
    expect(traceparents(agent).at(-1)).toBe(`00-${traceOf(listSpan)}-${idOf(listSpan)}-01`)
    expect(traceparents(agent)).toHaveLength(4)
  })
})

describe('a stream', () => {
  it('is a span from the first look at it to its end', async () => {
    const { spans, span } = sdk()
    const agent = fakeAgent(['a', 'b'].join(''))
    const client = connect(agent)
    const stream = client.stream('Hi')
    expect(spans()).toEqual([])
    const types: string[] = []
    for await (const event of stream) types.push(event.type)
    expect(types).toContain('artifact')
    expect(span('SendStreamingMessage').attributes['a2a.task.state']).toBe('TASK_STATE_COMPLETED')
    expect(traceparents(agent)).toEqual([expect.stringContaining(idOf(span('SendStreamingMessage')))])
  })

  it('ends when the reader leaves, and when it breaks', async () => {
    const { spans } = sdk()
    const client = connect(fakeAgent((run) => new Promise(() => run.start())))
    for await (const event of client.stream('Hi')) {
      expect(event.type).toBe('task')
      break
    }
    const broken = connect(fakeAgent(new TypeError('fetch failed')))
    const read = async (): Promise<void> => {
      for await (const event of broken.stream('Hi')) expect(event).toBe('never')
    }
    await expect(read()).rejects.toThrow()
    expect(spans().map(({ attributes }) => attributes['error.type'])).toEqual([
      undefined,
      'EXTERNAL_SERVICE_ERROR',
    ])
  })
})

describe('a run', () => {
  it('is one span, whatever it takes', async () => {
    const { inSpan, span, spans } = sdk()
    const agent = fakeAgent(async (run) => {
      await run.requireInput('Where?')
      return 'Here'
    })
    const client = connect(agent)
    const result = await inSpan('caller', () => client.run('Hi', { onInputRequired: () => 'There' }))
    expect(result).toMatchObject({ ok: true, text: 'Here' })
    const run = span('invoke_agent Fake agent')
    expect(run.attributes).toMatchObject({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'Fake agent',
    })
    expect(run.attributes).not.toHaveProperty(['a2a.method.name'])
    expect(parentOf(run)).toBe(idOf(span('caller')))
    expect(agent.requests.length).toBeGreaterThan(1)
    expect(traceparents(agent)).toEqual([`00-${traceOf(run)}-${idOf(run)}-01`])
    expect(spans()).toHaveLength(2)
  })

  it.each([
    ['completed', 'Hello', undefined],
    ['failed', (run) => run.fail('No'), 'failed'],
    ['rejected', (run) => run.reject('No'), 'rejected'],
    ['error', new TypeError('fetch failed'), 'EXTERNAL_SERVICE_ERROR'],
    ['input-required', askAndLeave, undefined],
  ] satisfies [string, Parameters<typeof fakeAgent>[0], string | undefined][])(
    'that ends with %s tells so',
    async (type, step, failure) => {
      const { span, metrics } = sdk()
      const { card, fetch } = fakeAgent(step)
      const client = instrumentClient(new A2AClient({ card, fetch, retry: { baseDelayMs: 1 } }))
      expect((await client.run('Hi')).type).toBe(type)
      const { status, attributes } = span('invoke_agent Fake agent')
      expect([status.code === SpanStatusCode.ERROR, attributes['error.type']]).toEqual([
        failure !== undefined,
        failure,
      ])
      const success = String(failure === undefined)
      expect((await metrics())['a2a.delegations']?.points).toEqual([
        { attributes: { target: 'Fake agent', success }, value: 1 },
      ])
    },
  )

  it('may be taken up, and may be of a task of ours, given to an agent by name, card or client', async () => {
    const { spans, metrics } = sdk()
    const agent = fakeAgent('Hello')
    const taskManager = new TaskManager()
    const { card, fetch } = agent
    const other = new A2AClient({ card, fetch })
    const client = instrumentClient(new A2AClient({ fetch, taskManager, agents: { friend: other } }))
    for (const given of ['friend', other, { ...card }]) {
      expect(await client.sendTask(given, taskManager.createTask({ skill: 'x' }))).toMatchObject({ ok: true })
    }
    const sending = client.sendTask('unknown', taskManager.createTask({ skill: 'x' }))
    await expect(sending).rejects.toThrow('unknown')
    expect(spans().map(({ name }) => name)).toEqual([
      'invoke_agent friend',
      'invoke_agent Fake agent',
      'invoke_agent Fake agent',
      'invoke_agent unknown',
    ])
    expect(traceparents(agent)).toEqual(
      spans()
        .slice(0, 3)
        .map((span) => expect.stringContaining(idOf(span)) as string),
    )
    expect((await metrics())['a2a.delegations']?.points.map(({ attributes }) => attributes)).toEqual([
      { target: 'friend', success: 'true' },
      { target: 'Fake agent', success: 'true' },
      { target: '_OTHER', success: 'true' },
      { target: '_OTHER', success: 'false' },
    ])
  })
})

describe('delegation', () => {
  it("has KAOS' names with the prefix kaos", async () => {
    const { span, metrics } = sdk()
    const client = connect(fakeAgent('Hello'), { prefix: 'kaos', agentName: 'worker' })
    await client.send('Hi')
    const { attributes } = span('delegate.worker')
    expect(attributes).toMatchObject({ 'agent.delegation.target': 'worker', 'task.state': 'completed' })
    const measured = await metrics()
    const labels = { target: 'worker', success: 'true' }
    expect(Object.keys(measured)).toEqual(['kaos.delegations', 'kaos.delegation.duration'])
    expect(measured['kaos.delegations']).toEqual({ unit: '1', points: [{ attributes: labels, value: 1 }] })
    expect(measured['kaos.delegation.duration']).toMatchObject({
      unit: 'ms',
      points: [{ attributes: labels, value: { count: 1 } }],
    })
  })

  it('is not asking after a task', async () => {
    const { metrics } = sdk()
    const client = connect(fakeAgent('Hello'))
    await client.getTask('none').catch(() => undefined)
    expect(await metrics()).toEqual({})
  })
})

describe('an instrumented client', () => {
  it('is one of the same type, and the same in all else', async () => {
    sdk()
    class Mine extends A2AClient {
      readonly secret = 's'
      mine(text: string): string {
        return `${text} ${this.secret}`
      }
    }
    const agent = fakeAgent('Hello')
    const plain = new Mine({ card: agent.card, fetch: agent.fetch })
    const client = instrumentClient(plain)
    expectTypeOf(client).toEqualTypeOf<Mine>()
    expect(client).toBeInstanceOf(Mine)
    expect(client.constructor).toBe(Mine)
    expect(client.card.name).toBe('Fake agent')
    expect(client.interface).toEqual(plain.interface)
    expect(client.mine('x')).toBe('x s')
    expect(Reflect.get(client, 'run')).toBe(Reflect.get(client, 'run'))
    expect(await client.run('Hi')).toMatchObject({ text: 'Hello' })
    await plain.run('Hi')
    expect(traceparents(agent)).toEqual([expect.any(String), null])
  })

  it('reports what is wrong with arguments as the client does', async () => {
    sdk()
    const client = connect(fakeAgent('Hello'))
    await expect(client.run('Hi', { headers: new Headers() as never })).rejects.toThrow('"headers" must be')
    await expect(client.run('Hi', null as never)).rejects.toThrow()
    await expect(client.run('Hi', 'x' as never)).rejects.toThrow('options')
    await expect(client.getTask('x', { unknown: 1 } as never)).rejects.toThrow('unknown')
    const error = await new Promise((resolve) => void client.listTasks({ pageSize: -1 }).catch(resolve))
    expect(A2AError.is(error)).toBe(true)
  })

  it('writes no headers with propagate: false', async () => {
    const { spans } = sdk()
    const agent = fakeAgent('Hello')
    await connect(agent, { propagate: false }).run('Hi')
    expect([traceparents(agent), spans().length]).toEqual([[null], 1])
  })

  it('reveals nothing of what is said', async () => {
    const { spans, metrics } = sdk()
    const agent = fakeAgent(
      [(run) => run.fail('secret'), () => Promise.reject(new Error('secret')), 'secret'],
      silent,
    )
    const client = connect(agent)
    for (let sent = 0; sent < 3; sent++) await client.run('secret', { metadata: { key: 'secret' } })
    expect(spans()).toHaveLength(3)
    expect(textOfSpans(spans()) + JSON.stringify(await metrics())).not.toContain('secret')
  })

  it('works without OpenTelemetry, and where that is broken', async () => {
    unregister()
    const plain = fakeAgent('Hello')
    expect(await connect(plain).run('Hi')).toMatchObject({ text: 'Hello' })
    expect(traceparents(plain)).toEqual([null])
    const broken = (): never => {
      throw new Error('on fire')
    }
    const span = {
      spanContext: broken,
      updateName: broken,
      setAttributes: broken,
      addEvent: broken,
      addLink: broken,
      setStatus: broken,
      end: broken,
    }
    for (const startSpan of [broken, () => span]) {
      const api = {
        trace: { getTracer: () => ({ startSpan }), setSpan: otel.trace.setSpan, getSpanContext: broken },
        metrics: {
          getMeter: () => ({ createCounter: broken, createHistogram: broken, createObservableGauge: broken }),
        },
        context: { active: () => otel.ROOT_CONTEXT, with: broken },
        propagation: { inject: broken, extract: broken },
      }
      const agent = fakeAgent('Hello')
      const client = connect(agent, { api })
      expect(await client.run('Hi')).toMatchObject({ text: 'Hello' })
      for await (const event of client.stream('Hi')) expect(event.type).toBeTypeOf('string')
      await expect(client.getTask('none')).rejects.toThrow('Task not found')
      expect(agent.tasks.size()).toBe(2)
    }
  })
})
