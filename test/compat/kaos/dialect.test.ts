/** The dialect of KAOS: the requests of its document, and an agent that has this dialect alone. */
import type { JsonObject } from 'a2a-tasks/schemas'
import { kaos } from 'a2a-tasks/compat'
import { v0_3, v1 } from 'a2a-tasks/wire'
import { describe, expect, test } from 'vitest'
import { agent } from '../support/agent.js'
import { as, authenticate, gate, get, ORIGIN, post } from '../../server/spec/support/agent.js'
import { call, result, send } from '../../server/dialects/support/dialects.js'

/** The first `curl` of the document. */
const SEND = {
  jsonrpc: '2.0',
  method: 'SendMessage',
  id: 1,
  params: {
    message: { role: 'user', parts: [{ type: 'text', text: 'Analyze this data' }] },
    contextId: 'optional-session-id',
  },
}

const typed = (...texts: string[]) => ({
  message: { role: 'user', parts: texts.map((text) => ({ type: 'text', text })) },
})

const error = (code: number, message: string, id: unknown = 1) => ({
  jsonrpc: '2.0',
  id,
  error: { code, message, data: null },
})

test('SendMessage works the task until it has ended, and answers in the shape of the document', async () => {
  const a = agent((run) => `Analysis of: ${run.text}`)
  const { status, body } = await send(a, '/', SEND)
  expect(status).toBe(200)
  expect(body).toEqual({
    jsonrpc: '2.0',
    id: 1,
    result: {
      id: expect.any(String) as string,
      sessionId: 'optional-session-id',
      status: {
        state: 'completed',
        message: 'Done',
        timestamp: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      },
      history: [
        { role: 'user', parts: [{ type: 'text', text: 'Analyze this data' }] },
        { role: 'agent', parts: [{ type: 'text', text: 'Analysis of: Analyze this data' }] },
      ],
      artifacts: [{ parts: [{ type: 'text', text: 'Analysis of: Analyze this data' }] }],
      output: 'Analysis of: Analyze this data',
      metadata: {},
    },
  })
})

test('GetTask and CancelTask of such a task answer in the same shape, without a version', async () => {
  const a = agent(() => 'done')
  const sent = await result(a, 'SendMessage', SEND.params)
  const { id } = sent
  const got = { jsonrpc: '2.0', method: 'GetTask', id: 2, params: { id } }
  expect((await send(a, '/', got)).body).toEqual({ jsonrpc: '2.0', id: 2, result: sent })
  const cancel = { jsonrpc: '2.0', method: 'CancelTask', id: 3, params: { id } }
  expect((await send(a, '/', cancel)).body).toEqual({ jsonrpc: '2.0', id: 3, result: sent })
})

test('the lower-case aliases do the same', async () => {
  const a = agent(() => 'done')
  const sent = await result(a, 'tasks/send', typed('hi'))
  expect(sent).toMatchObject({ status: { state: 'completed' }, output: 'done' })
  expect(await result(a, 'tasks/get', { id: sent['id'] })).toEqual(sent)
  expect(await result(a, 'tasks/cancel', { id: sent['id'] })).toEqual(sent)
})

test('a task that is worked on is canceled, and says so', async () => {
  const begun = gate()
  const a = agent(async (run) => {
    begun.open()
    await new Promise((_, reject) => {
      run.signal.addEventListener('abort', () => reject(run.signal.reason as Error))
    })
  })
  const sending = result(a, 'SendMessage', typed('hi'))
  await begun.opened
  const [task] = a.tasks.listTasks()
  const canceled = await result(a, 'CancelTask', { id: task?.id })
  expect(canceled['status']).toMatchObject({ state: 'canceled', message: 'Canceled by request' })
  expect(await sending).toEqual(canceled)
})

