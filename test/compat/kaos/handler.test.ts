import { TaskManager, type Task } from 'a2a-tasks'
import type { AgentCard, JsonObject } from 'a2a-tasks/schemas'
import {
  LocalTaskManager,
  NullTaskManager,
  type SessionTaskManager,
  type TaskManagerHandler,
  kaos,
} from 'a2a-tasks/compat'
import { ManualClock } from 'a2a-tasks/testing'
import { v0_3, v1 } from 'a2a-tasks/wire'
import { describe, expect, test } from 'vitest'
import { analyze, ask, curl, send, serve, taskOf, type Options } from './support/kaos.js'
import { ORIGIN, authenticate, gate } from '../../server/spec/support/agent.js'

const UUID = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/

describe('the curls of the document', () => {
  const SEND = `{
    "jsonrpc": "2.0",
    "method": "SendMessage",
    "id": 1,
    "params": {
      "message": {
        "role": "user",
        "parts": [{"type": "text", "text": "Analyze this data"}]
      },
      "contextId": "optional-session-id"
    }
  }`

  test('SendMessage executes synchronously and returns a completed task', async () => {
    const { status, json } = await curl(serve(), SEND)
    expect(status).toBe(200)
    expect(json).toMatchObject({
      jsonrpc: '2.0',
      id: 1,
      result: {
        id: expect.stringMatching(UUID) as string,
        sessionId: 'optional-session-id',
        status: { state: 'completed', message: 'Done', timestamp: expect.any(String) as string },
        history: [
          { role: 'user', parts: [{ type: 'text', text: 'Analyze this data' }] },
          { role: 'agent', parts: [{ type: 'text', text: 'Analysis result...' }] },
        ],
      },
    })
    expect(taskOf({ json })).not.toHaveProperty('contextId')
  })

  test('GetTask returns state and history', async () => {
    const handler = serve()
    const sent = taskOf(await curl(handler, SEND))
    const body = `{"jsonrpc": "2.0", "method": "GetTask", "id": 2, "params": {"id": "${sent.id}"}}`
    expect((await curl(handler, body)).json).toEqual({ jsonrpc: '2.0', id: 2, result: sent })
  })

  test('CancelTask returns a task that has ended as it is', async () => {
    const handler = serve()
    const sent = taskOf(await curl(handler, SEND))
    const body = `{"jsonrpc": "2.0", "method": "CancelTask", "id": 3, "params": {"id": "${sent.id}"}}`
    expect(await curl(handler, body)).toEqual({ status: 200, json: { jsonrpc: '2.0', id: 3, result: sent } })
  })

  test('tasks/send, tasks/get and tasks/cancel are the same', async () => {
    const handler = serve()
    const sent = taskOf(await curl(handler, SEND.replace('SendMessage', 'tasks/send')))
    expect(sent).toMatchObject({ status: { state: 'completed' } })
    expect(taskOf(await curl(handler, ask('tasks/get', { id: sent.id })))).toEqual(sent)
    expect(taskOf(await curl(handler, ask('tasks/cancel', { id: sent.id })))).toEqual(sent)
  })

  test.each<[code: number, message: string, body: string | JsonObject, id: number | null]>([
    [-32700, 'Parse error', '{"jsonrpc": ', null],
    [-32600, 'Invalid JSON-RPC request', '[]', null],
    [-32600, 'Invalid JSON-RPC request', '{"jsonrpc": "2.0", "id": 1}', 1],
    [-32601, 'Method not found: tasks/unknown', ask('tasks/unknown', {}), 2],
    [-32602, "Missing required 'message' parameter", ask('SendMessage', {}), 2],
    [
      -32602,
      'Message must contain text content',
      ask('SendMessage', { message: { parts: [], role: 'user' } }),
      2,
    ],
    [-32602, "Missing required 'id' parameter", ask('GetTask', {}), 2],
    [-32602, "Missing required 'id' parameter", ask('CancelTask', {}), 2],
    [-32001, 'Task not found: no-such-task', ask('GetTask', { id: 'no-such-task' }), 2],
    [-32001, 'Task not found: no-such-task', ask('CancelTask', { id: 'no-such-task' }), 2],
  ])('refuses with %i %s, and HTTP says 200', async (code, message, body, id) => {
    expect(await curl(serve(), body)).toEqual({
      status: 200,
      json: { jsonrpc: '2.0', id, error: { code, message, data: null } },
    })
  })

  test('the card reflects the active manager', async () => {
    const response = await serve().fetch(new Request(`${ORIGIN}/.well-known/agent.json`))
    expect(await response.json()).toMatchObject({
      name: 'my-agent',
      protocolVersion: '0.3.0',
      supportedProtocols: ['jsonrpc'],
      capabilities: { streaming: true, pushNotifications: false, stateTransitionHistory: true },
    })
  })
})

