import { inspect } from 'node:util'
import { A2AError } from 'a2a-tasks'
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'
import { apiKeyAuth, bearerAuth, clientCredentialsAuth, type ClientCredentials } from '../../src/http/auth.js'
import type { Authenticator } from '../../src/http/authenticator.js'
import { request, toHttpSettings, type Answer } from '../../src/http/request.js'
import type { Fetch } from '../../src/runtime/fetch.js'
import { urlGuard } from '../../src/http/url-guard.js'
import { failureOf, fakeFetch, settle, site, type Answerer, type FakeFetch } from './support/http.js'

const AGENT = 'https://agent.example.com/'
const TOKENS = 'https://login.example.com/token'
const SECRET = 'hunter2-s3cret'

function get(auth: Authenticator, fetch?: Fetch, url = AGENT): Promise<Answer> {
  return request(toHttpSettings({ fetch, auth }, 10_000), { method: 'GET', url }, { timeoutMs: 5000 })
}

/** All that a log, a debugger or a serializer could tell of it. */
function visibleTextOf(value: unknown): string {
  const { stack = '', cause } = value instanceof Error ? value : {}
  const rest = cause === undefined ? '' : visibleTextOf(cause)
  return (
    inspect(value, { depth: Infinity, showHidden: true }) +
    JSON.stringify(value) +
    String(value) +
    stack +
    rest
  )
}

describe('bearerAuth', () => {
  test('sends its token', async () => {
    const { fetch, asked } = fakeFetch(() => ({}))
    await get(bearerAuth('abc'), fetch)
    expect(asked[0]?.headers['authorization']).toBe('Bearer abc')
  })

  test('asks a function for every request, and again when the token is refused', async () => {
    const tokens = ['one', 'two', 'three', 'three']
    const auth = bearerAuth(() => Promise.resolve(tokens.shift() ?? ''))
    const { fetch, asked } = fakeFetch(({ headers }) => ({
      status: headers['authorization'] === 'Bearer one' ? 401 : 200,
    }))
    expect((await get(auth, fetch)).status).toBe(200)
    expect(asked.map(({ headers }) => headers['authorization'])).toEqual(['Bearer one', 'Bearer three'])
    await get(auth, fetch)
    expect(asked).toHaveLength(3)
  })

  test('does not repeat a request with a token that was refused', async () => {
    const { fetch, asked } = fakeFetch(() => ({ status: 401 }))
    expect(
      (
        await get(
          bearerAuth(() => 'same'),
          fetch,
        )
      ).status,
    ).toBe(401)
    expect((await get(bearerAuth('same'), fetch)).status).toBe(401)
    expect(asked).toHaveLength(2)
  })

  test.each(['', 'two words', 'line\nbreak', 'ünïcode'])(
    'refuses %j, and does not repeat it',
    async (token) => {
      const error = await failureOf(
        get(
          bearerAuth(() => token),
          fakeFetch(() => ({})).fetch,
        ),
      )
      expect(error).toMatchObject({ code: 'INVALID_PARAMS' })
      expect(() => bearerAuth(token)).toThrow(
        /^token (is required|has characters that a request cannot contain)$/,
      )
      if (token !== '') expect(visibleTextOf(error)).not.toContain(token)
    },
  )

  test('keeps its token from other origins, and from the printer', async () => {
    const other = await site(() => ({}))
    const home = await site(() => ({ status: 307, headers: { location: other.url } }))
    const auth = bearerAuth(SECRET)
    await get(auth, undefined, home.url)
    expect(home.asked[0]?.headers.authorization).toBe(`Bearer ${SECRET}`)
    expect(other.asked[0]?.headers.authorization).toBeUndefined()
    expect(visibleTextOf(auth) + visibleTextOf(bearerAuth(() => SECRET))).not.toContain(SECRET)
  })

  test('is not renewed when another origin, which did not get it, refuses', async () => {
    const other = await site(() => ({ status: 401 }))
    const home = await site(() => ({ status: 307, headers: { location: other.url } }))
    let calls = 0
    const answer = await get(
      bearerAuth(() => `token-${(calls += 1)}`),
      undefined,
      home.url,
    )
    expect([answer.status, calls, other.asked.length]).toEqual([401, 1, 1])
  })
})

