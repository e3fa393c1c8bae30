/** The protocol itself: what is refused, versions and headers, sessions, origins, and whose tasks they are. */
import { describe, expect, it } from 'vitest'
import { createMcpHandler } from 'a2a-tasks/mcp'
import { createRequestHandler, type Execute } from 'a2a-tasks/server'
import { ManualClock } from 'a2a-tasks/testing'
import { requestOf, sceneOf, statelessRequest, URL as AT, type Json } from './kit.js'

const echo: Execute = (run) => `You said: ${run.text}`
const never: Execute = () => {
  throw new Error('The agent was called')
}

function changed(request: Request, headers: Readonly<Record<string, string | undefined>>): Request {
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined) request.headers.delete(name)
    else request.headers.set(name, value)
  }
  return request
}

const call = (headers: Readonly<Record<string, string | undefined>> = {}): Request =>
  changed(statelessRequest(1, 'tools/call', { name: 'default', arguments: { message: 'x' } }), headers)

describe('a request is refused', () => {
  const MESSAGE = { jsonrpc: '2.0', id: 1, method: 'ping' }
  const VERSION = 'io.modelcontextprotocol/protocolVersion'
  const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'
  const meta = (_meta: object): Request =>
    requestOf(
      { ...MESSAGE, method: 'tools/list', params: { _meta } },
      { 'mcp-protocol-version': '2026-07-28' },
    )
  const BAD: readonly [why: string, request: () => Request, status: number, code: number][] = [
    ['by GET', () => new Request(AT), 405, -32600],
    ['by DELETE', () => new Request(AT, { method: 'DELETE' }), 405, -32600],
    ['as text', () => requestOf(MESSAGE, { 'content-type': 'text/plain' }), 415, -32600],
    ['without a body', () => requestOf(''), 400, -32600],
    ['that is no JSON', () => requestOf('{'), 400, -32700],
    ['that is a batch', () => requestOf([MESSAGE]), 400, -32600],
    ['without a version of JSON-RPC', () => requestOf({ id: 1, method: 'ping' }), 400, -32600],
    ['with null as its id', () => requestOf({ ...MESSAGE, id: null }), 400, -32600],
    ['with half a number as its id', () => requestOf({ ...MESSAGE, id: 0.5 }), 400, -32600],
    ['with a long id', () => requestOf({ ...MESSAGE, id: 'x'.repeat(257) }), 400, -32600],
    ['with parameters that are a list', () => requestOf({ ...MESSAGE, params: [] }), 400, -32602],
    ['without method and id', () => requestOf({ jsonrpc: '2.0' }), 400, -32600],
    ['that is deep', () => requestOf(`${'['.repeat(20_000)}${']'.repeat(20_000)}`), 400, -32600],
    ['that is large', () => requestOf({ ...MESSAGE, params: { x: 'x'.repeat(5_000) } }), 413, -32600],
    ['with an old version', () => requestOf(MESSAGE, { 'mcp-protocol-version': '2024-11-05' }), 400, -32022],
    ['without a version in _meta', () => meta({ [CAPABILITIES]: {} }), 400, -32602],
    ['without capabilities', () => meta({ [VERSION]: '2026-07-28' }), 400, -32602],
    ['without the header of the version', () => call({ 'mcp-protocol-version': undefined }), 400, -32020],
    ['with another version in the header', () => call({ 'mcp-protocol-version': '2025-11-25' }), 400, -32020],
    ['without the header of the method', () => call({ 'mcp-method': undefined }), 400, -32020],
    ['with another method in the header', () => call({ 'mcp-method': 'tools/list' }), 400, -32020],
    ['without the header of the name', () => call({ 'mcp-name': undefined }), 400, -32020],
    ['with another name in the header', () => call({ 'mcp-name': 'other' }), 400, -32020],
    ['for an unknown method', () => statelessRequest(1, 'ping', {}), 404, -32601],
    ['for an unknown tool', () => statelessRequest(1, 'tools/call', { name: 'x' }), 200, -32602],
    [
      'for a tool whose name is an object',
      () => statelessRequest(1, 'tools/call', { name: { toString: 1 } }),
      200,
      -32602,
    ],
    [
      'with arguments that are a list',
      () => statelessRequest(1, 'tools/call', { name: 'default', arguments: [] }),
      200,
      -32602,
    ],
    [
      'with a state that is a number',
      () => statelessRequest(1, 'tools/call', { name: 'default', requestState: 1 }),
      200,
      -32602,
    ],
    [
      'with a state of no task',
      () => statelessRequest(1, 'tools/call', { name: 'default', requestState: 'x' }),
      200,
      -32602,
    ],
    ['from another site', () => requestOf(MESSAGE, { origin: 'https://evil.example' }), 403, -32600],
    ['from nowhere', () => requestOf(MESSAGE, { origin: 'null' }), 403, -32600],
  ]

  it.each(BAD)('%s', async (_, request, status, code) => {
    const { send } = sceneOf(never, { maxBodyBytes: status === 413 ? 4_000 : 100_000 })
    const reply = await send(request())
    expect([reply.status, (reply.last['error'] as Json)['code']]).toEqual([status, code])
  })

  it('with its id in the error', async () => {
    const { send } = sceneOf(never)
    expect((await send(call({ 'mcp-name': undefined }))).last).toMatchObject({ jsonrpc: '2.0', id: 1 })
    expect((await send(requestOf('{'))).last).not.toHaveProperty('id')
  })

  it('beyond the number of calls, until one has ended', async () => {
    const clock = new ManualClock()
    let goOn = (): void => undefined
    const end = new Promise<void>((resolve) => (goOn = resolve))
    let begun = (): void => undefined
    const first = new Promise<void>((resolve) => (begun = resolve))
    const scene = sceneOf(
      async () => {
        begun()
        await end
        return 'Done'
      },
      { maxCalls: 1, clock },
    )
    const answered = scene.mcp(call())
    await first
    clock.advance(1_000)
    const response = await answered
    const refused = await scene.say('x')
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
    expect(refused.last).toMatchObject({ id: 1, error: { code: -32603 } })
    goOn()
    await response.text()
    expect((await scene.say('x')).result).toMatchObject({ isError: false })
  })
})

