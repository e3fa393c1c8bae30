import { randomUUID } from 'node:crypto'
import type { JsonObject, JsonValue } from 'a2a-tasks/schemas'
import type { Execute } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { walk } from '../../support/manager.js'
import { agent, as, authenticate, gate, get, ORIGIN, post, SseReader } from './support/agent.js'
import type { TestAgent, TestAgentOptions } from './support/agent.js'

const message = (text: string, more: object = {}) => ({
  kind: 'message',
  messageId: randomUUID(),
  role: 'user',
  parts: [{ kind: 'text', text }],
  ...more,
})

interface OldAgent extends TestAgent {
  readonly rpc: (method: string, params?: unknown, headers?: Record<string, string>) => Promise<JsonObject>
  readonly stream: (method: string, params: object) => Promise<JsonObject[]>
}

function old(execute: Execute = () => 'done', options: TestAgentOptions = {}): OldAgent {
  const a = agent(execute, options)
  const ask = (method: string, params?: unknown, headers: Record<string, string> = {}) =>
    a.handler.fetch(post('/', { jsonrpc: '2.0', id: 7, method, params }, { headers }))
  return {
    ...a,
    async rpc(method, params, headers) {
      const response = await ask(method, params, headers)
      expect(response.headers.get('content-type')).toBe('application/json')
      return (await response.json()) as JsonObject
    },
    async stream(method, params) {
      const response = await ask(method, params)
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
      return eventsOf(response)
    },
  }
}

async function eventsOf(response: Response): Promise<JsonObject[]> {
  const reader = new SseReader(response)
  const events: JsonObject[] = []
  for (let event = await reader.next(); event !== undefined; event = await reader.next()) {
    if ('data' in event) events.push(JSON.parse(event.data) as JsonObject)
  }
  return events
}

const resultsOf = (events: readonly JsonObject[]) => events.map(({ result }) => result as JsonObject)
const idOf = ({ result }: JsonObject): string => (result as { id: string }).id

test('162. everything is application/json, also over HTTP', async () => {
  const a = old()
  await a.rpc('message/send', { message: message('hi') })
  const response = await a.handler.fetch(post('/v1/message:send', { message: message('hi') }))
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json'])
})

test('163, 164. methods and routes have the names of 0.3', async () => {
  const a = old()
  const id = idOf(await a.rpc('message/send', { message: message('hi') }))
  expect(await a.rpc('tasks/get', { id })).toMatchObject({ result: { id, status: { state: 'completed' } } })
  expect(await a.rpc('tasks/cancel', { id })).toMatchObject({ error: { code: -32002 } })
  const working = a.tasks.createTask({ skill: 'test' }).id
  expect(await a.rpc('tasks/cancel', { id: working })).toMatchObject({
    result: { kind: 'task', id: working, status: { state: 'canceled' } },
  })
  const rest = await a.handler.fetch(get(`/v1/tasks/${id}`))
  expect(await rest.json()).toMatchObject({ id, status: { state: 'TASK_STATE_COMPLETED' } })
  const other = a.tasks.createTask({ skill: 'test' }).id
  const canceled = await a.handler.fetch(post(`/v1/tasks/${other}:cancel`, ''))
  expect(await canceled.json()).toMatchObject({ status: { state: 'TASK_STATE_CANCELLED' } })
})

test('165. the id comes back, or null without one; a result or an error', async () => {
  const a = old()
  for (const [method, member] of [
    ['tasks/get', 'error'],
    ['message/send', 'result'],
  ] as const) {
    const answer = await a.rpc(method, { id: 'none', message: message('hi') })
    expect(Object.keys(answer).sort()).toEqual(['id', 'jsonrpc', member].sort())
    expect(answer['id']).toBe(7)
  }
  const broken = await a.handler.fetch(post('/', '{"id": 7, "method": '))
  expect(await broken.json()).toMatchObject({ id: null, error: { code: -32700 } })
})