describe('apiKeyAuth', () => {
  test('puts its key where the option says', async () => {
    const { fetch, asked } = fakeFetch(() => ({}))
    await get(apiKeyAuth({ name: 'X-Api-Key', value: 'k 1', in: 'header' }), fetch)
    await get(apiKeyAuth({ name: 'api key', value: 'k&1=ü', in: 'query' }), fetch, `${AGENT}?a=b`)
    await get(apiKeyAuth({ name: 'key', value: 'k1', in: 'cookie' }), fetch)
    expect(asked.map(({ headers, path }) => [headers['x-api-key'], path, headers['cookie']])).toEqual([
      ['k 1', AGENT, undefined],
      [undefined, `${AGENT}?a=b&api+key=k%261%3D%C3%BC`, undefined],
      [undefined, AGENT, 'key=k1'],
    ])
  })

  test('adds its cookie to others', async () => {
    const { fetch, asked } = fakeFetch(() => ({}))
    const auth = apiKeyAuth({ name: 'key', value: 'k1', in: 'cookie' })
    const settings = toHttpSettings({ fetch, auth, headers: { cookie: 'a=b' } }, 100)
    await request(settings, { method: 'GET', url: AGENT }, { timeoutMs: 100 })
    expect(asked[0]?.headers['cookie']).toBe('a=b; key=k1')
  })

  test('shows its key in no error and no answer', async () => {
    const auth = apiKeyAuth({ name: 'key', value: SECRET, in: 'query' })
    const broken: Fetch = () => Promise.reject(new TypeError('fetch failed'))
    expect(visibleTextOf(await failureOf(get(auth, broken))) + visibleTextOf(auth)).not.toContain(SECRET)
    expect((await get(auth, fakeFetch(() => ({})).fetch)).url).toBe(AGENT)
  })

  test.each([
    [{ name: 'a b', value: 'x', in: 'header' }, 'name has characters that a request cannot contain'],
    [
      { name: 'a', value: `${SECRET}\r\nx: y`, in: 'header' },
      'value has characters that a request cannot contain',
    ],
    [
      { name: 'a', value: `${SECRET}; b=c`, in: 'cookie' },
      'value has characters that a request cannot contain',
    ],
    [{ name: '', value: 'x', in: 'query' }, 'name is required'],
  ] as const)('refuses %j', (key, message) => {
    expect(() => apiKeyAuth(key)).toThrow(message)
  })
})

interface Login extends FakeFetch {
  readonly clock: ManualClock
  readonly auth: Authenticator
  readonly forms: () => Record<string, string>[]
  /** The token that a request is sent with now. */
  readonly token: () => Promise<string | null>
}

function login(answer: Answerer, options: Partial<ClientCredentials> = {}): Login {
  const clock = new ManualClock()
  const { fetch, asked } = fakeFetch(answer)
  const credentials = { tokenUrl: TOKENS, clientId: 'me', clientSecret: SECRET, fetch, clock }
  const auth = clientCredentialsAuth({ ...credentials, ...options })
  return {
    clock,
    fetch,
    asked,
    auth,
    forms: () => asked.map(({ body }) => Object.fromEntries(new URLSearchParams(body))),
    async token() {
      const headers = new Headers()
      await auth.apply({ url: new URL(AGENT), headers })
      return headers.get('authorization')
    },
  }
}

/** Tokens t1, t2, … */
function counting(fields: object = { expires_in: 3600 }): Answerer {
  let count = 0
  return () => ({ body: { access_token: `t${(count += 1)}`, token_type: 'bearer', ...fields } })
}