describe('SendMessage', () => {
  test('answers with a failed task where the work throws, without the error', async () => {
    const errors: unknown[] = []
    const fail = (): never => {
      throw new Error('secret')
    }
    const manager = new LocalTaskManager(fail, { onError: (error) => errors.push(error) })
    const { status, json } = await curl(serve(manager), send('go'))
    expect(status).toBe(200)
    expect(json).toMatchObject({
      result: { status: { state: 'failed', message: 'The agent could not finish this task' } },
    })
    expect(JSON.stringify(json)).not.toContain('secret')
    expect(errors).toEqual([new Error('secret')])
  })

  test('shows the error where the manager has describeError, as KAOS does', async () => {
    const fail = (): never => {
      throw new Error('Error occurred')
    }
    const describeError = (error: unknown): string => (error as Error).message
    const manager = new LocalTaskManager(fail, { describeError, onError: () => undefined })
    expect(taskOf(await curl(serve(manager), send('go')))).toMatchObject({
      status: { state: 'failed', message: 'Error occurred' },
    })
  })

  test('works on the texts of the parts, with a space between them', async () => {
    const texts: string[] = []
    const manager = new LocalTaskManager((text) => {
      texts.push(text)
      return 'ok'
    })
    const parts = [
      { type: 'text', text: 'one' },
      { type: 'data', data: {} },
      { type: 'text', text: 'two' },
    ]
    await curl(serve(manager), ask('SendMessage', { message: { role: 'user', parts } }))
    expect(texts).toEqual(['one two'])
  })

  test.each<[params: JsonObject, sessionId: string]>([
    [{ contextId: 'a', sessionId: 'b' }, 'a'],
    [{ sessionId: 'b' }, 'b'],
  ])('takes %j for the session %s', async (params, sessionId) => {
    expect(taskOf(await curl(serve(), send('go', params)))).toMatchObject({ sessionId })
  })

  test("keeps the message's metadata as the task's", async () => {
    const handler = serve()
    const message = { role: 'user', parts: [{ type: 'text', text: 'go' }], metadata: { delegation: true } }
    const { id } = taskOf(await curl(handler, ask('SendMessage', { message })))
    expect(await handler.taskManager.getTask(id)).toMatchObject({ metadata: { delegation: true } })
    expect(taskOf(await curl(handler, ask('GetTask', { id })))).toMatchObject({
      metadata: { delegation: true },
    })
  })

  test('makes a task of each message, and refuses one that is for another', async () => {
    const handler = serve()
    const { id } = taskOf(await curl(handler, send('go')))
    const more = (taskId: string): JsonObject =>
      ask('SendMessage', { message: { role: 'user', taskId, parts: [{ type: 'text', text: 'more' }] } })
    expect((await curl(handler, more(id))).json).toMatchObject({
      error: { code: -32602, message: 'Each message makes a task of its own; this one is completed' },
    })
    expect((await curl(handler, more('no-such-task'))).json).toMatchObject({ error: { code: -32001 } })
  })
})

describe('a rate limit', () => {
  const rateLimit = { requests: 2, perMs: 60_000 }

  test('is one for all callers without a principal, of all requests but that of the card', async () => {
    const clock = new ManualClock()
    const handler = serve(undefined, { rateLimit, clock })
    const { id } = taskOf(await curl(handler, send('go')))
    expect((await curl(handler, ask('GetTask', { id }))).json).toHaveProperty('result')
    expect((await curl(handler, send('go'))).json).toMatchObject({
      error: { code: -32603, message: 'Rate limited: retry after 30 seconds' },
    })
    expect((await handler.fetch(new Request(`${ORIGIN}/.well-known/agent.json`))).status).toBe(200)
    clock.advance(30_000)
    expect((await curl(handler, send('go'))).json).toHaveProperty('result')
  })

  test('is that of each principal, also over dispatch', async () => {
    const handler = serve(undefined, { rateLimit, authenticate })
    const sendAs = async (id: string) => {
      const answer = await handler.dispatch(send('go'), { principal: { id } })
      return 'error' in answer ? 'refused' : 'done'
    }
    const outcomes: string[] = []
    for (const name of ['ada', 'ada', 'ada', 'bob']) outcomes.push(await sendAs(name))
    expect(outcomes).toEqual(['done', 'done', 'refused', 'done'])
  })

  test('that is wrong is refused', () => {
    expect(() => serve(undefined, { rateLimit: { requests: 1.5, perMs: 1 } })).toThrow(
      new RangeError('"rateLimit.requests" must be a positive integer, got 1.5'),
    )
  })
})

