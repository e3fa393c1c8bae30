import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
  type Client,
} from 'a2a-sdk-v0-3/client'
import { A2AError, type TaskSnapshot } from 'a2a-tasks'
import { beforeEach, describe, expect, test } from 'vitest'
import { AgentCardSchema } from '../../../src/schemas/index.js'
import { v0_3, type Operation, type Route, type StreamEntry } from '../../../src/wire/index.js'
import { collect, setup } from '../../support/manager.js'

// What the official client of 0.3 sends is what the codecs read, and what they print is what it reads.

const dialect = v0_3()
const BINDINGS = ['JSONRPC', 'HTTP+JSON'] as const

const card = AgentCardSchema.parse({
  name: 'Echo',
  description: 'Says it again.',
  version: '1',
  supportedInterfaces: [
    { url: 'https://echo.example.com/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    { url: 'https://echo.example.com/rest/', protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
  ],
  capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true },
  securitySchemes: {
    key: { apiKeySecurityScheme: { location: 'header', name: 'X-Key' } },
    device: {
      oauth2SecurityScheme: {
        flows: {
          deviceCode: {
            deviceAuthorizationUrl: 'https://a.example.com',
            tokenUrl: 'https://t.example.com',
            scopes: {},
          },
        },
      },
    },
    code: {
      oauth2SecurityScheme: {
        flows: {
          authorizationCode: {
            authorizationUrl: 'https://a.example.com',
            tokenUrl: 'https://t.example.com',
            scopes: { read: 'Read' },
          },
        },
      },
    },
  },
  securityRequirements: [{ schemes: { key: {} } }, { schemes: { code: { list: ['read'] } } }],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [
    {
      id: 'echo',
      name: 'Echo',
      description: 'Says it again.',
      tags: ['echo'],
      securityRequirements: [{ schemes: { code: { list: ['read'] } } }],
    },
  ],
})

/** What the agent was asked, and what it answers: a result, the entries of a stream, or an error. */
let asked: { readonly operation: Operation; readonly request: unknown } | undefined
let answer: unknown

beforeEach(() => {
  asked = undefined
  answer = undefined
})

function sse(events: readonly unknown[], type?: string): Response {
  const lines = events.map((event) => `${type ? `event: ${type}\n` : ''}data: ${JSON.stringify(event)}\n\n`)
  return new Response(lines.join(''), { headers: { 'Content-Type': 'text/event-stream' } })
}

function results(codecs: typeof dialect.rpc, operation: Operation, params: unknown): unknown[] {
  const codec = codecs[operation]
  if (codec === undefined) throw new Error(`No codec for ${operation}`)
  asked = { operation, request: codec.decode(params) }
  if (A2AError.is(answer)) throw answer
  const all = Array.isArray(answer) && operation !== 'GetExtendedAgentCard' ? answer : [answer]
  // The answer is whatever the test says that suits the operation.
  return all.map((each) => codec.encode(each as never))
}

const STREAMS: readonly Operation[] = ['SendStreamingMessage', 'SubscribeToTask']

function serveRpc(body: string): Response {
  const { id, method, params } = JSON.parse(body) as { id: number; method: string; params?: unknown }
  const operation = dialect.methods.get(method)
  if (operation === undefined) throw new Error(`No method ${method}`)
  const isStream = STREAMS.includes(operation)
  try {
    const events = results(dialect.rpc, operation, params).map((result) => ({ jsonrpc: '2.0', id, result }))
    return isStream ? sse(events) : Response.json(events[0])
  } catch (error) {
    if (!A2AError.is(error)) throw error
    const event = { jsonrpc: '2.0', id, error: dialect.encodeRpcError(error) }
    return isStream ? sse([event], 'error') : Response.json(event)
  }
}

/** The parameters in the path, if the route is the one. */
function match({ verb, path }: Route, method: string, asked: string): Record<string, string> | undefined {
  const pattern = path.replace(/\{(\w+)\}/g, '(?<$1>[^/:]+)')
  const found = verb === method ? new RegExp(`^${pattern}$`).exec(asked) : null
  return found === null ? undefined : { ...found.groups }
}

function serveRest({ pathname, searchParams }: URL, method: string, body: string | null): Response {
  const path = pathname.replace('/rest', '')
  for (const route of dialect.routes) {
    const inPath = match(route, method, path)
    if (inPath === undefined) continue
    const params: Record<string, unknown> = body ? (JSON.parse(body) as Record<string, unknown>) : {}
    for (const [name, value] of searchParams) params[name] = route.query?.[name] ? Number(value) : value
    Object.assign(params, inPath)
    try {
      const events = results(dialect.rest, route.operation, params)
      if (events[0] === null) return new Response(null, { status: 204 })
      return STREAMS.includes(route.operation) ? sse(events) : Response.json(events[0])
    } catch (error) {
      if (!A2AError.is(error)) throw error
      const { status, body: shown } = dialect.encodeHttpError(error)
      return Response.json(shown, { status })
    }
  }
  throw new Error(`No route ${method} ${path}`)
}