describe('a message', () => {
  const cases = [
    ['has its texts joined by a space', typed('a', 'b'), 'a b'],
    ['is read from `text` where it has no parts', { message: { role: 'user', text: 'plain' } }, 'plain'],
    [
      'is read from its parts before `text`',
      { message: { parts: [{ type: 'text', text: 'p' }], text: 't' } },
      'p',
    ],
  ] as const
  test.each(cases)('%s', async (_, params, text) => {
    const a = agent((run) => run.text)
    expect(await result(a, 'tasks/send', params)).toMatchObject({ output: text })
  })

  test('belongs to the session of contextId, then sessionId; to a new one without', async () => {
    const a = agent(() => 'done')
    const both = await result(a, 'SendMessage', { ...typed('hi'), contextId: 'c', sessionId: 's' })
    const one = await result(a, 'SendMessage', { ...typed('hi'), sessionId: 's' })
    const none = await result(a, 'SendMessage', typed('hi'))
    expect([both['sessionId'], one['sessionId']]).toEqual(['c', 's'])
    expect(none['sessionId']).toEqual(expect.any(String) as string)
  })

  test('gives the task its metadata', async () => {
    const a = agent(() => 'done')
    const params = { message: { ...typed('hi').message, metadata: { delegation: true } } }
    const sent = await result(a, 'SendMessage', params)
    expect(sent['metadata']).toEqual({ delegation: true })
  })
})

test('an agent that replies without a task has created one anyway', async () => {
  const a = agent((run) => run.reply('hello'))
  expect(await result(a, 'SendMessage', typed('hi'))).toMatchObject({
    status: { state: 'completed', message: 'hello' },
    history: [{ role: 'user' }, { role: 'agent', parts: [{ type: 'text', text: 'hello' }] }],
  })
})

test('an agent that throws has a failed task, and its text stays inside', async () => {
  const a = agent(() => {
    throw new Error('secret')
  })
  const sent = await result(a, 'SendMessage', typed('hi'))
  expect(sent['status']).toMatchObject({ state: 'failed', message: 'The agent could not finish this task' })
  expect(JSON.stringify(sent)).not.toContain('secret')
})

test('states that KAOS does not have become those it has', async () => {
  const rejecting = agent((run) => run.reject('no'))
  expect(await result(rejecting, 'SendMessage', typed('hi'))).toMatchObject({
    status: { state: 'failed', message: 'no' },
  })
  const asking = agent((run) => void run.requireAuth('log in'))
  expect(await result(asking, 'SendMessage', typed('hi'))).toMatchObject({
    status: { state: 'input-required', message: 'log in' },
  })
})

