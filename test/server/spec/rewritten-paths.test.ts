/** Paths as clients and proxies spell them: with another beginning than the card's, and encoded. */
import { describe, expect, test } from 'vitest'
import { agent, as, authenticate, ORIGIN, post, user, type TestAgent } from './support/agent.js'

const mounted = (): TestAgent => agent(() => 'done', { card: { name: 'Test', url: `${ORIGIN}/a2a/x` } })
const message = (): object => ({ message: user('go') })
const rpc = (): object => ({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: message() })

/** A proxy that publishes `/a2a/x` forwards to one of them. */
const PLACES = ['/y/x', '/y', '/y/z', '/a/b/c/d/e/f/g/h']

describe.each(PLACES)('behind a proxy that replaces the path of the card by %s', (place) => {
  test('JSON-RPC is served', async () => {
    const { handler } = mounted()
    const answer = await handler.fetch(post(place, rpc()))
    expect(await answer.json()).toMatchObject({ id: 1, result: { task: { status: {} } } })
    const unknown = await handler.fetch(post(place, { jsonrpc: '2.0', id: 2, method: 'Unknown' }))
    expect(await unknown.json()).toMatchObject({ id: 2, error: { code: -32601 } })
  })

  test('HTTP+JSON is served, without a tenant', async () => {
    const { handler, tasks } = mounted()
    const answer = await handler.fetch(post(`${place}/message:send`, message()))
    expect(answer.status).toBe(200)
    const { task } = (await answer.json()) as { task: { id: string } }
    // One segment below the root has always been a tenant.
    if (place !== '/y') expect(tasks.getTask(task.id)).not.toHaveProperty('owner')
    const found = await handler.fetch(new Request(`${ORIGIN}${place}/tasks/${task.id}`))
    expect(await found.json()).toMatchObject({ id: task.id })
  })

  test('other requests get 404 still', async () => {
    const { handler } = mounted()
    const others = [message(), [], 'text', { method: 'SendMessage' }]
    for (const body of others) expect((await handler.fetch(post(`${place}/other`, body))).status).toBe(404)
    const broken = new Request(`${ORIGIN}${place}/other`, {
      method: 'POST',
      body: '{',
      headers: { 'content-type': 'application/json' },
    })
    expect((await handler.fetch(broken)).status).toBe(404)
    expect((await handler.fetch(new Request(`${ORIGIN}${place}/other`))).status).toBe(404)
  })
})

test('a path that a proxy has replaced asks for credentials, too', async () => {
  const { handler } = agent(() => 'done', { authenticate })
  expect((await handler.fetch(post('/y/x', rpc()))).status).toBe(401)
  expect((await handler.fetch(post('/y/x/message:send', message()))).status).toBe(401)
  expect((await handler.fetch(post('/y/x', rpc(), as('ann')))).status).toBe(200)
})

test.each(['/message%3Asend', '/message%3asend', '/%6Dessage:send', '/acme/message%3Asend'])(
  '%s is the path without the encoding',
  async (path) => {
    const answer = await agent(() => 'done').handler.fetch(post(path, message()))
    expect([answer.status, await answer.json()]).toMatchObject([200, { task: {} }])
  },
)

describe('the id in a path is decoded once', () => {
  test.each(['a:cancel', 'a/b', 'a%2Fb', '%61', 'a%3Acancel', 'ü', 'a.b~c'])('%j', async (id) => {
    const a = agent(() => 'done')
    a.tasks.createTask({ id, skill: 'any' })
    const at = `/tasks/${encodeURIComponent(id)}`
    const found = await a.handler.fetch(new Request(ORIGIN + at))
    expect(await found.json()).toMatchObject({ id })
    for (const verb of [':cancel', '%3Acancel']) {
      const answer = await a.handler.fetch(post(at + verb, {}))
      expect(await answer.json()).toMatchObject({ id, status: { state: 'TASK_STATE_CANCELED' } })
    }
  })
})

test('a Request whose body was read says what to do', async () => {
  const a = agent(() => 'done')
  const read = post('/', rpc())
  await read.json()
  const locked = post('/', rpc())
  locked.body?.getReader()
  for (const request of [read, locked]) expect((await a.handler.fetch(request)).status).toBe(500)
  const texts = a.errors.map(({ error }) => String(error))
  expect(texts).toEqual([
    expect.stringMatching(/^TypeError: The body of the Request has been read already: call handler\.fetch/),
    texts[0],
  ])
})