const fetchImpl: typeof fetch = (input, init) => {
  const request = new Request(input, init)
  const url = new URL(request.url)
  if (url.pathname === '/.well-known/agent-card.json') {
    return Promise.resolve(Response.json(dialect.encodeCard(card)))
  }
  return request.text().then((body) => {
    return url.pathname === '/rpc' ? serveRpc(body) : serveRest(url, request.method, body)
  })
}

function clientOf(binding: (typeof BINDINGS)[number], polling = false): Promise<Client> {
  const options: Readonly<{ fetchImpl: typeof fetch }> = { fetchImpl }
  const factory = new ClientFactory({
    transports: [new JsonRpcTransportFactory(options), new RestTransportFactory(options)],
    cardResolver: new DefaultAgentCardResolver(options),
    preferredTransports: [binding],
    clientConfig: { polling },
  })
  return factory.createFromUrl('https://echo.example.com')
}

function workingTask(): TaskSnapshot {
  const { tasks, id } = setup()
  tasks.addMessage(id, { messageId: 'm-1', role: 'user', parts: [{ text: 'go' }] })
  tasks.updateTask(id, {
    state: 'working',
    message: { messageId: 'm-2', role: 'agent', parts: [{ data: { a: [1, null] } }] },
    artifacts: [
      {
        artifactId: 'a',
        name: 'A',
        parts: [{ raw: 'aGk=', mediaType: 'text/plain' }, { url: 'https://example.com/a' }, { text: 'x' }],
      },
    ],
  })
  const task = tasks.peekTask(id)
  if (task === null) throw new Error('The task is gone')
  return task
}

const message = {
  kind: 'message' as const,
  messageId: 'm-1',
  role: 'user' as const,
  contextId: 'c-1',
  parts: [
    { kind: 'text' as const, text: 'hi' },
    { kind: 'file' as const, file: { bytes: 'aGk=', mimeType: 'text/plain' } },
    { kind: 'file' as const, file: { uri: 'https://example.com/a', mimeType: 'image/png' } },
    { kind: 'data' as const, data: { data: { a: 1 } } },
  ],
  metadata: { k: 'v' },
}

const coreMessage = {
  messageId: 'm-1',
  role: 'user',
  contextId: 'c-1',
  parts: [
    { text: 'hi' },
    { raw: 'aGk=', mediaType: 'text/plain' },
    { url: 'https://example.com/a', mediaType: 'image/png' },
    { data: { data: { a: 1 } } },
  ],
  metadata: { k: 'v' },
}