describe('errors have the codes and texts of KAOS, and HTTP says 200', () => {
  const only = () => agent(() => 'done', { defaultDialect: 'kaos' })

  test.each([
    ['an unknown method', 'Nothing', {}, -32601, 'Method not found: Nothing'],
    ['no message', 'SendMessage', {}, -32602, "Missing required 'message' parameter"],
    ['an empty message', 'SendMessage', { message: {} }, -32602, "Missing required 'message' parameter"],
    [
      'no text',
      'SendMessage',
      { message: { role: 'user', parts: [{ type: 'file' }] } },
      -32602,
      'Message must contain text content',
    ],
    ['no id', 'GetTask', {}, -32602, "Missing required 'id' parameter"],
    ['no id to cancel', 'CancelTask', {}, -32602, "Missing required 'id' parameter"],
    ['an unknown task', 'GetTask', { id: 'x' }, -32001, 'Task not found: x'],
    ['an unknown task to cancel', 'CancelTask', { id: 'x' }, -32001, 'Task not found: x'],
    [
      'a message that is a text',
      'SendMessage',
      { message: 'hi' },
      -32602,
      'message must be an object, got a string',
    ],
  ])('%s', async (_, method, params, code, message) => {
    expect(await call(only(), method, params)).toEqual(error(code, message))
  })

  test.each([
    ['bad JSON', '{', error(-32700, 'Parse error', null)],
    ['a batch', [], error(-32600, 'Invalid JSON-RPC request', null)],
    ['no method', { jsonrpc: '2.0', id: 1 }, error(-32600, 'Invalid JSON-RPC request')],
    [
      'params that are no object',
      { jsonrpc: '2.0', id: 1, method: 'GetTask', params: [] },
      error(-32600, 'Invalid JSON-RPC request'),
    ],
  ])('%s', async (_, body, expected) => {
    const response = await only().handler.fetch(
      new Request(`${ORIGIN}/`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    )
    expect([response.status, await response.json()]).toEqual([200, expected])
  })

  test('except for callers that may not ask at all', async () => {
    const a = agent(() => 'done', { authenticate, defaultDialect: 'kaos' })
    const response = await a.handler.fetch(post('/', SEND))
    expect(response.status).toBe(401)
    const other = agent(() => 'done', { authenticate })
    const named = await other.handler.fetch(post('/', SEND, { headers: { 'a2a-version': 'kaos' } }))
    expect([named.status, await named.json()]).toEqual([401, error(-32603, 'Authentication required', null)])
  })
})

describe('beside the other versions', () => {
  test('a message of 1.0 is one, and its task is answered in 1.0', async () => {
    const a = agent(() => 'done')
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] }
    const { task } = (await result(a, 'SendMessage', { message })) as { task: JsonObject }
    expect(await result(a, 'GetTask', { id: task['id'] })).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED' },
    })
  })

  test('a request that names a version is answered in it, whatever client made the task', async () => {
    const a = agent(() => 'done')
    const { id } = await result(a, 'SendMessage', SEND.params)
    const v1Headers = { headers: { 'a2a-version': '1.0' } }
    expect(await result(a, 'GetTask', { id }, v1Headers)).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED' },
    })
    const v03Headers = { headers: { 'a2a-version': '0.3' } }
    expect(await result(a, 'tasks/get', { id }, v03Headers)).toMatchObject({ kind: 'task' })
    const kaosHeaders = { headers: { 'a2a-version': 'kaos' } }
    expect(await result(a, 'tasks/get', { id }, kaosHeaders)).toMatchObject({ output: 'done' })
  })

  test('the form of an answer does not show other clients who owns a task', async () => {
    const a = agent(() => 'done', { authenticate })
    const { id } = await result(a, 'SendMessage', SEND.params, as('ann'))
    const asked = async (taskId: unknown) =>
      JSON.stringify(await call(a, 'GetTask', { id: taskId }, as('bob'))).replaceAll(String(taskId), 'ID')
    expect(await asked(id)).toBe(await asked('nothing'))
    expect(await result(a, 'GetTask', { id }, as('ann'))).toMatchObject({ output: 'done' })
  })

  test('a handler may speak it alone, or not at all', async () => {
    const without = agent(() => 'done', { dialects: [v1(), v0_3()] })
    expect((await call(without, 'SendMessage', SEND.params))['error']).toMatchObject({ code: -32602 })
    expect((await call(without, 'tasks/send', SEND.params, {}))['error']).toMatchObject({ code: -32601 })
  })
})

describe('the card at /.well-known/agent.json', () => {
  test('says what KAOS looks for, and is there with an agent of every version', async () => {
    const a = agent(() => 'done', { card: { name: 'my-agent', url: `${ORIGIN}/` } })
    const response = await a.handler.fetch(get('/.well-known/agent.json'))
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({
      name: 'my-agent',
      protocolVersion: '0.3.0',
      supportedProtocols: ['jsonrpc'],
      url: ORIGIN,
      capabilities: { streaming: true, stateTransitionHistory: true },
      skills: [{ id: expect.any(String) as string, name: expect.any(String) as string }],
      supportedInterfaces: expect.any(Array) as unknown[],
    })
  })

  test('is no part of the card at /.well-known/agent-card.json', async () => {
    const a = agent(() => 'done')
    const card = (await (await a.handler.fetch(get('/.well-known/agent-card.json'))).json()) as JsonObject
    expect(card).not.toHaveProperty('supportedProtocols')
    expect(card['capabilities']).not.toHaveProperty('stateTransitionHistory')
  })
})