test('166, 167, 171. every object has its kind, a task its context, and the last status is final', async () => {
  const a = old((run) => {
    run.artifact({
      artifactId: 'a',
      parts: [{ text: 'x' }, { data: { y: 1 } }, { url: 'https://files.test/z' }],
    })
    run.complete('done')
  })
  const events = await a.stream('message/stream', { message: message('hi') })
  expect(events.every(({ jsonrpc, id }) => jsonrpc === '2.0' && id === 7)).toBe(true)
  const results = resultsOf(events)
  expect(results.map(({ kind, final }) => [kind, final])).toEqual([
    ['task', undefined],
    ['status-update', false],
    ['artifact-update', undefined],
    ['status-update', true],
  ])
  const [task] = results
  for (const result of results) expect(result['contextId']).toBe(task?.['contextId'])
  expect(kindsIn(results)).toEqual(
    new Set(['task', 'message', 'text', 'data', 'file', 'status-update', 'artifact-update']),
  )
})

/** What the objects in `value` say they are. */
function kindsIn(value: JsonValue, kinds = new Set<unknown>()): Set<unknown> {
  if (typeof value !== 'object' || value === null) return kinds
  if ('kind' in value) kinds.add(value['kind'])
  for (const child of Object.values(value)) kindsIn(child, kinds)
  return kinds
}

test('167. waiting for input ends the stream, though nothing is final', async () => {
  const a = old(async (run) => {
    await run.requireInput('Which?')
  })
  const results = resultsOf(await a.stream('message/stream', { message: message('hi') }))
  expect(results.at(-1)).toMatchObject({ kind: 'status-update', status: { state: 'input-required' } })
  const taskId = results[0]?.['id'] as string
  const answer = resultsOf(await a.stream('message/stream', { message: message('this', { taskId }) }))
  expect(answer.at(-1)).toMatchObject({ status: { state: 'completed' }, final: true })
})

test('168. the card names its transports without contradiction', async () => {
  const response = await old().handler.fetch(
    get('/.well-known/agent-card.json', { headers: { 'A2A-Version': '0.3' } }),
  )
  const card = (await response.json()) as JsonObject
  expect(card).toMatchObject({ protocolVersion: '0.3.0', url: ORIGIN, preferredTransport: 'JSONRPC' })
  expect(card['additionalInterfaces']).toContainEqual({ url: ORIGIN, transport: 'JSONRPC' })
  expect(card).not.toHaveProperty('supportedInterfaces')
})

describe('a task that has ended', () => {
  test.each([
    ['completed', 'working', 'completed'],
    ['failed', 'failed'],
    ['canceled', 'canceled'],
    ['rejected', 'rejected'],
  ] as const)('169. takes no message: %s', async (state, ...path) => {
    const a = old()
    const { id } = a.tasks.createTask({ skill: 'test' })
    walk(a.tasks, id, ...path)
    const answer = await a.rpc('message/send', { message: message('hi', { taskId: id }) })
    expect(answer).toMatchObject({ error: { code: -32004 } })
    expect(a.tasks.getTask(id)).toMatchObject({ state, messages: [] })
  })

  test('173. is answered when it is subscribed to', async () => {
    const a = old()
    const { id } = a.tasks.createTask({ skill: 'test' })
    walk(a.tasks, id, 'failed')
    const results = resultsOf(await a.stream('tasks/resubscribe', { id }))
    expect(results).toMatchObject([{ kind: 'task', id, status: { state: 'failed' } }])
  })
})

test('170. errors have the codes of 0.3, and no later ones', async () => {
  const a = old()
  for (const [method, params, code] of [
    ['tasks/get', { id: 'none' }, -32001],
    ['tasks/cancel', { id: idOf(await a.rpc('message/send', { message: message('hi') })) }, -32002],
    ['tasks/pushNotificationConfig/list', { id: 'none' }, -32003],
    ['agent/getAuthenticatedExtendedCard', undefined, -32004],
    ['tasks/get', {}, -32602],
  ] as const) {
    expect(await a.rpc(method, params)).toMatchObject({ error: { code } })
  }
  const uri = 'https://extensions.test/required'
  const card = { name: 'Test', url: ORIGIN, capabilities: { extensions: [{ uri, required: true }] } }
  const strict = old(() => 'done', { card })
  expect(await strict.rpc('message/send', { message: message('hi') })).toMatchObject({
    error: { code: -32600 },
  })
})

