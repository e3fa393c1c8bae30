import { describe, expect, test } from 'vitest'
import { v1 } from '../../../src/wire/index.js'
import { agent, as, authenticate, get, ORIGIN, post, SseReader, taskOf, user } from './support/agent.js'
import { call, httpJson, type TestAgent } from './support/agent.js'

const idle = (): TestAgent => agent(() => 'done')

const ROUTES: readonly [verb: string, path: string, status: number, reason?: string][] = [
  ['POST', '/message:send', 200],
  ['POST', '/message:stream', 200],
  ['GET', '/tasks/ID', 200],
  ['GET', '/tasks', 200],
  ['POST', '/tasks/ID:cancel', 200],
  ['POST', '/tasks/ID:subscribe', 200],
  ['GET', '/tasks/ID:subscribe', 200],
  ['POST', '/tasks/ID/pushNotificationConfigs', 400, 'PUSH_NOTIFICATION_NOT_SUPPORTED'],
  ['GET', '/tasks/ID/pushNotificationConfigs', 400, 'PUSH_NOTIFICATION_NOT_SUPPORTED'],
  ['GET', '/tasks/ID/pushNotificationConfigs/c', 400, 'PUSH_NOTIFICATION_NOT_SUPPORTED'],
  ['DELETE', '/tasks/ID/pushNotificationConfigs/c', 400, 'PUSH_NOTIFICATION_NOT_SUPPORTED'],
  ['GET', '/extendedAgentCard', 400, 'UNSUPPORTED_OPERATION'],
]

/** Whether the task of this id belongs to the tenant. */
function createdIn(tenant: string, { tasks }: TestAgent): string {
  const owner = tenant === '' ? {} : { owner: `\n${tenant}\n` }
  return tasks.createTask({ skill: 'test', ...owner }).id
}

describe.each([
  ['without a tenant', '', ''],
  ['with a tenant', '/acme', 'acme'],
])('routes %s', (_, prefix, tenant) => {
  test.each(ROUTES)('130, 136. %s %s', async (verb, path, status, reason) => {
    const a = idle()
    const url = prefix + path.replace('ID', createdIn(tenant, a))
    const body = { message: user('go'), url: 'https://client.test/hook' }
    const response = await a.handler.fetch(
      verb === 'POST' ? post(url, body) : new Request(ORIGIN + url, { method: verb }),
    )
    expect(response.status).toBe(status)
    if (reason !== undefined) {
      expect(await response.json()).toMatchObject({ error: { details: [{ reason }] } })
    }
    await response.body?.cancel().catch(() => undefined)
  })

  test('130. each below the path of the interface, or where a framework has cut it off', async () => {
    const a = agent(() => 'done', { card: { name: 'Test', url: `${ORIGIN}/agents/one` } })
    for (const base of ['/agents/one', '/one', '']) {
      expect((await a.handler.fetch(get(`${base}${prefix}/tasks`))).status).toBe(200)
    }
    expect((await a.handler.fetch(get('/agents/two/tasks/x/y'))).status).toBe(404)
  })
})

test('130. the body of a verb may be empty, {} or null', async () => {
  const a = idle()
  for (const body of ['', '{}', 'null']) {
    const { id } = a.tasks.createTask({ skill: 'test' })
    const response = await a.handler.fetch(post(`/tasks/${id}:cancel`, body))
    expect(await response.json()).toMatchObject({ id, status: { state: 'TASK_STATE_CANCELED' } })
  }
})

test('130. the path says which task, whatever the body says', async () => {
  const a = idle()
  const { id } = a.tasks.createTask({ skill: 'test' })
  const other = a.tasks.createTask({ skill: 'test' })
  await a.handler.fetch(post(`/tasks/${id}:cancel`, { id: other.id }))
  expect([a.tasks.getTask(id)?.state, a.tasks.getTask(other.id)?.state]).toEqual(['canceled', 'submitted'])
})