it('names of methods and tools may be encoded in headers', async () => {
  const { send } = sceneOf(echo)
  const { result } = await send(call({ 'mcp-name': `=?base64?${btoa('default')}?=` }))
  expect(result).toMatchObject({ isError: false })
})

it('server/discover says what the server is', async () => {
  const { ask } = sceneOf(never)
  expect((await ask('server/discover')).result).toEqual({
    resultType: 'complete',
    supportedVersions: ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26'],
    capabilities: { tools: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } },
    instructions: 'Does it',
    ttlMs: 60_000,
    cacheScope: 'private',
    _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'Agent', version: '1.0.0' } },
  })
})

describe('initialize', () => {
  it.each([
    ['2025-11-25', '2025-11-25'],
    ['2025-03-26', '2025-03-26'],
    ['2024-11-05', '2025-11-25'],
    [1, '2025-11-25'],
  ])('of %j agrees on %s', async (protocolVersion, agreed) => {
    const { inSession } = sceneOf(never)
    const { result, headers } = await inSession('initialize', { protocolVersion, capabilities: {} })
    expect(result).toEqual({
      protocolVersion: agreed,
      capabilities: {
        tools: {},
        ...(agreed === '2025-11-25' && {
          tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
        }),
      },
      serverInfo: { name: 'Agent', version: '1.0.0' },
      instructions: 'Does it',
    })
    expect(headers.get('mcp-session-id')).toMatch(/^[\x21-\x7e]{30,}$/)
  })

  it('begins a session that any process serves', async () => {
    const { inSession } = sceneOf(never)
    const { headers } = await inSession('initialize', { protocolVersion: '2025-11-25' })
    const session = { 'mcp-session-id': headers.get('mcp-session-id'), 'mcp-protocol-version': '2025-11-25' }
    const other = sceneOf(never)
    const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' }
    const { status, messages } = await other.send(requestOf(initialized, session))
    expect([status, messages]).toEqual([202, []])
    expect((await other.inSession('ping', {}, session)).result).toEqual({})
    // Errors have the status 200: clients of these versions take others for a failure of the connection.
    const unknown = await other.inSession('resources/list', {}, session)
    expect([unknown.status, unknown.last]).toMatchObject([200, { error: { code: -32601 } }])
  })
})

