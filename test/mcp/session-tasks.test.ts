/** Tasks of 2025-11-25: a client with a session chooses whether a call is one, and waits for its result. */
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { createRequestHandler, type Execute } from 'a2a-tasks/server'
import { createMcpHandler } from 'a2a-tasks/mcp'
import { requestOf, sceneOf, textIn, type Json, type Reply } from './kit.js'
import { HOLD } from './states.js'
import { Stream } from './stream.js'

const RELATED = 'io.modelcontextprotocol/related-task'
const ask: Execute = async (run) => {
  const city = await run.requireInput('Which city?', { schema: z.string() })
  return `City: ${city}`
}

async function sceneFor(execute: Execute, capabilities: object = {}, options: object = {}) {
  const scene = sceneOf(execute, options)
  const begun = await scene.inSession('initialize', { protocolVersion: '2025-11-25', capabilities })
  const session = {
    'mcp-session-id': begun.headers.get('mcp-session-id'),
    'mcp-protocol-version': '2025-11-25',
  }
  const request = (method: string, params: object = {}): Promise<Reply> =>
    scene.inSession(method, params, session)
  const call = async (message: string, others: object = {}): Promise<Json> => {
    const given = { name: 'default', arguments: { message, ...others }, task: { ttl: 1_000 } }
    return (await request('tools/call', given)).last
  }
  const begin = async (message: string): Promise<string> =>
    String((((await call(message))['result'] as Json)['task'] as Json)['taskId'])
  return { ...scene, session, request, call, begin }
}

it('a call is a task at once where the client wants it', async () => {
  const { call, tasks, request } = await sceneFor(HOLD, {}, { ttlMs: 60_000, pollIntervalMs: 250 })
  const { result } = await call('Go')
  const [task] = tasks.listTasks()
  const shown = {
    taskId: task?.id,
    status: 'working',
    createdAt: expect.any(String) as unknown,
    lastUpdatedAt: expect.any(String) as unknown,
    ttl: 60_000,
    pollInterval: 250,
  }
  expect(result).toEqual({ task: shown })
  expect((await request('tasks/get', { taskId: task?.id })).result).toEqual(shown)
  const [tool] = (await request('tools/list')).result['tools'] as Json[]
  expect(tool).toMatchObject({ execution: { taskSupport: 'optional' } })
})

it.each<[string, Execute, string, object]>([
  ['completed', () => 'Done', 'completed', { isError: false, content: [{ text: 'Done' }] }],
  ['failed', (run) => run.fail('No'), 'failed', { isError: true, content: [{ text: 'No' }] }],
  ['rejected', (run) => run.reject('No'), 'failed', { isError: true, content: [{ text: 'No' }] }],
  ['canceled', (run) => run.cancel('No'), 'cancelled', { isError: true, content: [{ text: 'No' }] }],
])('a task that is %s has its result', async (_, execute, status, expected) => {
  const { begin, request } = await sceneFor(execute)
  const taskId = await begin('Go')
  const { result } = await request('tasks/result', { taskId })
  expect(result).toMatchObject({ ...expected, _meta: { [RELATED]: { taskId } } })
  expect((await request('tasks/get', { taskId })).result).toMatchObject({ taskId, status })
})

it('tasks/result asks the user, and waits until the task ends', async () => {
  const { begin, mcp, session, send, request } = await sceneFor(ask, { elicitation: {} })
  const taskId = await begin('Go')
  await expect
    .poll(async () => (await request('tasks/get', { taskId })).result['status'])
    .toBe('input_required')
  const body = { jsonrpc: '2.0', id: 9, method: 'tasks/result', params: { taskId } }
  const stream = new Stream(await mcp(requestOf(body, session)))
  const { message: asked = {} } = await stream.message()
  expect(asked).toMatchObject({
    method: 'elicitation/create',
    params: { message: 'Which city?', _meta: { [RELATED]: { taskId } } },
  })
  // To give up the wait is not to cancel the task.
  const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 9 } }
  await send(requestOf(cancel, session))
  const answer = { action: 'accept', content: { value: 'Rome' } }
  await send(requestOf({ jsonrpc: '2.0', id: asked['id'], result: answer }, session))
  expect((await stream.message()).message).toMatchObject({
    ...{ id: 9, result: { content: [{ text: 'City: Rome' }], _meta: { [RELATED]: { taskId } } } },
  })
})

