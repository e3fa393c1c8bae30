/** Clients that the layer around the handler has authenticated, and lists of clients without a principal. */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { A2AError } from 'a2a-tasks'
import { createRequestHandler, type Principal, type RequestContext } from 'a2a-tasks/server'
import { toNodeListener, type NodeListener } from 'a2a-tasks/server/node'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { expectWarnings } from '../support/warnings.js'

interface User extends Principal {
  readonly name: string
}
type KnownRequest = IncomingMessage & { user?: User | null }

const ORIGIN = 'http://agent.example'
const CARD = { name: 'Secretary', url: ORIGIN }
const ADA: User = { id: 'ada', name: 'Ada' }
const BOB: User = { id: 'bob', name: 'Bob' }

const execute = (run: { principal?: User | undefined }): string =>
  `Hello, ${run.principal?.name ?? 'stranger'}`
const list = (query = ''): Request => new Request(`${ORIGIN}/tasks${query}`)

function send(text = 'Hi'): Request {
  const message = { messageId: text, role: 'ROLE_USER', parts: [{ text }] }
  return new Request(`${ORIGIN}/message:send`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ message }),
  })
}

async function textOf(response: Response): Promise<string | undefined> {
  const { task } = (await response.json()) as { task: { artifacts: { parts: { text: string }[] }[] } }
  return task.artifacts[0]?.parts[0]?.text
}

describe('fetch with a principal', () => {
  test('needs no authenticate, and each has their own tasks', async () => {
    const { fetch } = createRequestHandler<User>({ card: CARD, execute })
    expect(await textOf(await fetch(send(), { principal: ADA }))).toBe('Hello, Ada')
    const sizes = [ADA, BOB].map(async (principal) => {
      const response = await fetch(list(), { principal })
      return ((await response.json()) as { totalSize: number }).totalSize
    })
    expect(await Promise.all(sizes)).toEqual([1, 0])
  })

  test.each([null, undefined])('refuses %s with 401, and does nothing', async (principal) => {
    const work = vi.fn(execute)
    const { fetch } = createRequestHandler<User>({ card: CARD, execute: work })
    const response = await fetch(send(), { principal })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="Secretary"')
    expect(work).not.toHaveBeenCalled()
  })

  test('is used before authenticate, which decides if there is no principal', async () => {
    const authenticate = vi.fn(() => BOB)
    const { fetch } = createRequestHandler<User>({ card: CARD, execute, authenticate })
    expect(await textOf(await fetch(send('one'), { principal: ADA }))).toBe('Hello, Ada')
    expect(authenticate).not.toHaveBeenCalled()
    expect(await textOf(await fetch(send('two'), { principal: null }))).toBe('Hello, Bob')
    expect(await textOf(await fetch(send('three')))).toBe('Hello, Bob')
    expect(authenticate).toHaveBeenCalledTimes(2)
  })

  test('is checked as what authenticate returns', async () => {
    const onError = vi.fn()
    const { fetch } = createRequestHandler({ card: CARD, execute: () => 'done', onError })
    expect((await fetch(send(), { principal: { id: '' } })).status).toBe(500)
    expect(String(onError.mock.calls[0]?.[0])).toContain(
      'A principal, such as authenticate() returns, must be',
    )
  })

  test.each<[unknown, string]>([
    [true, 'got a boolean'],
    ['ada', 'got a string'],
    [{ name: 'ada' }, 'got an "id" that is undefined'],
  ])('%o of authenticate is refused', async (principal, text) => {
    const onError = vi.fn()
    // As an integrator without types may return it.
    const authenticate = () => principal as User
    const { fetch } = createRequestHandler({ card: CARD, execute: () => 'done', authenticate, onError })
    expect((await fetch(send())).status).toBe(500)
    expect(String(onError.mock.calls[0]?.[0])).toContain(text)
  })

  test('ignores what runtimes pass as a second argument', async () => {
    const { fetch } = createRequestHandler({ card: CARD, execute: () => 'done' })
    for (const second of [null, 1, 'x', { remoteAddr: {} }, { DB: {} }]) {
      // As a runtime calls it, whose types are not ours.
      const response: unknown = await Reflect.apply(fetch, undefined, [send(), second])
      expect(response).toHaveProperty('status', 200)
    }
  })

  test('reads the extended card', async () => {
    const { fetch } = createRequestHandler({
      card: CARD,
      execute: () => 'done',
      extendedCard: ({ id }) => ({ ...CARD, description: `For ${id}` }),
    })
    const card = new Request(`${ORIGIN}/extendedAgentCard`)
    expect(await (await fetch(card, { principal: ADA })).json()).toMatchObject({ description: 'For ada' })
    expect((await fetch(card)).status).toBe(401)
  })
})

