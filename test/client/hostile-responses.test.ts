/** Hostile responses to single calls. */
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'
import { A2AClient } from '../../src/client/a2a-client.js'
import { apiKeyAuth, bearerAuth, clientCredentialsAuth } from '../../src/http/auth.js'
import type { Authenticator } from '../../src/http/authenticator.js'
import { AgentCardCache } from '../../src/client/cards/card-cache.js'
import { fetchAgentCard } from '../../src/client/cards/cards.js'
import { request, toHttpSettings, type Answer, type HttpOptions } from '../../src/http/request.js'
import { invokeRemoteAgent } from '../../src/client/invoke.js'
import type { Fetch } from '../../src/runtime/fetch.js'
import { RemoteAgent } from '../../src/client/remote-agent.js'
import { shownUrl, trimSlashes } from '../../src/http/url.js'
import { urlGuard, validateUrl } from '../../src/http/url-guard.js'
import { failureOf, fakeFetch, settle, type Answerer, type Reply } from '../http/support/http.js'
import { cpuMs } from '../support/cpu-time.js'

const HOME = 'https://good.example'
const EVIL = 'http://evil.example'
const SECRET = 'hunter2-s3cret'
/** JSON objects that throw when they are converted to a text or a number. */
const TRAP = { toString: 1, valueOf: 1 }
const to = (location: string, status = 302): Reply => ({ status, headers: { location } })

