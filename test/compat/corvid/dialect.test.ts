/** The dialect of corvid-agent: its routes, its card, its types, and its client's function. */
import { invokeRemoteAgent, type RemoteInvocationResult } from 'a2a-tasks/client'
import type { JsonObject } from 'a2a-tasks/schemas'
import type { A2AMessage, A2ATask, A2ATaskSendRequest, A2ATaskState } from 'a2a-tasks/compat'
import { corvid } from 'a2a-tasks/compat'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { agent } from '../support/agent.js'
import { as, authenticate, gate, get, ORIGIN, post } from '../../server/spec/support/agent.js'
import { fetched, send } from '../../server/dialects/support/dialects.js'

const idOf = ({ id }: JsonObject): string => id as string

test('POST /a2a/tasks/send answers at once, GET /a2a/tasks/:id when it has ended', async () => {
  const go = gate()
  const a = agent(async (run) => {
    await go.opened
    return `Hi there, ${run.text}`
  })
  const { status, body } = await send(a, '/a2a/tasks/send', { params: { message: 'Hello' } })
  expect(status).toBe(200)
  expect(body).toEqual({
    id: expect.any(String) as string,
    state: 'working',
    messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hello' }] }],
    sessionId: expect.any(String) as string,
    createdAt: expect.stringMatching(/^\d{4}-.*Z$/) as string,
    updatedAt: expect.stringMatching(/^\d{4}-.*Z$/) as string,
  })
  const { id } = body as { id: string }
  go.open()
  await a.tasks.waitFor(id, { until: 'terminal' })
  expect(await fetched(a, `/a2a/tasks/${id}`)).toMatchObject({
    status: 200,
    body: {
      id,
      state: 'completed',
      messages: [{ role: 'user' }, { role: 'agent', parts: [{ type: 'text', text: 'Hi there, Hello' }] }],
    },
  })
})

test('parameters may stand at the top', async () => {
  const a = agent((run) => run.text)
  const { body } = await send(a, '/a2a/tasks/send', { method: 'tasks/send', message: 'Hello', skill: 'any' })
  expect(body).toMatchObject({ messages: [{ parts: [{ text: 'Hello' }] }, { parts: [{ text: 'Hello' }] }] })
})

test('the skill reaches the agent', async () => {
  const a = agent((run) => JSON.stringify(run.metadata['skill']))
  const { body } = await send(a, '/a2a/tasks/send', { params: { message: 'Hello', skill: 'summarize' } })
  expect(body).toMatchObject({ messages: [{}, { parts: [{ text: '"summarize"' }] }] })
})

describe('the depth of a task', () => {
  test.each<[string, object, string]>([
    ['in params', { params: { message: 'Hello', depth: 2 } }, '2'],
    ['beside params', { depth: 3, params: { message: 'Hello', skill: 'any' } }, '3'],
    ['at the top', { message: 'Hello', depth: 1 }, '1'],
  ])('%s reaches the agent', async (_, sent, depth) => {
    const a = agent((run) => JSON.stringify(run.metadata['depth']))
    const { body } = await send(a, '/a2a/tasks/send', sent)
    expect(body).toMatchObject({ messages: [{}, { parts: [{ text: depth }] }] })
  })

  test('is limited to three agents in a chain, or to maxDepth', async () => {
    const refused = { status: 400, body: { error: 'Invocation depth limit exceeded.' } }
    const three = agent(() => 'done')
    expect(await send(three, '/a2a/tasks/send', { params: { message: 'Hello', depth: 4 } })).toEqual(refused)
    const one = agent(() => 'done', { dialects: [corvid({ maxDepth: 1 })] })
    expect(await send(one, '/a2a/tasks/send', { message: 'Hello', depth: 2 })).toEqual(refused)
    expect(() => corvid({ maxDepth: 0 })).toThrow('"maxDepth" must be a positive integer, got 0')
  })
})

test('a request beyond the rate limit is refused as by corvid-agent', async () => {
  const a = agent(() => 'done', { rateLimit: { requests: 1, perMs: 60_000 } })
  await send(a, '/a2a/tasks/send', { message: 'Hello' })
  expect(await send(a, '/a2a/tasks/send', { message: 'Hello' })).toEqual({
    status: 429,
    body: { error: 'Rate limit exceeded. Try again later.' },
  })
})

