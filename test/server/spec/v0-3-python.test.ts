/**
 * Agents of A2A 0.3 for clients of the SDK for Python, whose source these tests follow: `client/transports/rest.py` of 0.3,
 * and `compat/v0_3` with `client/transports/http_helpers.py` of 1.1.
 */
import type { JsonObject } from 'a2a-tasks/schemas'
import type { Execute } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { walk } from '../../support/manager.js'
import { agent, gate, get, ORIGIN, post, SseReader } from './support/agent.js'

/** The other members of an event are those of its data. */
type Event = { readonly event?: string; readonly data: JsonObject }

async function eventsOf(response: Response): Promise<Event[]> {
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  const reader = new SseReader(response)
  const events: Event[] = []
  for (let next = await reader.next(); next !== undefined; next = await reader.next()) {
    if ('data' in next) events.push({ ...next, data: JSON.parse(next.data) as JsonObject })
  }
  return events
}

const said = (more: object = {}) => ({
  message_id: 'm-1',
  role: 'ROLE_USER',
  content: [{ text: 'hi' }],
  ...more,
})

/** The streams of a task that is working when its agent loses it. */
async function broken(ask: (id: string) => Request): Promise<Event[]> {
  const began = gate<string>()
  const a = agent(async (run) => {
    run.start()
    began.open(run.task.id)
    await new Promise(() => undefined)
  })
  void a.handler.fetch(post('/v1/message:send', { request: said(), configuration: { blocking: true } }))
  const response = await a.handler.fetch(ask(await began.opened))
  a.tasks.destroy()
  return await eventsOf(response)
}

const rpc = (method: string, params: object): Request => post('/', { jsonrpc: '2.0', id: 7, method, params })

describe('an error in a stream', () => {
  // The client of 1.1 raises a general error for a named event, and that of the code for another one.
  test('has no event name over JSON-RPC when it is the only event', async () => {
    const { handler } = agent(() => 'done')
    const events = await eventsOf(await handler.fetch(rpc('tasks/resubscribe', { id: 'none' })))
    expect(events).toMatchObject([{ data: { jsonrpc: '2.0', id: 7, error: { code: -32001 } } }])
    expect(events[0]).not.toHaveProperty('event')
  })

  test('has no event name over JSON-RPC when it is the last event', async () => {
    const events = await broken((id) => rpc('tasks/resubscribe', { id }))
    expect(events.length).toBeGreaterThan(1)
    expect(events.at(-1)).toMatchObject({ data: { jsonrpc: '2.0', id: 7, error: { code: -32603 } } })
    expect(events.some(({ event }) => event === 'error')).toBe(false)
  })

  // No envelope says that it is an error. The official client in JavaScript finds it by its name.
  test('has the event name "error" over HTTP+JSON', async () => {
    const events = await broken((id) => get(`/v1/tasks/${id}:subscribe`))
    expect(events.at(-1)).toMatchObject({ event: 'error', data: { code: -32603 } })
  })
})

describe('an error over HTTP+JSON has the type of', () => {
  // CompatRestTransport._handle_http_error raises the class that `type` names, with `message`.
  test.each<[string, number, string, (id: string) => Request]>([
    ['a task that there is not', 404, 'TaskNotFoundError', () => get('/v1/tasks/none')],
    ['a task that has ended', 400, 'TaskNotCancelableError', (id) => post(`/v1/tasks/${id}:cancel`, '')],
    [
      'parameters',
      400,
      'InvalidParamsError',
      () => post('/v1/message:send', { request: said({ role: 'x' }) }),
    ],
    ['text that is no JSON', 400, 'JSONParseError', () => post('/v1/message:send', '{')],
    [
      'webhooks that the agent does not have',
      400,
      'PushNotificationNotSupportedError',
      (id) => get(`/v1/tasks/${id}/pushNotificationConfigs`),
    ],
    [
      'a version that the agent does not have',
      400,
      'VersionNotSupportedError',
      () => get('/v1/tasks/none', { headers: { 'a2a-version': '0.9' } }),
    ],
  ])('%s', async (_, status, type, ask) => {
    const a = agent(() => 'done')
    const { id } = a.tasks.createTask({ skill: 'test' })
    walk(a.tasks, id, 'working', 'completed')
    const response = await a.handler.fetch(ask(id))
    const error = (await response.json()) as JsonObject
    expect(error).toMatchObject({ type, message: expect.any(String) as unknown })
    // The official client in JavaScript requires a number.
    expect(typeof error['code']).toBe('number')
    expect(response.status).toBe(status)
  })

  test('no class where the status says more', async () => {
    const { handler } = agent(() => 'done', { authenticate: () => null })
    const response = await handler.fetch(get('/v1/tasks/none'))
    expect(response.status).toBe(401)
    expect(await response.json()).not.toHaveProperty('type')
  })
})