describe('a page', () => {
  it.each([
    ['http://localhost:5173', undefined],
    ['http://127.0.0.1', undefined],
    ['http://[::1]:80', undefined],
    ['https://app.example', ['https://app.example']],
  ])('of %s may call with the origins %j', async (origin, origins) => {
    const { send } = sceneOf(echo, origins === undefined ? {} : { origins })
    expect((await send(call({ origin }))).result).toMatchObject({ isError: false })
  })

  it.each([
    'https://app.example.evil',
    'http://app.example',
    'https://localhost.evil',
    'https://app.example:8443',
    'chrome-extension://localhost',
    'app://127.0.0.1',
  ])('of %s may not', async (origin) => {
    const { send } = sceneOf(never, { origins: ['https://app.example'] })
    expect((await send(call({ origin }))).status).toBe(403)
  })
})

describe('with authentication', () => {
  const authenticate = (request: Request): { id: string } | null => {
    const [, id] = /^Bearer (\w+)$/.exec(request.headers.get('authorization') ?? '') ?? []
    return id === undefined ? null : { id }
  }
  const options = { handler: { authenticate, anonymous: undefined } }
  const as = (id: string, request: Request): Request => changed(request, { authorization: `Bearer ${id}` })
  const get = (taskId: string): Request => statelessRequest(1, 'tasks/get', { taskId }, { tasks: true })

  it('a call without credentials is answered with 401 and a challenge', async () => {
    const { send } = sceneOf(never, options)
    const { status, headers, last } = await send(call())
    expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="Agent"'])
    expect(last).toMatchObject({ id: 1, error: { code: -32603 } })
  })

  it('the task is of its caller, and unknown to all others', async () => {
    const { send, tasks } = sceneOf(echo, options)
    expect((await send(as('ann', call()))).result).toMatchObject({ isError: false })
    const [task] = tasks.listTasks()
    const taskId = task?.id ?? ''
    expect(task?.owner).toBe('ann')
    expect((await send(as('ann', get(taskId)))).result).toMatchObject({ status: 'completed' })
    const foreign = await send(as('bob', get(taskId)))
    const missing = await send(as('bob', get('x')))
    expect(foreign.last).toMatchObject({ error: { code: -32602, message: 'Task not found' } })
    expect(missing.last).toEqual(foreign.last)
    for (const method of ['tasks/cancel', 'tasks/update']) {
      const params = { taskId, inputResponses: {} }
      const reply = await send(as('bob', statelessRequest(1, method, params, { tasks: true })))
      expect(reply.last).toEqual(foreign.last)
    }
  })

  it('the principal of the layer around the handler is that of the task', async () => {
    const handler = createRequestHandler({
      card: { name: 'Agent', url: 'https://agent.test' },
      authenticate: () => null,
      execute: echo,
    })
    const mcp = createMcpHandler(handler)
    const response = await mcp(call(), { principal: { id: 'carol' } })
    expect(await response.json()).toMatchObject({ result: { isError: false } })
    expect(handler.tasks.listTasks()).toMatchObject([{ owner: 'carol' }])
  })
})

describe('createMcpHandler', () => {
  const handler = createRequestHandler({ card: { name: 'Agent', url: 'https://agent.test' }, execute: echo })
  it.each([
    [{ tools: { other: {} } }, '"tools" must be of skills of Agent: default, got "other"'],
    [{ tools: { default: { name: 'a b' } } }, '"tools.default.name" must have 1 to 128 letters'],
    [
      { tools: { default: { inputSchema: { type: 'string' } } } },
      '"tools.default.inputSchema" must be the JSON Schema',
    ],
    [
      { tools: { default: { inputSchema: { type: 'object', properties: { taskId: {} } } } } },
      '"tools.default.inputSchema" must be the JSON Schema',
    ],
    [{ tools: { default: { schema: {} } } }, 'Unknown option "tools.default.schema" of createMcpHandler'],
    [{ origins: ['app.example'] }, '"origins" must be origins'],
    [{ origins: ['https://app.example/'] }, '"origins" must be origins'],
    [{ waitMs: -1 }, '"waitMs" must be'],
    [{ ttlMs: 0.5 }, '"ttlMs" must be'],
  ])('refuses %j', (options, text) => {
    expect(() => createMcpHandler(handler, options as object)).toThrow(text)
  })

  it.each([[undefined], [{}], ['https://agent.example']])('refuses %j as an agent', (agent) => {
    expect(() => createMcpHandler(agent as never)).toThrow('"agent" must be a request handler, an A2AClient')
  })
})