test("130. a tenant has its own tasks, and a tenant called 'tasks' is no way round that", async () => {
  const a = agent(() => 'done', { authenticate })
  const mine = taskOf(await call(httpJson, a, 'SendMessage', { message: user('go') }, as('me')))
  const send = await a.handler.fetch(post('/acme/message:send', { message: user('go') }, as('me')))
  const { task } = (await send.json()) as { task: { id: string } }
  for (const [path, status] of [
    [`/tasks/${mine.id}`, 200],
    [`/acme/tasks/${mine.id}`, 404],
    [`/acme/tasks/${task.id}`, 200],
    [`/tasks/${task.id}`, 404],
    [`/other/tasks/${task.id}`, 404],
    [`/tasks/${task.id}?tenant=acme`, 200],
    [`/acme/tasks/${task.id}?tenant=other`, 200],
  ] as const) {
    expect([path, (await a.handler.fetch(get(path, as('me')))).status]).toEqual([path, status])
  }
  expect((await a.handler.fetch(get(`/acme/tasks/${task.id}`, as('you')))).status).toBe(404)
})

test('131, 132. the query has the names and the forms of §11.5', async () => {
  const a = idle()
  for (let count = 0; count < 3; count++) {
    const { id } = a.tasks.createTask({ skill: 'test', contextId: 'c' })
    a.tasks.addMessage(id, { role: 'user', parts: [{ text: 'hi' }] })
    a.tasks.updateTask(id, { artifacts: [{ artifactId: 'a', parts: [{ text: 'x' }] }] })
  }
  const list = async (query: string): Promise<unknown> =>
    (await a.handler.fetch(get(`/tasks?${query}`))).json()
  const query =
    'contextId=c&status=TASK_STATE_SUBMITTED&pageSize=2&historyLength=1&includeArtifacts=true&statusTimestampAfter=2026-01-01T00%3A00%3A00.000Z'
  expect(await list(query)).toMatchObject({
    tasks: [{ artifacts: [{}], history: [{}] }, {}],
    pageSize: 2,
    totalSize: 3,
  })
  for (const bad of [
    'pageSize=two',
    'pageSize=2.5',
    'page_size=101',
    'includeArtifacts=1',
    'includeArtifacts=TRUE',
    'status=20',
    'contextId=c&context_id=c',
  ]) {
    expect(await list(bad)).toMatchObject({ error: { code: 400, status: 'INVALID_ARGUMENT' } })
  }
  // Names of the proto, and numbers of enums, as ProtoJSON takes them. What is not known is ignored.
  expect(await list('page_size=1&context_id=c&status=1&include_artifacts=true')).toMatchObject({
    tasks: [{ artifacts: [{}] }],
    totalSize: 3,
    pageSize: 1,
  })
  expect(await list('status=2&page__size=1')).toMatchObject({ totalSize: 0, pageSize: 50 })
  expect(await list('pageSize=&contextId=')).toMatchObject({ totalSize: 3, pageSize: 50 })
})

test('133. ids in the path are decoded, and undecodable ones are refused', async () => {
  const a = idle()
  const id = 'a b/ü:c?#%'
  a.tasks.createTask({ skill: 'test', id })
  const found = await a.handler.fetch(get(`/tasks/${encodeURIComponent(id)}`))
  expect(await found.json()).toMatchObject({ id })
  expect((await a.handler.fetch(get('/tasks/%E0%A4%A'))).status).toBe(400)
})

describe('134. media types', () => {
  const PARAMS = () => ({ message: user('go') })

  test.each([
    [undefined, 'application/a2a+json'],
    ['*/*', 'application/a2a+json'],
    ['application/a2a+json', 'application/a2a+json'],
    ['application/json, application/a2a+json', 'application/a2a+json'],
    ['application/json', 'application/json'],
  ])('134. to Accept: %s the answer is %s', async (accept, type) => {
    const headers = accept === undefined ? {} : { accept }
    const good = await idle().handler.fetch(post('/message:send', PARAMS(), { headers }))
    expect(good.headers.get('content-type')).toBe(type)
    const bad = await idle().handler.fetch(get('/tasks/none', { headers }))
    expect(bad.headers.get('content-type')).toBe(type)
  })

  test('134. 1.0.0 has plain JSON', async () => {
    const { handler } = agent(() => 'done', { dialects: [v1({ profile: '1.0.0' })] })
    expect((await handler.fetch(get('/tasks'))).headers.get('content-type')).toBe('application/json')
  })
})

test('135. an event of a stream is a StreamResponse, and no more', async () => {
  const response = await idle().handler.fetch(post('/message:stream', { message: user('go') }))
  const reader = new SseReader(response)
  const seen: string[] = []
  for (let event = await reader.next(); event !== undefined; event = await reader.next()) {
    seen.push(...Object.keys(JSON.parse('data' in event ? event.data : '') as object))
  }
  expect(seen).toEqual(['task', 'statusUpdate', 'artifactUpdate', 'statusUpdate'])
})