describe('a body with the names of the proto', () => {
  // MessageToDict(…, preserving_proto_field_name=True) prints these.
  test('is a message', async () => {
    let received: unknown
    const execute: Execute = (run) => {
      received = run.message
    }
    const { handler, tasks } = agent(execute)
    const metadata = { user_id: 'u-1', nested: { task_id: 'kept' } }
    const request = said({
      context_id: 'c-1',
      content: [
        { text: 'hi' },
        { file: { file_with_uri: 'https://files.test/a', mime_type: 'text/plain', name: 'a_b.txt' } },
        { file: { file_with_bytes: 'aGk=', mime_type: 'text/plain' } },
        { data: { data: { message_id: 'kept', file_with_uri: 'kept' } } },
      ],
      metadata,
      extensions: ['https://extensions.test/one'],
    })
    const configuration = { accepted_output_modes: ['text/plain'], history_length: 1, blocking: true }
    const response = await handler.fetch(post('/v1/message:send', { request, configuration }))
    expect(response.status).toBe(200)
    const { task } = (await response.json()) as { task: JsonObject }
    expect(received).toMatchObject({
      messageId: 'm-1',
      contextId: 'c-1',
      parts: [
        { text: 'hi' },
        { url: 'https://files.test/a', mediaType: 'text/plain', filename: 'a_b.txt' },
        { raw: 'aGk=', mediaType: 'text/plain' },
        { data: { message_id: 'kept', file_with_uri: 'kept' } },
      ],
      metadata,
    })
    expect(task).toMatchObject({ contextId: 'c-1' })
    expect(task['history']).toHaveLength(1)
    expect(tasks.getTask(task['id'] as string)).toMatchObject({ contextId: 'c-1' })
  })

  test('continues a task', async () => {
    const { handler } = agent(
      async (run) => `It is ${(await run.requireInput('Which?')).parts[0]?.text ?? ''}`,
    )
    const send = async (request: object): Promise<JsonObject> => {
      const body = { request, configuration: { blocking: true } }
      const response = await handler.fetch(post('/v1/message:send', body))
      return ((await response.json()) as { task: JsonObject }).task
    }
    const { id } = await send(said())
    const answer = said({ message_id: 'm-2', task_id: id, content: [{ text: 'this' }] })
    expect(await send(answer)).toMatchObject({ id, status: { state: 'TASK_STATE_COMPLETED' } })
  })

  test('opens a stream', async () => {
    const { handler } = agent(() => 'done')
    const events = await eventsOf(await handler.fetch(post('/v1/message:stream', { request: said() })))
    expect(events.at(-1)).toMatchObject({ data: { statusUpdate: { final: true } } })
  })

  test('registers a webhook, by itself and with a message', async () => {
    const push = {
      resolve: false as const,
      fetch: () => Promise.resolve(new Response(null, { status: 204 })),
    }
    const { handler } = agent(() => 'done', { push })
    const url = 'https://hooks.example.com/one'
    const config = {
      id: 'w-1',
      url,
      token: 'one_two',
      authentication: { schemes: ['Bearer'], credentials: 'a_b' },
    }
    const configuration = { push_notification: config, blocking: true }
    const sent = await handler.fetch(post('/v1/message:send', { request: said(), configuration }))
    const answer = (await sent.json()) as { task: { id: string } }
    if (!('task' in answer)) throw new Error(JSON.stringify(answer))
    const { id } = answer.task
    const path = `/v1/tasks/${id}/pushNotificationConfigs`
    const shown = (configId: string) => ({
      name: `tasks/${id}/pushNotificationConfigs/${configId}`,
      pushNotificationConfig: { ...config, id: configId },
    })
    expect(await (await handler.fetch(get(`${path}/w-1`))).json()).toEqual(shown('w-1'))
    const created = await handler.fetch(
      post(path, {
        parent: `tasks/${id}`,
        config_id: 'w-2',
        config: {
          name: `tasks/${id}/pushNotificationConfigs/w-2`,
          push_notification_config: { ...config, id: 'w-2' },
        },
      }),
    )
    expect(await created.json()).toEqual(shown('w-2'))
    await handler.close({ graceMs: 0 })
  })

  test('has each field by one of its names', async () => {
    const { handler, tasks } = agent(() => 'done')
    const request = { ...said({ context_id: 'snake' }), contextId: 'camel' }
    const response = await handler.fetch(
      post('/v1/message:send', { request, configuration: { blocking: true } }),
    )
    expect(response.status).toBe(400)
    expect(tasks.size()).toBe(0)
  })
})

// The SDK for Python subscribes by GET, that for JavaScript by POST. "If the task is complete the stream will return the
// completed task (like GetTask) and close the stream": a2a.proto of 0.3.
test.each(['GET', 'POST'])(
  '173. a subscription by %s to a task that has ended is its end',
  async (method) => {
    const a = agent(() => 'done')
    const { id } = a.tasks.createTask({ skill: 'test' })
    walk(a.tasks, id, 'working', 'completed')
    const path = `/v1/tasks/${id}:subscribe`
    const events = await eventsOf(
      await a.handler.fetch(method === 'GET' ? new Request(`${ORIGIN}${path}`) : post(path, {})),
    )
    expect(events.map(({ data }) => data)).toMatchObject([
      { task: { id, status: { state: 'TASK_STATE_COMPLETED' } } },
    ])
  },
)