async function serve(listener: NodeListener<KnownRequest>, user: User | null | undefined): Promise<string> {
  const server = createServer((req: KnownRequest, res) => {
    if (user !== undefined) req.user = user
    listener(req, res)
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The same request to another origin. */
async function post(origin: string): Promise<Response> {
  const request = send()
  return await fetch(`${origin}/message:send`, {
    method: 'POST',
    headers: request.headers,
    body: await request.text(),
  })
}

describe('toNodeListener with a principal', () => {
  const handler = createRequestHandler<User>({ card: CARD, execute })
  const options = { principal: (req: KnownRequest) => req.user }
  // A function of one's own has no direct way for Node's requests.
  const wrapped = (request: Request, context?: RequestContext<User>): Promise<Response> =>
    context === undefined ? handler.fetch(request) : handler.fetch(request, context)

  test.each([
    ['a handler', handler.fetch],
    ['a function around it', wrapped],
  ])('passes it to %s', async (_, target) => {
    const listener = toNodeListener(target, options)
    expect(await textOf(await post(await serve(listener, ADA)))).toBe('Hello, Ada')
    for (const principal of [null, undefined]) {
      expect((await post(await serve(listener, principal))).status).toBe(401)
    }
  })

  test('waits for a promise', async () => {
    const listener = toNodeListener(handler.fetch, { principal: () => Promise.resolve(BOB) })
    expect(await textOf(await post(await serve(listener, undefined)))).toBe('Hello, Bob')
  })

  test('answers with the A2AError that it throws, and 500 for anything else', async () => {
    const refuse = (error: Error): NodeListener =>
      toNodeListener(handler.fetch, {
        principal: () => {
          throw error
        },
      })
    const forbidden = refuse(new A2AError('PERMISSION_DENIED', 'Blocked', {}))
    expect((await post(await serve(forbidden, undefined))).status).toBe(403)
    expectWarnings(/authenticate.*no database/)
    expect((await post(await serve(refuse(new Error('no database')), undefined))).status).toBe(500)
  })

  test('does not ask for it when the card is read', async () => {
    const principal = vi.fn(() => ADA)
    const origin = await serve(toNodeListener(handler.fetch, { principal }), undefined)
    expect((await fetch(`${origin}/.well-known/agent-card.json`)).status).toBe(200)
    expect(principal).not.toHaveBeenCalled()
  })

  test.each([
    [{ principl: () => null }, TypeError, 'Unknown option "principl" of toNodeListener'],
    [{}, TypeError, '"principal" must be a function'],
    [{ principal: ADA }, TypeError, '"principal" must be a function'],
  ])('refuses the options %j', (wrong, type, text) => {
    const construct = (): unknown => Reflect.apply(toNodeListener, undefined, [handler.fetch, wrong])
    expect(construct).toThrow(type)
    expect(construct).toThrow(text)
  })
})

describe('a list without a principal', () => {
  const rpc = { jsonrpc: '2.0', id: 1, method: 'ListTasks', params: {} }

  test('needs a context', async () => {
    const { fetch, dispatch, tasks } = createRequestHandler({ card: CARD, execute: () => 'done' })
    tasks.createTask({ skill: 'test', contextId: 'mine' })
    tasks.createTask({ skill: 'test', contextId: 'other' })
    const refused = await fetch(list())
    expect(refused.status).toBe(400)
    expect(await refused.text()).toContain(`anonymous: 'shared'`)
    expect(await dispatch(rpc)).toMatchObject({ error: { code: -32602 } })
    expect((await fetch(list('?contextId='))).status).toBe(400)
    expect((await fetch(new Request(`${ORIGIN}/acme/tasks`))).status).toBe(400)
    expect(await (await fetch(list('?contextId=mine'))).json()).toMatchObject({ totalSize: 1 })
    expect(await dispatch(rpc, { principal: ADA })).toMatchObject({ result: { totalSize: 0 } })
  })

  test(`is whole with anonymous: 'shared'`, async () => {
    const { fetch, tasks } = createRequestHandler({ card: CARD, execute: () => 'done', anonymous: 'shared' })
    tasks.createTask({ skill: 'test', owner: 'ada' })
    tasks.createTask({ skill: 'test' })
    expect(await (await fetch(list())).json()).toMatchObject({ totalSize: 1 })
  })

  test('refuses other values of the option', () => {
    const options = { card: CARD, execute: () => 'done', anonymous: true }
    const construct = (): unknown => Reflect.apply(createRequestHandler, undefined, [options])
    expect(construct).toThrow(TypeError)
    expect(construct).toThrow(`"anonymous" must be 'shared', got a boolean`)
  })
})