test('172. the push operations are known, in each of their forms, and refused', async () => {
  const a = old()
  const { id } = a.tasks.createTask({ skill: 'test' })
  const pushNotificationConfig = { url: 'https://client.test/hook' }
  for (const [action, params] of [
    ['set', { taskId: id, pushNotificationConfig }],
    ['get', { id }],
    ['get', { id, pushNotificationConfigId: 'c' }],
    ['list', { id }],
    ['delete', { id, pushNotificationConfigId: 'c' }],
  ] as const) {
    const answer = await a.rpc(`tasks/pushNotificationConfig/${action}`, params)
    expect([action, answer]).toMatchObject([action, { error: { code: -32003 } }])
  }
})

test('173. a subscription that is refused is so in a stream', async () => {
  const events = await old().stream('tasks/resubscribe', { id: 'none' })
  expect(events).toMatchObject([{ jsonrpc: '2.0', id: 7, error: { code: -32001 } }])
})

test('173. a subscription begins with the task and continues to its end', async () => {
  const { opened, open } = gate()
  const began = gate<string>()
  const a = old(async (run) => {
    run.start()
    began.open(run.task.id)
    await opened
  })
  const sent = a.rpc('message/send', { message: message('hi') })
  const id = await began.opened
  const response = await a.handler.fetch(
    post('/', { jsonrpc: '2.0', id: 7, method: 'tasks/resubscribe', params: { id } }),
  )
  const reader = eventsOf(response)
  open()
  const results = resultsOf(await reader)
  expect(results[0]).toMatchObject({ kind: 'task' })
  expect(results.at(-1)).toMatchObject(
    results.length > 1 ? { status: { state: 'completed' }, final: true } : { status: { state: 'completed' } },
  )
  expect(await sent).toMatchObject({ result: { status: { state: 'completed' } } })
})

test('174. the extended card is only for authenticated clients', async () => {
  const { handler, rpc } = old(() => 'done', { authenticate, extendedCard: { name: 'Inside', url: ORIGIN } })
  expect((await handler.fetch(get('/v1/card'))).status).toBe(401)
  const rest = await handler.fetch(get('/v1/card', as('me')))
  expect(await rest.json()).toMatchObject({ name: 'Inside', protocolVersion: '0.3.0' })
  const answer = await rpc('agent/getAuthenticatedExtendedCard', undefined, { authorization: 'me' })
  expect(answer).toMatchObject({ result: { name: 'Inside' } })
})

test('176. operations that 0.3 lacks are not found', async () => {
  const a = old()
  for (const method of ['tasks/list', 'ListTasks', 'tasks/send', 'message/Send']) {
    expect(await a.rpc(method, {}, { 'A2A-Version': '0.3' })).toMatchObject({ error: { code: -32601 } })
  }
  expect((await a.handler.fetch(get('/v1/nothing', { headers: { 'A2A-Version': '0.3' } }))).status).toBe(501)
})

test('177. extensions are declared and echoed in X-A2A-Extensions', async () => {
  const uri = 'https://extensions.test/one'
  const card = { name: 'Test', url: ORIGIN, capabilities: { extensions: [{ uri, required: true }] } }
  const { handler } = agent(() => 'done', { card })
  const body = { jsonrpc: '2.0', id: 7, method: 'message/send', params: { message: message('hi') } }
  const response = await handler.fetch(post('/', body, { headers: { 'X-A2A-Extensions': uri } }))
  expect(response.headers.get('X-A2A-Extensions')).toBe(uri)
  expect(await response.json()).toHaveProperty('result.kind', 'task')
})
