/** Verification of webhooks before they are registered. */
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { answerChallenge, verifyNotification } from 'a2a-tasks/client'
import { A2AError } from 'a2a-tasks'
import { createRequestHandler, type PushOptions } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import { describe, expect, onTestFinished, test } from 'vitest'
import { sharedStore, task } from '../durable/support/push.js'
import { endOf, pushAgent, receiver, until } from './support/push.js'

const CHALLENGE: PushOptions = { allow: ['127.0.0.1'], verifyWebhooks: 'challenge' }
const REFUSED = /-32602.*must be verified: respond to the GET with the \\"validationToken\\"/
const MESSAGE = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Go' }] }

interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
}

interface Hook {
  readonly url: string
  readonly seen: Seen[]
}

/** A webhook that answers challenges as `answer` does, and takes notifications with the token `t`. */
async function hook(answer: (request: Request) => Response | Promise<Response> | undefined): Promise<Hook> {
  const seen: Seen[] = []
  const listener = toNodeListener(async (request) => {
    const answered = await answer(request)
    if (answered !== undefined) return answered
    await verifyNotification(request, { token: 't', isExpected: () => true })
    return new Response(null, { status: 204 })
  })
  const server = createServer((request, response) => {
    const { method = '', url = '', headers } = request
    seen.push({ method, url, headers })
    listener(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
  })
  // The address of a server that listens on a port.
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/hook`, seen }
}

function methodsOf({ seen }: Hook): string[] {
  return seen.map(({ method }) => method)
}

describe('a webhook that answers its challenge', () => {
  test('is registered and notified, over tasks in memory', async () => {
    const mine = await hook(answerChallenge)
    const agent = pushAgent({ push: CHALLENGE })
    const id = agent.task()
    await agent.create(id, {
      url: `${mine.url}?a=b%20c#secret`,
      token: 't',
      authentication: { scheme: 'Bearer', credentials: 'c' },
    })
    agent.tasks.updateTask(id, { state: 'canceled' })
    await until(async () => (await agent.handler.push.health(id))[0]?.state === 'done')
    const [asked] = mine.seen
    expect(methodsOf(mine)).toEqual(['GET', 'POST', 'POST'])
    expect(asked?.url).toMatch(/^\/hook\?a=b%20c&validationToken=[\da-f-]{36}$/)
    expect(Object.keys(asked?.headers ?? {})).not.toContain('authorization')
    expect(Object.keys(asked?.headers ?? {})).not.toContain('x-a2a-notification-token')
  })

  test('is registered and notified, over a store', async () => {
    const mine = await hook(answerChallenge)
    const replica = sharedStore().open({ push: CHALLENGE })
    const id = await task(replica)
    await replica.create(id, { url: mine.url, token: 't' })
    await until(() => mine.seen.length === 2)
    expect(methodsOf(mine)).toEqual(['GET', 'POST'])
  })

  test('is challenged with its own token each time, and not again while the task has its URL', async () => {
    const mine = await hook(answerChallenge)
    const agent = pushAgent({ push: CHALLENGE })
    const [one, two] = [agent.task(), agent.task()]
    for (const id of [one, one, two]) await agent.create(id, { url: mine.url, token: 't' })
    const challenges = mine.seen.filter(({ method }) => method === 'GET').map(({ url }) => url)
    expect(new Set(challenges).size).toBe(2)
    expect(challenges).toHaveLength(2)
    await agent.create(one, { url: `${mine.url}/other`, token: 't' })
    expect(mine.seen.filter(({ method }) => method === 'GET')).toHaveLength(3)
  })

  test('comes with a message', async () => {
    const mine = await hook(answerChallenge)
    const agent = pushAgent({ push: CHALLENGE })
    const taskPushNotificationConfig = { url: mine.url, token: 't' }
    await agent.call('SendMessage', { message: MESSAGE, configuration: { taskPushNotificationConfig } })
    await until(() => mine.seen.length > 1)
    expect(methodsOf(mine).slice(0, 2)).toEqual(['GET', 'POST'])
  })
})