it('tasks/result of a client that cannot ask is the question, and its model answers', async () => {
  const { begin, call, request } = await sceneFor(ask)
  const taskId = await begin('Go')
  const { result } = await request('tasks/result', { taskId })
  const [, id = ''] = /"taskId": "(.+)" and/.exec(textIn(result)) ?? []
  expect((await call('Rome', { taskId: id }))['result']).toMatchObject({ task: { taskId } })
  expect(textIn((await request('tasks/result', { taskId })).result)).toBe('City: Rome')
  expect((await call('Rome', { taskId: id }))['result']).toMatchObject({ task: { taskId } })
  expect((await call('Paris', { taskId: id }))['error']).toMatchObject({ code: -32602 })
})

it('tasks/cancel cancels, and refuses a task that has ended', async () => {
  const { begin, request } = await sceneFor(HOLD)
  const taskId = await begin('Go')
  expect((await request('tasks/cancel', { taskId })).result).toMatchObject({ taskId, status: 'cancelled' })
  expect((await request('tasks/cancel', { taskId })).last['error']).toMatchObject({ code: -32602 })
})

it('tasks/list has the tasks of the user, page by page', async () => {
  const { begin, request } = await sceneFor(ask)
  const begun = new Set<unknown>()
  for (let count = 0; count < 23; count += 1) begun.add(await begin('Go'))
  const first = (await request('tasks/list')).result
  const second = (await request('tasks/list', { cursor: first['nextCursor'] })).result
  const [one, two] = [first['tasks'], second['tasks']] as [Json[], Json[]]
  expect([one.length, two.length, second['nextCursor']]).toEqual([20, 3, undefined])
  expect(new Set([...one, ...two].map(({ taskId }) => taskId))).toEqual(begun)
  for (const cursor of [1, 'x'])
    expect((await request('tasks/list', { cursor })).last['error'], String(cursor)).toMatchObject({
      code: -32602,
      message: expect.stringMatching(/^cursor must be /) as string,
    })
})

describe('a call that cannot be a task', () => {
  it('has an error, or its result where the agent replies without a task', async () => {
    const { request, call } = await sceneFor((run) => run.reply('Hi'))
    const empty = { name: 'default', arguments: {}, task: {} }
    expect((await request('tools/call', empty)).last['error']).toMatchObject({ code: -32602 })
    expect((await call('Go', { taskId: '1/x/y' }))['error']).toMatchObject({ code: -32602 })
    expect((await call('Go'))['result']).toMatchObject({ content: [{ text: 'Hi' }] })
  })
})

it('tasks of others are unknown', async () => {
  const handler = createRequestHandler({
    card: { name: 'Agent', url: 'https://agent.test' },
    authenticate: (request) => ({ id: request.headers.get('authorization') ?? '' }),
    execute: HOLD,
  })
  const mcp = createMcpHandler(handler)
  const post = async (authorization: string, method: string, params: object): Promise<Json> =>
    (await (
      await mcp(requestOf({ jsonrpc: '2.0', id: 1, method, params }, { authorization }))
    ).json()) as Json
  const given = { name: 'default', arguments: { message: 'Go' }, task: {} }
  const { taskId } = ((await post('ann', 'tools/call', given))['result'] as { readonly task: Json }).task
  for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel'])
    expect((await post('bob', method, { taskId }))['error']).toEqual({
      code: -32602,
      message: 'Task not found',
    })
  expect((await post('bob', 'tasks/list', {}))['result']).toEqual({ tasks: [] })
  expect((await post('ann', 'tasks/list', {}))['result']).toMatchObject({
    tasks: [{ taskId, status: 'working' }],
  })
  await handler.close({ graceMs: 0 })
})
