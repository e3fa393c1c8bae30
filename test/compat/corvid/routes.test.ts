/** The routes of a corvid-agent: what they answer, whatever they are asked. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { A2AError } from 'a2a-tasks'
import { invokeRemoteAgent } from 'a2a-tasks/client'
import { clearTaskStore, handleTaskSend } from 'a2a-tasks/compat'
import { toNodeListener } from 'a2a-tasks/server/node'
import { afterEach, describe, expect, test } from 'vitest'
import { thrown } from '../../support/manager.js'
import { assistant, own, thrower, world, type Own } from './support/inbound.js'

afterEach(() => {
  clearTaskStore()
})

const HOST = 'https://agent.example'
const LARGE = 'x'.repeat(1_048_577)

function ask({ fetch }: Own, path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(new Request(HOST + path, init))
}

function post(agent: Own, body: unknown, type = 'application/json'): Promise<Response> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return ask(agent, '/a2a/tasks/send', { method: 'POST', headers: { 'content-type': type }, body: text })
}

async function answerOf(response: Response): Promise<unknown[]> {
  expect(response.headers.get('content-type')).toBe('application/json')
  return [response.status, await response.json()]
}

test.each([
  ['a user', { id: 'ada' }, 200],
  ['unknown', null, 401],
])('a request of %s, whom a middleware has authenticated', async (_, principal, status) => {
  const { fetch } = own()
  const body = JSON.stringify({ message: 'Hello' })
  const headers = { 'content-type': 'application/json' }
  const request = new Request(`${HOST}/a2a/tasks/send`, { method: 'POST', headers, body })
  const response: unknown = await Reflect.apply(fetch, undefined, [request, { principal }])
  expect(response).toHaveProperty('status', status)
})

describe('a task over HTTP', () => {
  test.each([
    ['in params', { method: 'tasks/send', params: { message: 'Hello' } }],
    ['at the top', { message: 'Hello' }],
    ['at the top, with params of null', { message: 'Hello', params: null }],
    ['in params, whatever else there is', { message: 7, params: { message: 'Hello', depth: 3 } }],
  ])('is sent with its message %s', async (_, body) => {
    const agent = own()
    const [status, task] = await answerOf(await post(agent, body))
    expect([status, task]).toEqual([200, agent.handleTaskGet('task-1')])
    expect(task).toMatchObject({ state: 'working', messages: [{ parts: [{ text: 'Hello' }] }] })
  })

  test('is polled until it has ended', async () => {
    const agent = own()
    await post(agent, { message: 'Hello' })
    agent.pm.emit('session-1', assistant('Hi'))
    agent.pm.emit('session-1', { type: 'session_exited' })
    const response = await ask(agent, '/a2a/tasks/task%2D1')
    expect(response.headers.get('cache-control')).toBe('private, no-cache')
    expect(await answerOf(response)).toMatchObject([200, { id: 'task-1', state: 'completed' }])
  })

  test('is invoked by a peer, over a port', async () => {
    const agent = own()
    agent.pm.onStart = (id) => {
      agent.pm.emit(id, assistant('Hi'))
      agent.pm.emit(id, { type: 'session_exited' })
    }
    const server = createServer(toNodeListener(agent.fetch)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    try {
      expect(await invokeRemoteAgent(url, 'Hello')).toMatchObject({
        success: true,
        responseText: 'Hi',
      })
    } finally {
      server.close()
    }
  })
})

describe('the depth of a task', () => {
  test.each<[string, object, object]>([
    ['in params', { params: { message: 'Hello', depth: 2 } }, { depth: 2 }],
    ['beside params', { depth: 3, params: { message: 'Hello' } }, { depth: 3 }],
    ['at the top', { message: 'Hello', depth: 1 }, { depth: 1 }],
    ['of a sender that names none', { message: 'Hello' }, {}],
  ])('%s reaches its session', async (_, body, depth) => {
    const agent = own()
    expect((await post(agent, body)).status).toBe(200)
    expect(agent.pm.calls.at(-1)?.[3]).toEqual({ schedulerMode: true, ...depth })
  })

  test.each<[unknown, string]>([
    [4, 'Invocation depth limit exceeded.'],
    [1e300, 'depth must be an integer from 1, got 1e+300'],
    [0, 'depth must be an integer from 1, got 0'],
    [1.5, 'depth must be an integer from 1, got 1.5'],
    ['2', 'depth must be an integer from 1, got a string'],
  ])('%j is refused', async (depth, error) => {
    const agent = own()
    expect(await answerOf(await post(agent, { params: { message: 'Hello', depth } }))).toEqual([
      400,
      { error },
    ])
    expect([agent.handleTaskGet('task-1'), agent.sessions]).toEqual([null, []])
  })

  test('may be as great as maxDepth', async () => {
    const agent = own({}, { maxDepth: 1 })
    expect((await post(agent, { message: 'Hello', depth: 1 })).status).toBe(200)
    expect((await post(agent, { message: 'Hello', depth: 2 })).status).toBe(400)
    const error = thrown(() => agent.handleTaskSend({ message: 'Hello', depth: 2 }))
    expect(error).toMatchObject({ code: 'LIMIT_EXCEEDED', data: { limit: 'maxDepth', max: 1, actual: 2 } })
    expect(() => own({}, { maxDepth: 0 })).toThrow('"maxDepth" must be a positive integer, got 0')
  })

  test('counts the agents of a chain', async () => {
    const agent = own()
    const invoke = (depth: number) =>
      invokeRemoteAgent(HOST, 'Hello', {
        fetch: (url, init) => agent.fetch(new Request(url, init)),
        depth,
        timeoutMs: 500,
      })
    expect(await invoke(3)).toMatchObject({ taskId: 'task-1' })
    expect(await invoke(4)).toMatchObject({
      error: 'Submit failed: HTTP 400 — {"error":"Invocation depth limit exceeded."}',
    })
  })
})

describe('a rate limit', () => {
  const limited = (): Own => own({}, { rateLimit: { requests: 2, perMs: 60_000 } })
  const send = (agent: Own, principal?: string): Promise<Response> => {
    const headers = { 'content-type': 'application/json' }
    const body = '{"message":"Hello"}'
    const request = new Request(`${HOST}/a2a/tasks/send`, { method: 'POST', headers, body })
    const given = principal === undefined ? [request] : [request, { principal: { id: principal } }]
    return Reflect.apply(agent.fetch, undefined, given) as Promise<Response>
  }

  test('refuses tasks, and no polls, with the time until the next one', async () => {
    const agent = limited()
    for (let count = 0; count < 2; count++) expect((await send(agent)).status).toBe(200)
    const refused = await send(agent)
    expect(refused.headers.get('retry-after')).toBe('30')
    expect(await answerOf(refused)).toEqual([429, { error: 'Rate limit exceeded. Try again later.' }])
    expect(agent.sessions.length).toBe(2)
    for (let count = 0; count < 5; count++) expect((await ask(agent, '/a2a/tasks/task-1')).status).toBe(200)
    agent.clock.advance(30_000)
    expect((await send(agent)).status).toBe(200)
  })

  test('is that of each principal', async () => {
    const agent = limited()
    const statuses: number[] = []
    for (const name of ['ada', 'ada', 'ada', 'bob']) statuses.push((await send(agent, name)).status)
    expect(statuses).toEqual([200, 200, 429, 200])
  })

  test('that is wrong is refused', () => {
    expect(() => own({}, { rateLimit: { requests: 0, perMs: 1 } })).toThrow(
      new RangeError('"rateLimit.requests" must be a positive integer, got 0'),
    )
  })
})

describe('what is refused', () => {
  test.each<[string, unknown, number, string]>([
    ['null', 'null', 400, 'params must be an object, got null'],
    ['no body', '', 400, 'params must be an object, got undefined'],
    ['no JSON', '{"message":', 400, 'The body is not JSON in UTF-8'],
    ['a text', '"Hello"', 400, 'params must be an object, got a string'],
    ['a list', '[]', 400, 'params must be an object, got an array'],
    ['params that are a text', { params: 'Hello' }, 400, 'params must be an object, got a string'],
    ['no message', { params: {} }, 400, 'message is required'],
    ['a message that is none', { message: 7 }, 400, 'message must be a string, got a number'],
    ['a message of more than 1 MiB', { message: LARGE }, 413, expect.stringContaining('1048576') as string],
    ['a body of more than 8 MiB', LARGE.repeat(9), 413, expect.stringContaining('8388608') as string],
  ])('%s', async (_, body, status, error) => {
    const agent = own()
    expect(await answerOf(await post(agent, body))).toEqual([status, { error }])
    expect([agent.handleTaskGet('task-1'), agent.sessions, agent.errors]).toEqual([null, [], []])
  })

  test('a body that a form in a foreign page could send', async () => {
    const agent = own()
    const answer = await answerOf(await post(agent, { message: 'Hello' }, 'text/plain'))
    expect(answer).toEqual([400, { error: 'Content-Type must be application/json, got text/plain' }])
    expect(agent.sessions).toEqual([])
  })

  test.each([
    ['GET', '/a2a/tasks/unknown', 404, 'Task not found'],
    ['GET', '/a2a/tasks/%E0%A4%A', 400, 'id is not percent-encoded UTF-8'],
    ['GET', '/a2a/tasks/', 404, 'Not found'],
    ['GET', '/a2a/tasks/one/two', 404, 'Not found'],
    ['POST', '/', 404, 'Not found'],
    ['GET', '/a2a/tasks/send', 405, 'Use POST'],
    ['POST', '/a2a/tasks/unknown', 405, 'Use GET'],
    ['DELETE', '/a2a/tasks/unknown', 405, 'Use GET'],
  ])('%s %s', async (method, path, status, error) => {
    const response = await ask(own(), path, { method })
    expect(response.headers.get('allow')).toBe(status === 405 ? error.replace('Use ', '') : null)
    expect(await answerOf(response)).toEqual([status, { error }])
  })

  test('a task for which there is no agent', async () => {
    const answer = await answerOf(await post(own({ listAgents: () => [] }), { message: 'Hello' }))
    expect(answer).toEqual([404, { error: 'Agent with default project not found' }])
  })

  test.each<[string, (agent: Own) => unknown]>([
    ['the store is full', ({ handleTaskSend }) => handleTaskSend({ message: 'First' })],
    ['the handler is closed', ({ close }) => close()],
  ])('a task when %s, for now', async (_, prepare) => {
    const agent = own({}, { maxTasks: 1 })
    prepare(agent)
    const response = await post(agent, { message: 'Hello' })
    expect(response.headers.get('retry-after')).toBe('1')
    expect(await answerOf(response)).toEqual([503, { error: expect.any(String) as string }])
  })

  test('contains nothing of what the program throws', async () => {
    const agent = own({ createSession: thrower('corvid.db is locked') })
    expect(await answerOf(await post(agent, { message: 'Hello' }))).toEqual([
      500,
      { error: 'Internal error' },
    ])
    expect(agent.errors).toMatchObject([
      { error: { message: 'corvid.db is locked' }, context: { during: 'handleTaskSend' } },
    ])
    expect(agent.handleTaskGet('task-1')?.state).toBe('failed')
  })

  test('contains the error that the program means for the client', async () => {
    const createSession = (): never => {
      throw new A2AError('PERMISSION_DENIED', 'Not for you', {})
    }
    const answer = await answerOf(await post(own({ createSession }), { message: 'Hello' }))
    expect(answer).toEqual([403, { error: 'Not for you' }])
  })
})

describe('without HTTP', () => {
  test('the whole body will do, too', () => {
    expect(handleTaskSend(world().deps, { method: 'tasks/send', params: { message: 'Hello' } }).state).toBe(
      'working',
    )
  })

  test.each([
    ['a promise', Promise.resolve([])],
    ['undefined', undefined],
    ['an object', { agents: [] }],
  ])('agents that are %s are said to be none', (_, agents) => {
    const { deps } = world({ listAgents: (() => agents) as unknown as () => [] })
    expect(() => handleTaskSend(deps, { message: 'Hello' })).toThrow(
      /^"deps\.listAgents" must return an array, got (an object|undefined|an instance of Promise)$/,
    )
  })
})