describe('a task that takes too long fails with `Task timed out`', () => {
  test.each([
    ['after timeoutMs', { message: 'Hello', timeoutMs: 5_000 }, 5_000],
    ['after 5 minutes by default', { message: 'Hello' }, 300_000],
  ])('%s', async (_, params, timeoutMs) => {
    const a = agent(() => new Promise(() => {}))
    const { body } = await send(a, '/a2a/tasks/send', { params })
    const id = idOf(body)
    a.clock.advance(timeoutMs - 1)
    expect((await fetched(a, `/a2a/tasks/${id}`)).body).toMatchObject({ state: 'working' })
    a.clock.advance(1)
    expect((await fetched(a, `/a2a/tasks/${id}`)).body).toMatchObject({
      state: 'failed',
      messages: [{ role: 'user' }, { role: 'agent', parts: [{ text: 'Task timed out' }] }],
    })
  })

  test('and no later than the agent allows', async () => {
    const a = agent(() => new Promise(() => {}), { limits: { runTimeoutMs: 1_000 } })
    const { body } = await send(a, '/a2a/tasks/send', { params: { message: 'Hello', timeoutMs: 60_000 } })
    a.clock.advance(1_000)
    expect((await fetched(a, `/a2a/tasks/${idOf(body)}`)).body).toMatchObject({ state: 'failed' })
  })
})

describe('what is wrong is said in `error`', () => {
  test.each([
    ['no message', {}, 400, 'message is required'],
    ['a blank message', { params: { message: '  ' } }, 400, 'message is required'],
    [
      'a message that is no text',
      { params: { message: 1 } },
      400,
      'params.message must be a string, got a number',
    ],
    [
      'a timeout of nothing',
      { message: 'Hello', timeoutMs: 0 },
      400,
      'timeoutMs must be an integer from 1 to 2147483647',
    ],
  ])('%s', async (_, body, status, error) => {
    expect(
      await send(
        agent(() => 'done'),
        '/a2a/tasks/send',
        body,
      ),
    ).toEqual({ status, body: { error } })
  })

  test('an unknown task', async () => {
    expect(
      await fetched(
        agent(() => 'done'),
        '/a2a/tasks/nothing',
      ),
    ).toEqual({
      status: 404,
      body: { error: 'Task not found' },
    })
  })

  test('a task of another owner', async () => {
    const a = agent(() => 'done', { authenticate })
    const { body } = await send(a, '/a2a/tasks/send', { message: 'Hello' }, as('ann'))
    const { id } = body as { id: string }
    expect((await fetched(a, `/a2a/tasks/${id}`, as('ann'))).body).toMatchObject({ state: 'completed' })
    expect((await fetched(a, `/a2a/tasks/${id}`, as('bob'))).status).toBe(404)
    expect((await a.handler.fetch(post('/a2a/tasks/send', { message: 'Hello' }))).status).toBe(401)
  })
})

test.each([
  ['canceled', 'canceled'],
  ['rejected', 'rejected'],
] as const)('a task that was %s is shown as failed to clients that know four states', async (_, state) => {
  const a = agent(() => new Promise(() => {}))
  const { body } = await send(a, '/a2a/tasks/send', { message: 'Hello' })
  const id = idOf(body)
  a.tasks.updateTask(id, { state, message: 'Not today' })
  expect((await fetched(a, `/a2a/tasks/${id}`)).body).toMatchObject({
    state: 'failed',
    messages: [{ role: 'user' }, { role: 'agent', parts: [{ text: 'Not today' }] }],
  })
})

test('the card of an agent that speaks nothing else says so', async () => {
  const a = agent(() => 'done', { dialects: [corvid()] })
  const card: unknown = await (await a.handler.fetch(get('/.well-known/agent.json'))).json()
  expect(card).toMatchObject({ url: ORIGIN, preferredTransport: 'HTTP+JSON' })
  expect(card).not.toHaveProperty('additionalInterfaces')
})

