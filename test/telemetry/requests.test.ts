/** Spans and metrics of the requests that a handler answers. */
import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import { describe, expect, it } from 'vitest'
import { createInboundHandler, createTaskManagerHandler, LocalTaskManager } from 'a2a-tasks/compat'
import { createRequestHandler } from 'a2a-tasks/server'
import { type RequestHandler } from 'a2a-tasks/server'
import { instrumentHandler } from 'a2a-tasks/telemetry'
import { sdk, textOfSpans } from './support/sdk.js'

const URL_ = 'http://agent.test'

function agent(): RequestHandler {
  return instrumentHandler(
    createRequestHandler({
      card: { name: 'Agent', url: URL_, version: '3.0.0', capabilities: { streaming: true } },
      execute: (run) => `secret answer to ${run.text}`,
    }),
  )
}

function rpc(method: string, params: object, version = '1.0'): Request {
  return new Request(URL_, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': version },
    body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }),
  })
}

const MESSAGE = {
  message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'secret question' }] },
}

const AGENT = {
  'gen_ai.agent.name': 'Agent',
  'gen_ai.agent.version': '3.0.0',
  'server.address': 'agent.test',
  'server.port': 80,
  'network.protocol.name': 'http',
  'url.scheme': 'http',
}

describe('a request over JSON-RPC', () => {
  it('is a span of its operation, with ids and no content', async () => {
    const { span, spans } = sdk()
    const response = await agent().fetch(rpc('SendMessage', { ...MESSAGE, tenant: 'us' }))
    const { result } = (await response.json()) as { result: { task: { id: string; contextId: string } } }
    const { kind, attributes, status } = span('SendMessage')
    expect([kind, status.code]).toEqual([SpanKind.SERVER, SpanStatusCode.UNSET])
    expect(attributes).toEqual({
      ...AGENT,
      'a2a.message.id': 'm',
      'a2a.method.name': 'SendMessage',
      'a2a.protocol.binding': 'JSONRPC',
      'a2a.protocol.version': '1.0',
      'a2a.task.id': result.task.id,
      'a2a.task.state': 'TASK_STATE_COMPLETED',
      'a2a.tenant': 'us',
      'gen_ai.agent.description': attributes['gen_ai.agent.description'],
      'gen_ai.conversation.id': result.task.contextId,
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.request.stream': false,
      'http.request.method': 'POST',
      'http.response.status_code': 200,
      'jsonrpc.protocol.version': '2.0',
      'jsonrpc.request.id': '7',
      'rpc.method': 'SendMessage',
      'rpc.system.name': 'jsonrpc',
      'url.path': '/',
    })
    expect(textOfSpans(spans())).not.toContain('secret')
  })

  it.each([
    ['GetTask', { id: 'none' }, 'GetTask', '-32001'],
    ['Unknown', {}, '_OTHER', '-32601'],
    ['SendMessage', { message: 1 }, 'SendMessage', '-32602'],
  ])('that fails is an error: %s', async (method, params, name, code) => {
    const { span, metrics } = sdk()
    await agent().fetch(rpc(method, params))
    const { attributes, status } = span(name)
    expect(status.code).toBe(SpanStatusCode.ERROR)
    expect(attributes).toMatchObject({
      'a2a.method.name': name,
      'error.type': code,
      'rpc.response.status_code': code,
    })
    const { 'a2a.server.requests': requests } = await metrics()
    expect(requests?.points).toMatchObject([
      { attributes: { 'a2a.method.name': name, 'error.type': code }, value: 1 },
    ])
  })

  it('ends with its stream, whose artifacts are in it', async () => {
    const { span, spans, metrics, gauges } = sdk()
    const handler = agent()
    const streams = async (): Promise<unknown> => (await gauges())['a2a.server.streams']?.points[0]?.value
    const response = await handler.fetch(rpc('SendStreamingMessage', MESSAGE))
    expect(spans()).toEqual([])
    expect(await streams()).toBe(1)
    await response.text()
    expect(await streams()).toBe(0)
    const { attributes } = span('SendStreamingMessage')
    expect(attributes).toMatchObject({
      'a2a.task.state': 'TASK_STATE_COMPLETED',
      'gen_ai.request.stream': true,
    })
    expect(attributes['a2a.task.artifact_ids']).toHaveLength(1)
    const { 'a2a.server.operation.duration': duration } = await metrics()
    expect(duration).toMatchObject({ unit: 's', points: [{ value: { count: 1 } }] })
  })

  it('ends when the reader of its stream leaves', async () => {
    const { span } = sdk()
    const response = await agent().fetch(rpc('SendStreamingMessage', MESSAGE))
    await response.body?.cancel()
    expect(span('SendStreamingMessage').status.code).toBe(SpanStatusCode.UNSET)
  })
})

