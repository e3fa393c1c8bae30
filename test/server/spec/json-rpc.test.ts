import type { JsonObject } from 'a2a-tasks/schemas'
import { describe, expect, test } from 'vitest'
import { collect } from '../../support/manager.js'
import {
  agent,
  as,
  authenticate,
  gate,
  jsonRpc,
  nameOf,
  open,
  ORIGIN,
  post,
  SseReader,
  user,
} from './support/agent.js'
import type { TestAgent } from './support/agent.js'

const idle = (): TestAgent => agent(() => 'done')
const envelope = (method: string, params?: unknown, id: unknown = 1) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
})
const SEND = () => envelope('SendMessage', { message: user('go') })

describe('the envelope', () => {
  test.each([1, 0, -7, 2 ** 53 - 1, 'one', '', null])('125. the id %j comes back', async (id) => {
    for (const [method, member] of [
      ['ListTasks', 'result'],
      ['Nothing', 'error'],
    ] as const) {
      const response = await idle().handler.fetch(post('/', envelope(method, {}, id)))
      const body = (await response.json()) as object
      expect(Object.keys(body).sort()).toEqual(['id', 'jsonrpc', member].sort())
      expect(body).toMatchObject({ jsonrpc: '2.0', id })
    }
  })

  test('126. is application/json, and nothing else is read', async () => {
    const a = idle()
    const response = await a.handler.fetch(post('/', envelope('ListTasks')))
    expect(response.headers.get('content-type')).toBe('application/json')
    for (const [type, code] of [
      ['application/json; charset=utf-8', undefined],
      ['Application/JSON', undefined],
      ['text/plain', -32005],
      ['application/x-www-form-urlencoded', -32005],
      ['application/xml', -32005],
      ['', -32005],
    ] as const) {
      const answer = await a.handler.fetch(
        post('/', envelope('ListTasks'), { headers: { 'content-type': type } }),
      )
      const { error } = (await answer.json()) as { error?: { code: number } }
      expect([type, error?.code]).toEqual([type, code])
    }
  })

  test('127. methods have the names that §5.3 lists', async () => {
    const { handler } = idle()
    for (const method of [
      ...['SendMessage', 'SendStreamingMessage', 'GetTask', 'ListTasks', 'CancelTask', 'SubscribeToTask'],
      ...['CreateTaskPushNotificationConfig', 'GetTaskPushNotificationConfig'],
      ...['ListTaskPushNotificationConfigs', 'DeleteTaskPushNotificationConfig', 'GetExtendedAgentCard'],
    ]) {
      const answer = await handler.dispatch(envelope(method, { no: 'parameter' }))
      expect([method, Reflect.get(answer, 'error')]).not.toMatchObject([method, { code: -32601 }])
      expect(await handler.dispatch(envelope(method.toLowerCase()))).toMatchObject({
        error: { code: -32601 },
      })
    }
  })

  test('125, 127. is read at the URL of the interface, with a slash after it or without', async () => {
    const card = { name: 'Test', url: `${ORIGIN}/agents/one` }
    const { handler } = agent(() => 'done', { card })
    for (const path of ['/agents/one', '/agents/one/', '/one', '/']) {
      expect((await handler.fetch(post(path, envelope('ListTasks')))).status).toBe(200)
    }
  })
})

test('128. each event of a stream is a whole response, with the id of the request', async () => {
  const { handler } = agent((run) => {
    run.artifact('text')
  })
  const response = await handler.fetch(post('/', { ...SEND(), method: 'SendStreamingMessage', id: 'mine' }))
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  expect(response.headers.get('cache-control')).toContain('no-cache')
  const reader = new SseReader(response)
  const seen: string[] = []
  for (let event = await reader.next(); event !== undefined; event = await reader.next()) {
    const body = JSON.parse('data' in event ? event.data : '') as { result: JsonObject }
    expect(Object.keys(body).sort()).toEqual(['id', 'jsonrpc', 'result'])
    expect(body).toMatchObject({ jsonrpc: '2.0', id: 'mine' })
    seen.push(...Object.keys(body.result))
  }
  expect(seen).toEqual(['task', 'statusUpdate', 'artifactUpdate', 'statusUpdate'])
})