describe('an agent at /a2a', () => {
  const options = { card: { name: 'Test', url: `${ORIGIN}/a2a` } }

  test('answers for its own tasks in 1.0, for those of corvid-agent as it knows them', async () => {
    const a = agent(() => 'done', options)
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] }
    const sent = (await (await a.handler.fetch(post('/a2a/message:send', { message }))).json()) as JsonObject
    const { id } = sent['task'] as { id: string }
    const own = await a.handler.fetch(get(`/a2a/tasks/${id}`))
    expect(await own.json()).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' } })

    const { body } = await send(a, '/a2a/tasks/send', { message: 'Hello' })
    expect((await fetched(a, `/a2a/tasks/${idOf(body)}`)).body).toMatchObject({ state: 'completed' })
  })
})

test('invokeRemoteAgent, as the document has it, gets the answer', async () => {
  const a = agent((run) => `Summary of ${run.text}`)
  const answer = await invokeRemoteAgent(ORIGIN, 'Summarize this', {
    fetch: (input, init) => a.handler.fetch(new Request(input, init)),
  })
  expect(answer).toEqual({
    success: true,
    taskId: expect.any(String) as string,
    responseText: 'Summary of Summarize this',
    error: null,
  })
})

test('the types are those of the document', () => {
  expectTypeOf<A2ATaskState>().toEqualTypeOf<'submitted' | 'working' | 'completed' | 'failed'>()
  expectTypeOf<A2AMessage>().toEqualTypeOf<{
    role: 'user' | 'agent'
    parts: { type: 'text'; text: string }[]
  }>()
  expectTypeOf<A2ATask>().toEqualTypeOf<{
    id: string
    state: A2ATaskState
    messages: A2AMessage[]
    sessionId: string | null
    createdAt: string
    updatedAt: string
  }>()
  expectTypeOf<{ message: string; skill: string; timeoutMs: number }>().toExtend<
    A2ATaskSendRequest['params']
  >()
  expectTypeOf<{ message: string }>().toExtend<A2ATaskSendRequest['params']>()
  expectTypeOf<RemoteInvocationResult>().toEqualTypeOf<{
    readonly success: boolean
    readonly taskId: string
    readonly responseText: string | null
    readonly error: string | null
  }>()
})

test('a task that asks is shown as working to clients that know four states', async () => {
  const a = agent(async (run) => `You said ${String((await run.requireInput('Which one?')).parts[0]?.text)}`)
  const { body } = await send(a, '/a2a/tasks/send', { message: 'Hello' })
  const { id } = body as { id: string }
  await a.tasks.waitFor(id, { until: 'input-required' })
  expect((await fetched(a, `/a2a/tasks/${id}`)).body).toMatchObject({ state: 'working' })
  await a.handler.close()
})

test.each(['/a2a/tasks', '/a2a/tasks/1/more', '/api/agents/1/agent-card'])(
  '%s is not found',
  async (path) => {
    expect(
      await fetched(
        agent(() => 'done', { dialects: [corvid()] }),
        path,
      ),
    ).toEqual({
      status: 404,
      body: { error: `Nothing is served at GET ${path}` },
    })
  },
)

test('a limit of time may be any, and what a later version adds is passed over', async () => {
  const a = agent(() => 'done', { dialects: [corvid()] })
  for (const more of [{ timeoutMs: 1 }, { timeoutMs: 86_400_000 }, { sourceAgent: 'other' }]) {
    const { status } = await send(a, '/a2a/tasks/send', { params: { message: 'Hello', ...more } })
    expect(status).toBe(200)
  }
})

test('the card is compact JSON, for 5 minutes, and not for scripts of other sites', async () => {
  const a = agent(() => 'done', { dialects: [corvid()] })
  const response = await a.handler.fetch(get('/.well-known/agent-card.json'))
  expect(response.headers.get('content-type')).toBe('application/json')
  expect(response.headers.get('cache-control')).toBe('public, max-age=300')
  expect(response.headers.has('access-control-allow-origin')).toBe(false)
  const text = await response.text()
  expect(text).toBe(JSON.stringify(JSON.parse(text)))
})