describe('clientCredentialsAuth asks for a token', () => {
  test('with its credentials in the header', async () => {
    const { token, asked, forms } = login(counting(), {
      ...{
        clientId: 'a:b',
        clientSecret: 'ü %',
        scope: 'read write',
        audience: 'agents',
        params: { resource: 'r' },
      },
    })
    expect(await token()).toBe('Bearer t1')
    expect(asked[0]).toMatchObject({
      method: 'POST',
      path: TOKENS,
      headers: {
        authorization: `Basic ${btoa('a%3Ab:%C3%BC+%25')}`,
        'content-type': 'application/x-www-form-urlencoded',
        accept: 'application/json',
      },
    })
    const grant = { grant_type: 'client_credentials', scope: 'read write', audience: 'agents', resource: 'r' }
    expect(forms()).toEqual([grant])
  })

  test('with its credentials in the body', async () => {
    const { token, asked, forms } = login(counting(), { clientAuthentication: 'body' })
    await token()
    expect(forms()).toEqual([{ grant_type: 'client_credentials', client_id: 'me', client_secret: SECRET }])
    expect(asked[0]?.headers).not.toHaveProperty('authorization')
  })

  test.each([
    ['until 30 s before its end', { expires_in: 3600 }, 3_569_999],
    ['which says so as text', { expires_in: '3600' }, 3_569_999],
    ['until the middle of a short life', { expires_in: 40 }, 19_999],
    ['for ever when it has no end', {}, 31_536_000_000],
  ])('and uses it %s', async (_, fields, ms) => {
    const { token, clock, asked } = login(counting(fields))
    expect(await token()).toBe('Bearer t1')
    clock.advance(ms)
    expect(await token()).toBe('Bearer t1')
    expect(asked).toHaveLength(1)
    if ('expires_in' in fields) {
      clock.advance(1)
      expect(await token()).toBe('Bearer t2')
    }
  })

  test('once, however many requests need it', async () => {
    const { token, clock, asked } = login(counting())
    const together = (): Promise<unknown[]> => Promise.all(Array.from({ length: 20 }, token))
    expect(new Set(await together())).toEqual(new Set(['Bearer t1']))
    clock.advance(3_600_000)
    expect(new Set(await together())).toEqual(new Set(['Bearer t2']))
    expect(asked).toHaveLength(2)
  })

  test('by its refresh token, the latest one', async () => {
    const answers = [
      { access_token: 't1', expires_in: 60, refresh_token: 'r1' },
      { access_token: 't2', expires_in: 60, refresh_token: 'r2' },
      { access_token: 't3', expires_in: 60 },
      { access_token: 't4', expires_in: 60 },
    ]
    const { token, clock, forms } = login(() => ({ body: answers.shift() }))
    for (const expected of ['t1', 't2', 't3', 't4']) {
      expect(await token()).toBe(`Bearer ${expected}`)
      clock.advance(60_000)
    }
    expect(forms().map((form) => form['refresh_token'])).toEqual([undefined, 'r1', 'r2', 'r2'])
    expect(forms()[1]).toEqual({ grant_type: 'refresh_token', refresh_token: 'r1' })
  })

  test('by its credentials when the refresh token is spent', async () => {
    const { token, clock, forms } = login(({ body }) =>
      body.includes('refresh_token')
        ? { status: 400, body: { error: 'invalid_grant' } }
        : { body: { access_token: 't', expires_in: 60, refresh_token: 'r' } },
    )
    await token()
    clock.advance(60_000)
    expect(await token()).toBe('Bearer t')
    expect(forms().map((form) => form['grant_type'])).toEqual([
      'client_credentials',
      'refresh_token',
      'client_credentials',
    ])
  })
})

describe('a token that the agent refuses', () => {
  test('is renewed once for all requests that were refused, early or late', async () => {
    const { auth, asked } = login(counting())
    const agent = await site(({ headers }) => ({ status: headers.authorization === 'Bearer t1' ? 401 : 200 }))
    const answers = await Promise.all(Array.from({ length: 10 }, () => get(auth, undefined, agent.url)))
    expect(answers.every(({ status }) => status === 200)).toBe(true)
    expect(asked).toHaveLength(2)
    const late = { url: new URL(agent.url), headers: new Headers({ authorization: 'Bearer t1' }) }
    expect(await auth.renew?.(late)).toBe(true)
    expect(asked).toHaveLength(2)
  })

  test('is the end when the next one is refused as well', async () => {
    const { auth, asked } = login(counting())
    const { fetch, asked: requests } = fakeFetch(() => ({ status: 401 }))
    expect((await get(auth, fetch)).status).toBe(401)
    expect([asked.length, requests.length]).toEqual([2, 2])
  })
})