describe('a request', () => {
  it('over HTTP+JSON has the error of HTTP', async () => {
    const { span, spans } = sdk()
    const handler = agent()
    const get = (path: string): Promise<Response> =>
      handler.fetch(new Request(`${URL_}${path}`, { headers: { 'a2a-version': '1.0' } }))
    await get('/tasks/none')
    expect(span('GetTask').attributes).toMatchObject({
      'a2a.protocol.binding': 'HTTP+JSON',
      'a2a.task.id': 'none',
      'error.type': '404',
      'http.response.status_code': 404,
      'url.path': '/tasks/none',
    })
    await get('/nowhere')
    await get('/.well-known/agent-card.json')
    const names = spans().map(({ name, attributes }) => [name, attributes['a2a.method.name']])
    expect(names.slice(1)).toEqual([
      ['GET', '_OTHER'],
      ['GET /.well-known/agent-card.json', undefined],
    ])
  })

  it('by dispatch has no HTTP', async () => {
    const { span } = sdk()
    const body = { jsonrpc: '2.0', id: 'x', method: 'SendStreamingMessage', params: MESSAGE }
    const answer = await agent().dispatch(body, { version: '1.0' })
    if (!(Symbol.asyncIterator in answer)) throw new Error('No stream')
    for await (const entry of answer) expect(entry).toHaveProperty('result')
    const { attributes } = span('SendStreamingMessage')
    expect(attributes).toMatchObject({ 'jsonrpc.request.id': 'x', 'a2a.task.state': 'TASK_STATE_COMPLETED' })
    expect(attributes).not.toHaveProperty('http.request.method')
  })

  it('to a task manager of KAOS has a span', async () => {
    const { span } = sdk()
    const handler = instrumentHandler(
      createTaskManagerHandler({
        card: { name: 'kaos', url: URL_ },
        taskManager: new LocalTaskManager((text) => `You said: ${text}`),
      }),
    )
    const message = { role: 'user', parts: [{ type: 'text', text: 'Hi' }] }
    await handler.fetch(rpc('SendMessage', { message }, ''))
    expect(span('SendMessage').attributes).toMatchObject({
      'a2a.protocol.version': 'kaos',
      'gen_ai.agent.name': 'kaos',
    })
  })

  it('to the sessions of a corvid-agent has a span', async () => {
    const { span } = sdk()
    const inbound = instrumentHandler(
      createInboundHandler({
        db: {},
        listAgents: () => [],
        createSession: () => ({ id: 's' }),
        processManager: {
          subscribe: () => undefined,
          unsubscribe: () => undefined,
          startProcess: () => undefined,
        },
      }),
    )
    await inbound.fetch(new Request(`${URL_}/a2a/tasks/none`))
    expect(span('GetTask').attributes).toMatchObject({
      'a2a.protocol.version': 'corvid',
      'error.type': '404',
    })
  })

  it('is recorded by each of two observers', async () => {
    const { spans, metrics } = sdk()
    const handler = instrumentHandler(agent(), { prefix: 'other' })
    await handler.fetch(rpc('GetTask', { id: 'none' }))
    expect(spans()).toHaveLength(2)
    expect(Object.keys(await metrics()).sort()).toEqual([
      'a2a.server.operation.duration',
      'a2a.server.requests',
      'other.server.operation.duration',
      'other.server.requests',
    ])
  })
})