const only = () => agent((run) => run.text, { dialects: [kaos()] })
const hello = { role: 'user', parts: [{ type: 'text', text: 'hi' }] }

describe('an agent with this dialect alone', () => {
  test('a status has a text, but for that of a task that has not begun', async () => {
    const a = only()
    const { id } = a.tasks.createTask({ skill: 'test' })
    const status = async () => (await result(a, 'GetTask', { id }))['status']
    expect(await status()).toEqual({ state: 'submitted', timestamp: '2026-01-01T00:00:00.000Z' })
    a.tasks.updateTask(id, { state: 'working' })
    expect(await status()).toMatchObject({ state: 'working', message: 'Processing' })
    a.tasks.updateTask(id, { state: 'input-required', message: 'Which one?' })
    expect(await status()).toMatchObject({ state: 'input-required', message: 'Which one?' })
  })

  describe('a request', () => {
    const rpc = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message: hello } }

    test.each([{ id: 'r-1' }, { id: 7 }, { id: null }])(
      'may have the id of %j, which comes back',
      async (own) => {
        const { body } = await send(only(), '/', { ...rpc, ...own })
        expect(body).toMatchObject({ ...own, result: { output: 'hi' } })
      },
    )

    test.each<[JsonObject, unknown]>([
      [{ id: undefined } as object as JsonObject, null],
      [{ id: {} }, null],
      [{ jsonrpc: '1.0' }, 1],
      [{ jsonrpc: undefined } as object as JsonObject, 1],
      [{ params: 'hi' }, 1],
    ])('that is invalid gets an error: %o', async (wrong, id) => {
      const a = only()
      const error = { code: -32600, message: 'Invalid JSON-RPC request', data: null }
      expect(await send(a, '/', { ...rpc, ...wrong })).toEqual({
        status: 200,
        body: { jsonrpc: '2.0', id, error },
      })
      expect(a.tasks.size()).toBe(0)
    })

    test.each(['ListTasks', 'tasks/list'])('for %s is for an unknown method', async (method) => {
      expect((await call(only(), method, {}))['error']).toEqual({
        code: -32601,
        message: `Method not found: ${method}`,
        data: null,
      })
    })
  })

  describe('a message', () => {
    test.each([[[{ kind: 'text', text: 'hi' }]], [[{ text: 'hi' }]]])(
      'may have the parts %j',
      async (parts) => {
        expect(await result(only(), 'SendMessage', { message: { role: 'user', parts } })).toMatchObject({
          output: 'hi',
        })
      },
    )

    test('is in the session of the request, whatever context it names', async () => {
      const sent = await result(only(), 'SendMessage', {
        message: { ...hello, contextId: 'c' },
        sessionId: 's',
      })
      expect(sent['sessionId']).toBe('s')
      expect(
        (await result(only(), 'SendMessage', { message: { ...hello, contextId: 'c' } }))['sessionId'],
      ).not.toBe('c')
    })

    test('is answered before the task has ended where it says that it does not block', async () => {
      const a = agent(() => new Promise(() => {}), { dialects: [kaos()] })
      const sent = await result(a, 'SendMessage', { message: hello, configuration: { blocking: false } })
      expect(sent['status']).toMatchObject({ state: 'working', message: 'Processing' })
    })
  })

  test('the card has the address that the agent was given, and the modes of its skills', async () => {
    const skill = {
      id: 'add',
      name: 'Add',
      description: 'Adds',
      tags: ['math'],
      inputModes: ['application/json'],
    }
    const card = { name: 'my-agent', url: 'https://my-agent.example/', skills: [skill] }
    const a = agent((run) => run.text, { card, dialects: [kaos()] })
    const response = await a.handler.fetch(get('/.well-known/agent.json'))
    expect(await response.json()).toMatchObject({
      url: 'https://my-agent.example',
      skills: [skill],
      defaultInputModes: ['text/plain'],
    })
  })
})