describe('with a task that is being worked on', () => {
  async function working(options: Options = {}): Promise<{
    handler: TaskManagerHandler<{ id: string }>
    sent: Promise<{ status: number; json: JsonObject }>
    id: string
    finish: () => void
  }> {
    const began = gate<string>()
    const done = gate()
    const manager = new LocalTaskManager(async (_, { taskId, signal }) => {
      began.open(taskId)
      signal.addEventListener('abort', () => done.open())
      await done.opened
      return 'ok'
    })
    const handler = serve(manager, options)
    const sent = curl(handler, send('go'))
    return { handler, sent, id: await began.opened, finish: () => done.open() }
  }

  test('GetTask says Processing', async () => {
    const { handler, id, sent, finish } = await working()
    expect(taskOf(await curl(handler, ask('GetTask', { id })))).toMatchObject({
      status: { state: 'working', message: 'Processing' },
    })
    finish()
    expect(taskOf(await sent)).toMatchObject({ id, status: { state: 'completed' } })
  })

  test('CancelTask cancels it, and SendMessage answers with the canceled task', async () => {
    const { handler, id, sent } = await working()
    const canceled = { id, status: { state: 'canceled', message: 'Canceled by request' } }
    expect(taskOf(await curl(handler, ask('CancelTask', { id })))).toMatchObject(canceled)
    expect(taskOf(await sent)).toMatchObject(canceled)
    expect(taskOf(await curl(handler, ask('CancelTask', { id })))).toMatchObject(canceled)
  })

  test('close waits for it, takes no more, and shuts the manager down', async () => {
    const clock = new ManualClock()
    const { handler, sent, finish } = await working({ clock })
    const closed = handler.close()
    expect((await curl(handler, send('more'))).json).toMatchObject({
      error: { code: -32603, message: 'The agent is shutting down; try again later' },
    })
    clock.advance(9_999)
    finish()
    await closed
    expect(taskOf(await sent)).toMatchObject({ status: { state: 'completed' } })
    await expect(handler.taskManager.sendMessage('more')).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    expect(clock.pending).toBe(0)
  })

  test('close ends in its time, however long the manager waits', async () => {
    const clock = new ManualClock()
    const began = gate()
    const manager = new LocalTaskManager(
      () => {
        began.open()
        return new Promise<string>(() => undefined)
      },
      { clock, graceMs: 1_500 },
    )
    const handler = serve(manager, { clock })
    const sent = curl(handler, send('go'))
    await began.opened
    const closed = handler.close({ graceMs: 0 })
    clock.advance(0)
    await closed
    expect(taskOf(await sent)).toMatchObject({ status: { state: 'canceled' } })
  })

  test('close gives the manager the time that is left, and waits no longer', async () => {
    const clock = new ManualClock()
    const [working, shutDown] = [gate<Task>(), gate<unknown>()]
    class Slow extends NullTaskManager {
      override sendMessage(): Promise<Task> {
        return working.opened
      }
      override shutdown(options?: { graceMs?: number }): Promise<void> {
        shutDown.open(options)
        return new Promise(() => undefined)
      }
    }
    const handler = serve(new Slow(), { clock })
    const sent = curl(handler, send('go'))
    await new Promise((resolve) => setImmediate(resolve))
    const closed = handler.close({ graceMs: 50 })
    clock.advance(20)
    working.open(await new NullTaskManager().sendMessage())
    await sent
    expect(await shutDown.opened).toEqual({ graceMs: 30 })
    clock.advance(30)
    await closed
    expect(clock.pending).toBe(0)
  })

  test('close cancels it when the time is up', async () => {
    const clock = new ManualClock()
    const { handler, sent } = await working({ clock })
    const closed = handler.close({ graceMs: 50 })
    clock.advance(50)
    await closed
    expect(taskOf(await sent)).toMatchObject({ status: { state: 'canceled' } })
  })
})

describe('with the null manager', () => {
  test('SendMessage gives a stub, and no task is ever found', async () => {
    const handler = serve(new NullTaskManager())
    const sent = taskOf(await curl(handler, send('go')))
    expect(sent).toMatchObject({
      id: expect.stringMatching(/^null_task_[\da-f]{8}$/) as string,
      sessionId: 'null-session',
      status: { state: 'completed' },
      history: [],
    })
    for (const method of ['GetTask', 'CancelTask']) {
      expect((await curl(handler, ask(method, { id: sent.id }))).json).toEqual({
        jsonrpc: '2.0',
        id: 2,
        error: { code: -32001, message: `Task not found: ${sent.id}`, data: null },
      })
    }
  })

  test('the card says so, and still that JSON-RPC is spoken', async () => {
    const response = await serve(new NullTaskManager()).fetch(new Request(`${ORIGIN}/.well-known/agent.json`))
    expect(await response.json()).toMatchObject({
      supportedProtocols: ['jsonrpc'],
      capabilities: { stateTransitionHistory: false },
    })
  })
})