describe('a server that gives no token', () => {
  const TOKEN = 'top-s3cret-token'

  test.each<[string, ReturnType<Answerer>, string]>([
    ['refuses', { status: 401, body: { error: 'invalid_client' } }, 'HTTP 401 invalid_client'],
    ['repeats the secret', { status: 400, body: { error: SECRET, error_description: SECRET } }, 'HTTP 400'],
    ['repeats it in a header', { status: 302, headers: { 'x-echo': SECRET } }, 'HTTP 302'],
    ['is out of order', { status: 503, body: SECRET }, 'HTTP 503'],
    ['speaks no JSON', { body: `access_token=${TOKEN}&x=${SECRET}` }, 'its answer has no access_token'],
    ['gives an object', { body: { access_token: { token: TOKEN } } }, 'its answer has no access_token'],
    [
      'gives what no header holds',
      { body: { access_token: `${TOKEN}\n` } },
      'its answer has no access_token',
    ],
    ['gives another type', { body: { access_token: TOKEN, token_type: 'DPoP' } }, 'it is not a bearer token'],
  ])('%s', async (_, reply, reason) => {
    const { token } = login(() => reply)
    const error = await failureOf(token())
    expect(error).toMatchObject({
      code: 'EXTERNAL_SERVICE_ERROR',
      message: `OAuth: No token from ${TOKENS}: ${reason}`,
      data: { service: 'OAuth', url: TOKENS },
    })
    expect(visibleTextOf(error)).not.toMatch(new RegExp(`${SECRET}|${TOKEN}`))
  })

  test('is asked again by the next request', async () => {
    let isUp = false
    const { token, asked } = login((one) => (isUp ? counting()(one) : { status: 500 }))
    const failures = await Promise.all([failureOf(token()), failureOf(token())])
    expect([A2AError.is(failures[0]), failures[0], asked.length]).toEqual([true, failures[1], 1])
    isUp = true
    expect(await token()).toBe('Bearer t1')
  })

  test('is not waited for longer than 10 s', async () => {
    const { token, clock } = login(() => 'never')
    const failed = failureOf(token())
    await settle()
    clock.advance(9_999)
    expect(clock.pending).toBe(1)
    clock.advance(1)
    expect(await failed).toMatchObject({ code: 'REQUEST_TIMED_OUT', data: { timeoutMs: 10_000 } })
  })

  test('does not keep a caller that has aborted: the others get their token', async () => {
    const { auth, asked } = login(counting())
    const leaving = new AbortController()
    const settings = toHttpSettings({ fetch: fakeFetch(() => ({})).fetch, auth }, 100)
    const call = { method: 'GET', url: AGENT } as const
    const gone = failureOf(request(settings, call, { timeoutMs: 100, signal: leaving.signal }))
    const other = request(settings, call, { timeoutMs: 100 })
    leaving.abort()
    expect(await gone).toMatchObject({ code: 'REQUEST_ABORTED' })
    expect([(await other).status, asked.length]).toEqual([200, 1])
  })

  test('receives no request where the guard blocks it', async () => {
    const { token, asked } = login(counting(), { tokenUrl: 'http://169.254.169.254/', urlGuard: urlGuard() })
    expect(await failureOf(token())).toMatchObject({ code: 'URL_BLOCKED' })
    expect(asked).toEqual([])
  })

  test('gets the secret, and no other server does', async () => {
    const { auth, token } = login(counting())
    await token()
    expect(visibleTextOf(auth)).not.toMatch(new RegExp(`${SECRET}|t1`))
    const broken = login(() => {
      throw new TypeError('fetch failed', { cause: new Error('ECONNREFUSED') })
    })
    const error = await failureOf(broken.token())
    expect(error).toMatchObject({ code: 'EXTERNAL_SERVICE_ERROR' })
    expect(visibleTextOf(error)).not.toContain(SECRET)
  })
})

test.each<[Partial<ClientCredentials>, string]>([
  [{ clientSecret: '' }, '"clientSecret" must not be empty'],
  [{ tokenUrl: undefined as unknown as string }, '"tokenUrl" must be a string, got undefined'],
  [{ timeoutMs: -1 }, '"timeoutMs" must be a positive number, got -1'],
  [{ expirySkewMs: NaN }, '"expirySkewMs" must be a positive number, got NaN'],
  [{ secret: SECRET } as object, 'Unknown option "secret" of clientCredentialsAuth'],
])('clientCredentialsAuth refuses %j', (options, message) => {
  expect(() => login(counting(), options)).toThrow(message)
})