function cardAt(url: string, protocolBinding = 'JSONRPC'): object {
  return {
    ...{ name: 'Agent', version: '1', description: 'D', capabilities: {}, skills: [] },
    ...{ defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'] },
    supportedInterfaces: [{ url, protocolBinding, protocolVersion: '1.0' }],
  }
}

function get(options: HttpOptions, url = HOME): Promise<Answer> {
  return request(toHttpSettings(options, 100_000), { method: 'GET', url }, { timeoutMs: 5000 })
}

/** All that is sent, by its URL. */
function sentBy(answer: Answerer): { fetch: Fetch; secrets: () => string[]; urls: () => string[] } {
  const { fetch, asked } = fakeFetch(answer)
  return {
    fetch,
    secrets: () => asked.filter((one) => JSON.stringify(one).includes(SECRET)).map(({ path }) => path),
    urls: () => asked.map(({ path }) => path),
  }
}

describe('a redirect', () => {
  test.each(['getTask', 'run'] as const)('takes no headers of a call along: %s', async (operation) => {
    const seen: (string | undefined)[] = []
    const { fetch, secrets } = sentBy(({ path, method, headers }) => {
      if (path.startsWith(EVIL)) seen.push(headers['a2a-version'] as string | undefined)
      const status = { state: 'TASK_STATE_WORKING' }
      return method === 'POST' ? { body: { task: { id: 't', contextId: 'c', status } } } : to(`${EVIL}/steal`)
    })
    const client = new A2AClient({ card: cardAt(HOME, 'HTTP+JSON'), fetch, retry: { attempts: 1 } })
    const headers = { authorization: `Bearer ${SECRET}`, cookie: SECRET }
    if (operation === 'run') expect(await client.run('Hi', { headers })).toMatchObject({ ok: false })
    else await failureOf(client.getTask('t', { headers }))
    expect(secrets().every((url) => url.startsWith(HOME))).toBe(true)
    expect(secrets()).not.toEqual([])
    expect(seen).toContain('1.0')
  })

  test.each<[string, (fetch: Fetch) => Promise<unknown>]>([
    ['connect', (fetch) => A2AClient.connect(HOME, { fetch, auth: bearerAuth(SECRET) })],
    ['connect with headers', (fetch) => A2AClient.connect(HOME, { fetch, headers: { cookie: SECRET } })],
    ['fetchAgentCard', (fetch) => fetchAgentCard(HOME, { fetch, auth: bearerAuth(SECRET) })],
    [
      'RemoteAgent',
      async (fetch) => {
        const options = { name: 'a', cardUrl: HOME, fetch, auth: bearerAuth(SECRET) }
        await new RemoteAgent(options).processMessage([{ role: 'user', content: 'Hi' }])
      },
    ],
  ])('does not show where credentials go: %s', async (_, connect) => {
    const { fetch, secrets, urls } = sentBy(({ path }) =>
      path.startsWith(HOME) ? to(`${EVIL}/card.json`) : { body: cardAt(`${EVIL}/rpc`) },
    )
    expect(await failureOf(connect(fetch))).toMatchObject({ code: 'EXTERNAL_SERVICE_ERROR' })
    expect(urls().every((url) => url.startsWith(HOME))).toBe(true)
    expect(secrets()).toEqual(urls())
  })

  test('of a card is followed if no credentials can be lost', async () => {
    const { fetch } = sentBy(({ path }) =>
      path.startsWith(HOME) ? to(`${EVIL}/card.json`) : { body: cardAt(`${EVIL}/rpc`) },
    )
    expect((await A2AClient.connect(HOME, { fetch })).interface.url).toBe(`${EVIL}/rpc`)
  })

  test.each(['RemoteAgent', 'invokeRemoteAgent'])(
    'nor a card of https sends them in the clear: %s',
    async (which) => {
      const { fetch, secrets, urls } = sentBy(({ path }) =>
        path.includes('.well-known') ? { body: cardAt(`${EVIL}/rpc`) } : { status: 404 },
      )
      const auth = bearerAuth(SECRET)
      if (which === 'invokeRemoteAgent') {
        await invokeRemoteAgent(HOME, 'Hi', { fetch, auth, protocol: 'auto' })
      } else {
        const agent = new RemoteAgent({ name: 'a', cardUrl: HOME, fetch, auth })
        await failureOf(agent.processMessage([{ role: 'user', content: 'Hi' }]))
      }
      expect(urls().length).toBeGreaterThan(1)
      expect(secrets().filter((url) => url.startsWith(EVIL))).toEqual([])
    },
  )

  test('sends no credentials when it returns to the first origin', async () => {
    const hops = [to(EVIL), to(`${HOME}/admin`), { status: 401 }]
    let renewed = 0
    const auth = { ...bearerAuth(SECRET), renew: () => (renewed += 1) > 0 }
    const { fetch, secrets, urls } = sentBy(() => hops.shift() ?? {})
    expect((await get({ fetch, auth, headers: { cookie: SECRET } })).status).toBe(401)
    expect(urls()).toEqual([`${HOME}/`, `${EVIL}/`, `${HOME}/admin`])
    expect(secrets()).toEqual([`${HOME}/`])
    expect(renewed).toBe(0)
  })

  test.each([
    'file:///etc/passwd',
    'data:application/json,{}',
    `https://me:${SECRET}@good.example/`,
    'https://',
  ])('does not lead to %s', async (location) => {
    const { fetch, urls } = sentBy(() => to(location))
    const error = await failureOf(get({ fetch }))
    expect(error).toMatchObject({ code: 'EXTERNAL_SERVICE_ERROR', data: { status: 302 } })
    expect(String(error)).not.toContain(SECRET)
    expect(urls()).toHaveLength(1)
  })
})

describe('a URL', () => {
  test.each([
    ['localhost:3000', '"localhost:" is not an http or https URL: is http:// missing?'],
    ['data:application/json,{}', '"data:" is not an http or https URL: is http:// missing?'],
    ['agent', '"agent" is not an http or https URL: is http:// missing?'],
    [`https://me:${SECRET}@h/`, '"https://h/" holds credentials: use auth'],
  ])('%s is refused before it is asked', async (url, message) => {
    const { fetch, urls } = sentBy(() => ({}))
    expect(await failureOf(get({ fetch }, url))).toMatchObject({ code: 'URL_BLOCKED', message })
    const code = /^\w+:[^\d]/.test(url) ? 'URL_BLOCKED' : 'INVALID_PARAMS'
    expect(await failureOf(A2AClient.connect(url, { fetch }))).toMatchObject({ code })
    expect(urls()).toEqual([])
  })

  test.each([
    `https://user:p@${SECRET}@h/`,
    `https:/user:${SECRET}@h`,
    `https://h:${SECRET}/x`,
    `https://user:${SECRET}@[::1`,
    `https://h/?key=${SECRET}`,
    `https://h/#${SECRET}`,
    `mailto:${SECRET}`,
    `//user:${SECRET}@h`,
  ])('is shown without its secret: %s', async (url) => {
    expect(shownUrl(url)).not.toContain(SECRET)
    const broken = failureOf(get({ fetch: () => Promise.reject(new Error('down')) }, url))
    const agent = new RemoteAgent({ name: 'a', cardUrl: url, fetch: () => Promise.reject(new Error('down')) })
    const guard = failureOf(
      Promise.resolve()
        .then(() => validateUrl(url))
        .then(() => Promise.reject(Error())),
    )
    for (const error of await Promise.all([broken, failureOf(agent.card()), guard])) {
      expect(`${String(error)} ${JSON.stringify(error)}`).not.toContain(SECRET)
    }
  })

  test('with many slashes takes no time', async () => {
    const url = `https://h${'/'.repeat(200_000)}x`
    const taken = await cpuMs(async () => {
      expect(trimSlashes(`${url}//`)).toBe(url)
      new AgentCardCache().delete(url)
      const { fetch } = sentBy(() => ({ status: 404 }))
      await failureOf(fetchAgentCard(url, { fetch }))
      await invokeRemoteAgent(url, 'Hi', { fetch })
      expect(new RemoteAgent({ name: 'a', cardUrl: url }).cardUrl).toBe(url)
    })
    expect(taken).toBeLessThan(2_000)
  })
})

describe('a header that cannot be sent', () => {
  test.each<[string, HttpOptions]>([
    ['a line break', { headers: { authorization: `Bearer ${SECRET}\nx` } }],
    ['other letters', { headers: { authorization: `${SECRET}日本` } }],
    ['no name', { headers: { 'a b': SECRET } }],
  ])('is a typed error without the value: %s', async (_, options) => {
    const { fetch, urls } = sentBy(() => ({}))
    const error = await failureOf(get({ fetch, ...options }))
    expect(error).toMatchObject({ code: 'INVALID_PARAMS', data: { path: 'headers' } })
    expect(`${String(error)} ${JSON.stringify(error)}`).not.toContain(SECRET)
    const client = new A2AClient({ card: cardAt(HOME), fetch })
    expect(await failureOf(client.getTask('t', options))).toMatchObject({ code: 'INVALID_PARAMS' })
    expect(urls()).toEqual([])
  })
})

test('a key in a query does not appear in the error of a fetch that shows its URL', async () => {
  const auth = apiKeyAuth({ name: 'key', value: SECRET, in: 'query' })
  const fetch: Fetch = (url) => Promise.reject(new TypeError(`request to ${url} failed, reason: gone`))
  const error = await failureOf(get({ fetch, auth }))
  expect(error).toMatchObject({ message: expect.stringContaining('failed, reason: gone') as unknown })
  expect(`${String(error)} ${JSON.stringify(error)}`).not.toContain(SECRET)
})

describe('what a part of the caller’s throws', () => {
  const cause = new Error(SECRET)
  const fail = (): never => {
    throw cause
  }

  test('is the cause of a typed error', async () => {
    const { fetch } = sentBy(() => ({ status: 401 }))
    const renewing: Authenticator = { apply: () => undefined, renew: fail }
    for (const auth of [bearerAuth(fail), bearerAuth(() => Promise.reject(cause)), renewing]) {
      const error = await failureOf(get({ fetch, auth }))
      expect(error).toMatchObject({ code: 'UNAUTHENTICATED', cause })
      expect(String(error)).not.toContain(SECRET)
    }
    expect(await failureOf(get({ fetch, urlGuard: fail }))).toMatchObject({ code: 'URL_BLOCKED', cause })
    const cache = new AgentCardCache()
    let isOpen = true
    const options = { cache, fetch: sentBy(() => ({ body: cardAt(HOME) })).fetch }
    const guard = (): void => {
      if (!isOpen) fail()
    }
    await fetchAgentCard(HOME, { ...options, urlGuard: guard })
    isOpen = false
    expect(await failureOf(fetchAgentCard(HOME, { ...options, urlGuard: guard }))).toMatchObject({
      code: 'URL_BLOCKED',
      cause,
    })
  })

  test('ends a run with its handle', async () => {
    const { fetch } = sentBy(() => ({}))
    const client = new A2AClient({ card: cardAt(HOME), fetch, auth: bearerAuth(fail) })
    expect(await client.run('Hi')).toMatchObject({ type: 'error', error: { code: 'UNAUTHENTICATED', cause } })
  })

  test('closes the connection', async () => {
    let hasLeft = false
    const body = (): ReadableStream => new ReadableStream({ cancel: () => void (hasLeft = true) })
    const fetch: Fetch = () => Promise.resolve(new Response(body(), { status: 401 }))
    await failureOf(get({ fetch, auth: { apply: () => undefined, renew: fail } }))
    expect(hasLeft).toBe(true)
  })
})

describe('a token endpoint', () => {
  const login = (answer: Answerer): { clock: ManualClock; token: () => Promise<string | null> } => {
    const clock = new ManualClock()
    const { fetch } = fakeFetch(answer)
    const auth = clientCredentialsAuth({
      ...{ tokenUrl: HOME, clientId: 'me', clientSecret: SECRET },
      ...{ fetch, clock },
    })
    return {
      clock,
      async token() {
        const headers = new Headers()
        await auth.apply({ url: new URL(HOME), headers })
        return headers.get('authorization')
      },
    }
  }

  test.each<Reply>([{ body: {} }, { body: '<html>' }, { status: 302 }])(
    'that refreshes with %j is asked again',
    async (useless) => {
      let count = 0
      const { clock, token } = login(({ body }) =>
        body.includes('refresh_token')
          ? useless
          : { body: { access_token: `t${(count += 1)}`, expires_in: 60, refresh_token: 'r' } },
      )
      expect(await token()).toBe('Bearer t1')
      clock.advance(60_000)
      expect(await token()).toBe('Bearer t2')
    },
  )

  test('is asked for a new token when the old one has expired', async () => {
    let count = 0
    const { token } = login(() => ({ body: { access_token: `t${(count += 1)}`, expires_in: -1 } }))
    expect([await token(), await token()]).toEqual(['Bearer t1', 'Bearer t2'])
  })

  test('that breaks texts and numbers is a typed error, or none', async () => {
    const failing = login(() => ({ body: { access_token: 't', token_type: TRAP } }))
    expect(await failureOf(failing.token())).toMatchObject({ code: 'EXTERNAL_SERVICE_ERROR' })
    const { token } = login(() => ({ body: { access_token: 't', expires_in: TRAP } }))
    expect(await token()).toBe('Bearer t')
  })
})

describe('an agent that breaks texts', () => {
  test.each<[string, unknown, unknown]>([
    ['of its state', { id: 't' }, { state: TRAP }],
    ['of its id', '{"id":"\\ud800"}', {}],
  ])('%s ends no invocation with another error', async (_, submitted, polled) => {
    const clock = new ManualClock()
    const { fetch } = sentBy(({ method }) => ({ body: method === 'POST' ? submitted : polled }))
    const result = invokeRemoteAgent(HOME, 'Hi', { fetch, clock, timeoutMs: 10 })
    await settle()
    clock.advance(10)
    expect(await result).toMatchObject({ success: false })
  })

  test.each<[string, object, unknown]>([
    ['in its card', { supportedInterfaces: [{ protocolBinding: TRAP }], preferredTransport: TRAP }, {}],
    ['in its error', { supportedProtocols: ['jsonrpc'] }, { error: { message: TRAP } }],
    ['in its state', { supportedProtocols: ['jsonrpc'] }, { result: { status: { state: TRAP } } }],
  ])('%s is asked by chat, or has nothing to say', async (_, card, answer) => {
    const chat = { choices: [{ message: { content: 'By chat' } }] }
    const { fetch } = sentBy(({ path, method }) => ({
      body: method === 'GET' ? { name: 'a', ...card } : path.endsWith('/completions') ? chat : answer,
    }))
    const faults: unknown[] = []
    const onFallback = (error: unknown): void => void faults.push(error)
    const agent = new RemoteAgent({ name: 'a', cardUrl: HOME, fetch, onFallback })
    expect(['By chat', '']).toContain(await agent.processMessage([{ role: 'user', content: 'Hi' }]))
    for (const fault of faults) expect(fault).toMatchObject({ code: 'EXTERNAL_SERVICE_ERROR' })
  })
})

test('a task that takes too long is canceled before the chat begins', async () => {
  const clock = new ManualClock()
  const methods: string[] = []
  const { fetch } = sentBy(({ path, body, method }) => {
    if (method === 'GET') return { body: cardAt(`${HOME}/rpc`) }
    if (path.endsWith('/completions')) {
      methods.push('chat')
      return { body: { choices: [{ message: { content: 'By chat' } }] } }
    }
    const { method: called, id } = JSON.parse(body) as { method: string; id: number }
    methods.push(called)
    const state = called === 'CancelTask' ? 'TASK_STATE_CANCELED' : 'TASK_STATE_WORKING'
    const task = { id: 't', contextId: 'c', status: { state } }
    return { body: { jsonrpc: '2.0', id, result: called === 'SendMessage' ? { task } : task } }
  })
  const agent = new RemoteAgent({ name: 'a', cardUrl: HOME, fetch, clock, timeoutMs: 100 })
  const answer = agent.processMessage([{ role: 'user', content: 'Hi' }])
  await settle()
  clock.advance(100)
  expect(await answer).toBe('By chat')
  expect(methods.slice(-2)).toEqual(['CancelTask', 'chat'])
  expect(clock.pending).toBe(0)
})

describe('urlGuard', () => {
  test.each([
    ...['kubernetes.default.svc', 'a.test', '1.0.0.10.in-addr.arpa', 'x.onion', 'a.svc.cluster.local'],
  ])('blocks %s', (host) => {
    expect(() => validateUrl(`http://${host}/`)).toThrow(`${host} is`)
  })

  test.each([['*'], ['*.x.com'], [null], [5], ['x:99999'], ['']])('takes no %j for a host', (entry) => {
    expect(() => urlGuard({ allow: [entry as string] })).toThrow(RangeError)
  })

  test.each([null, 'abc', [5], [TRAP], {}])('takes no %j for addresses', async (given) => {
    const guard = urlGuard({ resolve: () => Promise.resolve(given as string[]) })
    const failing = failureOf(Promise.resolve(guard(new URL('https://a.example/'))))
    expect(await failing).toMatchObject({ code: 'URL_BLOCKED' })
  })

  test.each([undefined, null, 5])('takes no %j for a URL', (given) => {
    expect(() => validateUrl(given as unknown as string)).toThrow(/^Invalid URL/)
  })
})