test('128. an error in the middle is an event, too', async () => {
  const began = gate<string>()
  const a = agent(async (run) => {
    began.open(run.task.id)
    await new Promise(() => {})
  })
  const stream = await open(jsonRpc, a, 'SendStreamingMessage', { message: user('go') })
  await began.opened
  await stream.next()
  a.tasks.destroy()
  await expect(stream.rest()).rejects.toMatchObject({ failure: { code: -32603, reason: 'UNAVAILABLE' } })
  expect(await stream.next()).toBeUndefined()
})

test('129. GetExtendedAgentCard needs no params', async () => {
  const card = { name: 'Inside', url: ORIGIN }
  const { handler } = agent(() => 'done', { authenticate, extendedCard: card })
  for (const params of [undefined, null, {}]) {
    const body = { ...envelope('GetExtendedAgentCard', params) }
    const response = await handler.fetch(post('/', body, as('me')))
    expect(await response.json()).toMatchObject({ result: { name: 'Inside' } })
  }
})

describe('dispatch', () => {
  test('125. answers JSON with JSON', async () => {
    const { handler } = idle()
    const answer = await handler.dispatch(SEND())
    expect(answer).toMatchObject({ jsonrpc: '2.0', id: 1, result: { task: {} } })
  })

  test('128. streams without SSE', async () => {
    const { handler } = idle()
    const answer = await handler.dispatch({ ...SEND(), method: 'SendStreamingMessage' })
    const items = await collect(answer as AsyncIterableIterator<JsonObject>)
    const names = items.map(({ result }) => nameOf({ value: result as never }))
    expect(names).toEqual(['task', 'working', 'artifact:done', 'completed'])
    expect(items.every(({ jsonrpc, id }) => jsonrpc === '2.0' && id === 1)).toBe(true)
  })

  test('34. leaving the loop ends the stream, and not the task', async () => {
    const { opened, open: finish } = gate()
    const began = gate<string>()
    const a = agent(async (run) => {
      began.open(run.task.id)
      await opened
    })
    const answer = await a.handler.dispatch({ ...SEND(), method: 'SendStreamingMessage' })
    for await (const item of answer as AsyncIterableIterator<JsonObject>) {
      expect(item).toHaveProperty('result.task')
      break
    }
    finish()
    expect((await a.tasks.waitFor(await began.opened)).state).toBe('completed')
  })

  test('103. asks for a principal where the handler knows any', async () => {
    const { handler } = agent(() => 'done', { authenticate })
    expect(await handler.dispatch(SEND())).toMatchObject({ error: { data: [{ reason: 'UNAUTHENTICATED' }] } })
    expect(await handler.dispatch(SEND(), { principal: { id: 'me' } })).toHaveProperty('result.task')
    expect(await handler.dispatch(SEND(), { principal: { id: '' } })).toMatchObject({
      error: { code: -32603 },
    })
  })
})

test('125. a request without an id is refused once its method and its parameters are right', async () => {
  const a = idle()
  const without = (method: unknown, params?: unknown) => ({ jsonrpc: '2.0', method, params })
  const refusals: [object, number][] = [
    [without('Unknown'), -32601],
    [without('SendMessage', { message: 5 }), -32602],
    [without('SendMessage', []), -32602],
    [without(5), -32600],
    [without('SendMessage', { message: user('go') }), -32600],
    [without('SendStreamingMessage', { message: user('go') }), -32600],
  ]
  for (const [body, code] of refusals) {
    const overHttp = await (await a.handler.fetch(post('/', body))).json()
    for (const answer of [overHttp, await a.handler.dispatch(body)])
      expect([body, answer]).toMatchObject([body, { id: null, error: { code } }])
  }
  expect(a.tasks.size()).toBe(0)
})