describe('a webhook is refused, and nothing is sent to it but the challenge,', () => {
  test.each([
    ['answers with another text', () => new Response('no'), 'its answer is not the validationToken'],
    [
      'answers with nothing',
      () => new Response(null, { status: 204 }),
      'its answer is not the validationToken',
    ],
    [
      'answers with the token in too long a text',
      (request: Request) => new Response(`${tokenOf(request)}${' '.repeat(10_000)}`),
      'its answer is not the validationToken',
    ],
    [
      'answers with the token and an error',
      (request: Request) => new Response(tokenOf(request), { status: 404 }),
      'HTTP 404',
    ],
    [
      'redirects to another host',
      () => new Response(null, { status: 307, headers: { location: 'http://example.com/' } }),
      'HTTP 307, a redirect that is not followed',
    ],
  ])('if it %s', async (_, answer, reason) => {
    const mine = await hook(answer)
    const agent = pushAgent({ push: CHALLENGE })
    const id = agent.task()
    await expect(agent.create(id, { url: mine.url, token: 't' })).rejects.toThrow(REFUSED)
    expect(agent.tasks.getTask(id)).not.toBeNull()
    expect(await agent.handler.push.health(id)).toEqual([])
    expect(methodsOf(mine)).toEqual(['GET'])
    const { origin } = new URL(mine.url)
    const text = `A webhook at ${origin} was refused, because it did not answer the challenge: ${reason}`
    expect(agent.errors.map(({ error }) => (A2AError.is(error) ? error.message : error))).toEqual([text])
  })

  test('if it cannot be reached, with the same text', async () => {
    const agent = pushAgent({ push: CHALLENGE })
    const { port } = await closedPort()
    const created = agent.create(agent.task(), { url: `http://127.0.0.1:${port}/` })
    await expect(created).rejects.toThrow(REFUSED)
  })

  test('if it does not answer in time, with the same text', async () => {
    const mine = await hook(() => new Promise(() => undefined))
    const agent = pushAgent({ push: CHALLENGE })
    const created = agent.create(agent.task(), { url: mine.url }).catch((error: unknown) => String(error))
    await until(() => mine.seen.length === 1)
    agent.clock.advance(10_000)
    expect(await created).toMatch(REFUSED)
  })

  test('and the message that it came with begins no task', async () => {
    const mine = await hook(() => new Response('no'))
    const agent = pushAgent({ push: CHALLENGE })
    const configuration = { taskPushNotificationConfig: { url: mine.url } }
    await expect(agent.call('SendMessage', { message: MESSAGE, configuration })).rejects.toThrow(REFUSED)
    expect(agent.tasks.listTasks()).toEqual([])
  })

  test('and one whose challenges hang does not delay another owner beyond its own share', async () => {
    const [slow, quick] = [await hook(() => new Promise(() => undefined)), await hook(answerChallenge)]
    const agent = pushAgent<{ id: string }>({ push: { ...CHALLENGE, maxConcurrent: 2 } })
    const owned = (owner: string): string => agent.tasks.createTask({ skill: 'test', owner }).id
    const hung = Array.from({ length: 6 }, () =>
      agent
        .create(owned('slow'), { url: slow.url }, { principal: { id: 'slow' } })
        .catch((error: unknown) => String(error)),
    )
    await until(() => slow.seen.length === 2)
    const created = agent.create(
      owned('quick'),
      { url: quick.url, token: 't' },
      { principal: { id: 'quick' } },
    )
    // The first two are refused, and one of the slots is for the owner that has none.
    agent.clock.advance(10_000)
    await expect(created).resolves.toMatchObject({ url: quick.url })
    expect(slow.seen.length).toBeLessThan(6)
    await endOf(Promise.all(hung), agent.clock)
  })
})

test('without the option, a webhook is sent no challenge', async () => {
  const mine = await receiver()
  const agent = pushAgent()
  await agent.create(agent.task(), { url: mine.url })
  await mine.arrived(1)
  expect(mine.received[0]?.path).toBe('/hook')
})

test('a URL that is not allowed is sent no challenge', async () => {
  const mine = await hook(answerChallenge)
  const agent = pushAgent({ push: { ...CHALLENGE, allow: [] } })
  await expect(agent.create(agent.task(), { url: mine.url })).rejects.toThrow('a public host')
  expect(mine.seen).toEqual([])
})

test('another value of the option is a TypeError', () => {
  // A value that the type does not allow.
  const push = { verifyWebhooks: true } as unknown as PushOptions
  const create = (): unknown =>
    createRequestHandler({ card: { name: 'A', url: 'https://a.example' }, execute: () => 'done', push })
  expect(create).toThrow(new TypeError(`"push.verifyWebhooks" must be one of "challenge", false, got true`))
})

describe('answerChallenge', () => {
  test('sends the token back as plain text that no browser runs or keeps', async () => {
    const response = answerChallenge(new Request('https://a.example/hook?x=1&validationToken=abc-DEF_1.~'))
    expect(response?.status).toBe(200)
    expect(await response?.text()).toBe('abc-DEF_1.~')
    expect(Object.fromEntries(response?.headers ?? [])).toEqual({
      'content-type': 'text/plain; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    })
  })

  test.each([
    ['a notification', new Request('https://a.example/?validationToken=a', { method: 'POST', body: '{}' })],
    ['a GET without a token', new Request('https://a.example/hook')],
    ['an empty token', new Request('https://a.example/hook?validationToken=')],
    ['markup', new Request('https://a.example/hook?validationToken=%3Cscript%3E')],
    ['a token that is too long', new Request(`https://a.example/hook?validationToken=${'a'.repeat(257)}`)],
  ])('returns nothing for %s', (_, request) => {
    expect(answerChallenge(request)).toBeUndefined()
  })
})

function tokenOf({ url }: Request): string {
  return new URL(url).searchParams.get('validationToken') ?? ''
}

/** A port on which nothing listens. */
async function closedPort(): Promise<AddressInfo> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // The address of a server that listens on a port.
  const address = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return address
}