describe('the card', () => {
  async function cardOf(handler: TaskManagerHandler<{ id: string }>, version?: string): Promise<AgentCard> {
    const headers: Record<string, string> = version === undefined ? {} : { 'A2A-Version': version }
    const response = await handler.fetch(new Request(`${ORIGIN}/.well-known/agent-card.json`, { headers }))
    return (await response.json()) as AgentCard
  }

  test('lists no binding that is not served, and the stream of the chat', async () => {
    const { card, fetch } = serve()
    expect(card.supportedInterfaces.map(({ protocolBinding }) => protocolBinding)).toEqual(['JSONRPC'])
    expect(card.capabilities).toEqual({ streaming: true, pushNotifications: false })
    const response = await fetch(new Request(`${ORIGIN}/.well-known/agent.json`))
    expect(await response.json()).toMatchObject({ url: ORIGIN, capabilities: { streaming: true } })
  })

  test.each([true, false])('of 0.3 says whether tasks are kept (%s), that of 1.0 does not', async (keeps) => {
    const manager = keeps ? new LocalTaskManager(analyze) : new NullTaskManager()
    const handler = serve(manager, { dialects: [v1(), v0_3(), kaos()] })
    expect((await cardOf(handler, '0.3')).capabilities).toMatchObject({ stateTransitionHistory: keeps })
    expect((await cardOf(handler, '1.0')).capabilities).toEqual({
      streaming: false,
      pushNotifications: false,
    })
  })

  test('may not promise what no dialect here keeps', () => {
    const promising = (capabilities: AgentCard['capabilities'], dialects = [kaos()]): (() => unknown) => {
      const card = { name: 'my-agent', url: ORIGIN, capabilities }
      return () => serve(undefined, { card, dialects })
    }
    expect(promising({ pushNotifications: true })).toThrow('"card.capabilities.pushNotifications"')
    expect(promising({ streaming: true }, [kaos(), v1()])).toThrow('"card.capabilities.streaming"')
  })
})

describe('with authenticate', () => {
  test('each caller sees only its own tasks', async () => {
    const tasks = new TaskManager()
    const handler = serve(new LocalTaskManager(analyze, { tasks }), { authenticate })
    expect((await curl(handler, send('go'))).status).toBe(401)
    const { id } = taskOf(await curl(handler, send('go'), { authorization: 'alice' }))
    expect(tasks.getTask(id)).toMatchObject({ owner: 'alice' })
    for (const method of ['GetTask', 'CancelTask']) {
      expect((await curl(handler, ask(method, { id }), { authorization: 'bob' })).json).toMatchObject({
        error: { code: -32001 },
      })
      expect(taskOf(await curl(handler, ask(method, { id }), { authorization: 'alice' }))).toMatchObject({
        id,
      })
    }
  })

  test('a task with an owner in the same manager is not shown to callers without one', async () => {
    const tasks = new TaskManager()
    const { id } = tasks.createTask({ skill: 'test', owner: 'alice' })
    const handler = serve(new LocalTaskManager(analyze, { tasks }))
    expect((await curl(handler, ask('CancelTask', { id }))).json).toMatchObject({ error: { code: -32001 } })
    expect(tasks.getTask(id)).toMatchObject({ state: 'submitted' })
  })
})

test('your own manager is served like ours; what it throws stays inside', async () => {
  const errors: unknown[] = []
  class Broken extends NullTaskManager {
    override sendMessage(): Promise<Task> {
      return Promise.reject(new Error('secret'))
    }
  }
  const handler = serve(new Broken(), { onError: (error) => errors.push(error) })
  expect(await curl(handler, send('go'))).toEqual({
    status: 200,
    json: { jsonrpc: '2.0', id: 1, error: { code: -32603, message: 'Internal error', data: null } },
  })
  expect(errors).toEqual([new Error('secret')])
})

test.each<[option: string, options: object]>([
  ['taskManager', { taskManager: new TaskManager() }],
  ['taskManager', { taskManager: undefined }],
  ['authenticate', { authenticate: 'alice' }],
  ['onError', { onError: 'log' }],
  ['dialects', { dialects: [] }],
  ['limits.maxRuns', { limits: { maxRuns: 1 } }],
  ['limits.maxDepth', { limits: { maxDepth: 0 } }],
  ['cardMaxAgeSeconds', { cardMaxAgeSeconds: -1 }],
  ['execute', { execute: analyze }],
])('an option %s that is invalid is refused by its name', (option, options) => {
  expect(() => serve(undefined, options)).toThrow(`"${option}"`)
})

test('a store of tasks is no task manager of sessions, and the error says how it becomes one', () => {
  const taskManager: object = new TaskManager()
  expect(() => serve(taskManager as SessionTaskManager)).toThrow(
    '"taskManager" must be a LocalTaskManager: pass new LocalTaskManager(fn, { tasks })',
  )
})