describe.each(BINDINGS)('%s', (binding) => {
  test('a message, and a task in return', async () => {
    const task = workingTask()
    answer = { type: 'task', task }
    const client = await clientOf(binding)
    const got = await client.sendMessage({
      message,
      configuration: {
        acceptedOutputModes: ['text/plain'],
        historyLength: 2,
        pushNotificationConfig: {
          url: 'https://client.example.com/hook',
          token: 't',
          authentication: { schemes: ['Bearer'], credentials: 's' },
        },
      },
    })
    expect(asked).toStrictEqual({
      operation: 'SendMessage',
      request: {
        message: coreMessage,
        returnImmediately: false,
        acceptedOutputModes: ['text/plain'],
        historyLength: 2,
        pushConfig: {
          url: 'https://client.example.com/hook',
          token: 't',
          authentication: { scheme: 'Bearer', credentials: 's' },
        },
      },
    })
    expect(got).toMatchObject({
      kind: 'task',
      id: task.id,
      contextId: task.contextId,
      status: {
        state: 'working',
        timestamp: task.updatedAt,
        message: { kind: 'message', role: 'agent', parts: [{ kind: 'data', data: { a: [1, null] } }] },
      },
      artifacts: [
        {
          artifactId: 'a',
          name: 'A',
          parts: [
            { kind: 'file', file: { bytes: 'aGk=', mimeType: 'text/plain' } },
            { kind: 'file', file: { uri: 'https://example.com/a' } },
            { kind: 'text', text: 'x' },
          ],
        },
      ],
      history: [{ kind: 'message', messageId: 'm-1', role: 'user', parts: [{ kind: 'text', text: 'go' }] }],
    })
  })

  test('a client that polls asks for an immediate answer', async () => {
    answer = { type: 'message', message: coreMessage }
    const client = await clientOf(binding, true)
    const got = await client.sendMessage({ message })
    expect(asked?.request).toMatchObject({ returnImmediately: true })
    expect(got).toMatchObject(message)
  })

  test('a stream', async () => {
    const task = workingTask()
    const base = { taskId: task.id, generation: 9, timestamp: task.updatedAt }
    const { contextId } = task
    const artifact = { artifactId: 'a', parts: [{ text: 'x' }] }
    answer = [
      { type: 'task', task, last: false, isResync: false },
      {
        type: 'artifact',
        contextId,
        last: false,
        event: { ...base, type: 'artifact', artifact, append: true, lastChunk: true },
      },
      {
        type: 'status',
        contextId,
        last: true,
        event: { ...base, type: 'status', from: 'working', to: 'canceled', message: 'Bye' },
      },
    ] satisfies StreamEntry[]
    const client = await clientOf(binding)
    const events = await collect(client.sendMessageStream({ message }))
    expect(asked).toMatchObject({ operation: 'SendStreamingMessage', request: { message: coreMessage } })
    expect(events).toMatchObject([
      { kind: 'task', id: task.id },
      { kind: 'artifact-update', artifact: { parts: [{ kind: 'text', text: 'x' }] }, lastChunk: true },
      { kind: 'status-update', final: true, status: { state: 'canceled', message: { role: 'agent' } } },
    ])
    expect(await collect(client.resubscribeTask({ id: task.id }))).toHaveLength(3)
    expect(asked).toEqual({ operation: 'SubscribeToTask', request: { id: task.id, evenIfEnded: true } })
  })

  test('a task, read and canceled', async () => {
    answer = { task: workingTask() }
    const client = await clientOf(binding)
    const got = await client.getTask({ id: 't-1', historyLength: 3 })
    expect(asked).toEqual({ operation: 'GetTask', request: { id: 't-1', historyLength: 3 } })
    expect(got).toMatchObject({ kind: 'task', status: { state: 'working' } })
    await client.cancelTask({ id: 't-1' })
    expect(asked).toEqual({ operation: 'CancelTask', request: { id: 't-1' } })
  })

  test('push configurations', async () => {
    const config = { id: 'c-1', url: 'https://client.example.com/hook' }
    const given = { taskId: 't-1', pushNotificationConfig: config }
    const registered = { taskId: 't-1', config }
    answer = registered
    const client = await clientOf(binding)
    expect(await client.setTaskPushNotificationConfig(given)).toEqual(given)
    expect(asked).toEqual({ operation: 'CreateTaskPushNotificationConfig', request: registered })
    await client.setTaskPushNotificationConfig({ ...given, pushNotificationConfig: { url: config.url } })
    expect(asked?.request).toEqual({ taskId: 't-1', config: { url: config.url } })

    const ids = { id: 't-1', pushNotificationConfigId: 'c-1' }
    expect(await client.getTaskPushNotificationConfig(ids)).toEqual(given)
    expect(asked?.request).toEqual({ taskId: 't-1', id: 'c-1' })
    answer = { configs: [registered], nextPageToken: '' }
    expect(await client.listTaskPushNotificationConfig({ id: 't-1' })).toEqual([given])
    expect(asked?.request).toEqual({ taskId: 't-1' })
    answer = null
    await client.deleteTaskPushNotificationConfig(ids)
    expect(asked).toEqual({
      operation: 'DeleteTaskPushNotificationConfig',
      request: { taskId: 't-1', id: 'c-1' },
    })
  })

  test('the extended card', async () => {
    answer = card
    const client = await clientOf(binding)
    const got = await client.getAgentCard()
    expect(asked?.operation).toBe('GetExtendedAgentCard')
    expect(got).toMatchObject({
      name: 'Echo',
      url: 'https://echo.example.com/rpc',
      preferredTransport: 'JSONRPC',
      protocolVersion: '0.3.0',
      securitySchemes: {
        key: { type: 'apiKey', in: 'header', name: 'X-Key' },
        code: { type: 'oauth2', flows: { authorizationCode: { scopes: { read: 'Read' } } } },
      },
      security: [{ key: [] }, { code: ['read'] }],
      skills: [{ id: 'echo', security: [{ code: ['read'] }] }],
    })
  })

  test.each([
    ['TaskNotFoundError', new A2AError('TASK_NOT_FOUND', 'No task', { taskId: 't-1' })],
    [
      'TaskNotCancelableError',
      new A2AError('TASK_NOT_CANCELABLE', 'No', { taskId: 't-1', state: 'completed' }),
    ],
    ['UnsupportedOperationError', new A2AError('TASK_TERMINAL', 'No', { taskId: 't-1', state: 'completed' })],
    ['PushNotificationNotSupportedError', new A2AError('PUSH_NOTIFICATION_NOT_SUPPORTED', 'No', {})],
  ])('%s', async (name, error) => {
    answer = error
    const client = await clientOf(binding)
    await expect(client.getTask({ id: 't-1' })).rejects.toThrow(expect.objectContaining({ name }))
  })
})

test('JSON-RPC: an error of a subscription comes as an event, and keeps its kind as the cause', async () => {
  answer = new A2AError('TASK_NOT_FOUND', 'No task', { taskId: 't-1' })
  const client = await clientOf('JSONRPC')
  const events = collect(client.resubscribeTask({ id: 't-1' }))
  const cause: unknown = expect.objectContaining({ name: 'TaskNotFoundError' })
  await expect(events).rejects.toThrow(expect.objectContaining({ cause }))
})

test('HTTP+JSON: an error before the first event comes as an ordinary answer', async () => {
  answer = new A2AError('TASK_NOT_FOUND', 'No task', { taskId: 't-1' })
  const client = await clientOf('HTTP+JSON')
  const events = collect(client.resubscribeTask({ id: 't-1' }))
  await expect(events).rejects.toThrow(expect.objectContaining({ name: 'TaskNotFoundError' }))
})
