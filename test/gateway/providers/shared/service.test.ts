/** Requests to an agent's service, and what is reported of those that fail. */
import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { A2AError } from 'a2a-tasks'
import { apiKeyAuth, bearerAuth, type Authenticator } from 'a2a-tasks/client'
import type { RegisteredAgent } from '../../../../src/gateway/registry/agent.js'
import { Service, type ServiceOptions } from '../../../../src/gateway/providers/shared/service.js'
import { site, type Answerer } from '../../../http/support/http.js'
import { agentAt, calling, fault, nowhere } from '../a2a/support/a2a.js'

const SECRET = 's3cret-token'

function agentWith(url: string, auth?: Authenticator): RegisteredAgent {
  return agentAt(url, { endpoint: { url, timeoutMs: 5_000, ...(auth && { auth }) } })
}

/** The error of a GET. */
async function refusal(
  answer: Answerer,
  { auth, ...options }: ServiceOptions & { auth?: Authenticator } = {},
): Promise<A2AError> {
  const { url } = await site(answer)
  const service = new Service('some', agentWith(url, auth), options)
  return await fault(service.send({ method: 'GET', path: '/runs?key=k' }, calling()))
}

describe('an answer that is refused', () => {
  it('is reported with its status, and its text only in the data, on one line', async () => {
    const body = 'bad request\r\n\u001b[31mFAKE LOG LINE\u2028\u202e'
    const error = await refusal(() => ({ status: 400, body }))
    expect(error).toMatchObject({
      code: 'PROVIDER_ERROR',
      message: 'Provider some of agent agent-1: HTTP 400',
      data: { status: 400, retryable: false, reason: 'HTTP 400: bad request [31mFAKE LOG LINE' },
    })
    expect((await refusal(() => ({ status: 503 }))).data).toMatchObject({
      reason: 'HTTP 503',
      retryable: true,
    })
  })

  it.each<[string, ServiceOptions & { auth?: Authenticator }]>([
    ['a token', { auth: bearerAuth(SECRET) }],
    ['a key in a header', { auth: apiKeyAuth({ name: 'x-mine', value: SECRET, in: 'header' }) }],
    ['a key in a cookie', { auth: apiKeyAuth({ name: 'sid', value: SECRET, in: 'cookie' }) }],
    ['a key in the query', { auth: apiKeyAuth({ name: 'api_key', value: SECRET, in: 'query' }) }],
    ['what authorize sets', { authorize: ({ headers }) => headers.set('x-signature', SECRET) }],
  ])('and echoes %s has it in no error text', async (_, options) => {
    const whole = await refusal(({ path, headers }) => ({ status: 401, body: { path, headers } }), options)
    expect(inspect(whole, { depth: 9 })).not.toContain(SECRET)
    const bare = await refusal(
      () => ({ status: 401, body: `${'x'.repeat(478)} ${SECRET} is wrong` }),
      options,
    )
    expect(inspect(bare, { depth: 9 })).not.toContain(SECRET.slice(0, 4))
    expect(bare.data).toMatchObject({ reason: expect.stringMatching(/x … is wrong$/) as unknown })
    const noJson = new Service(
      'some',
      agentWith((await site(() => ({ body: SECRET }))).url, options.auth),
      options,
    )
    const answer = await noJson.send({ method: 'GET', path: '/' }, calling())
    const error = expect.not.objectContaining({
      message: expect.stringContaining(SECRET) as unknown,
    }) as unknown
    expect(answer.json).toThrow(error)
    expect(answer.json).toThrow('its answer is not JSON')
  })
})

describe('a service that cannot be reached', () => {
  it('is reported with its URL and the reason, without the query', async () => {
    const url = await nowhere()
    const service = new Service('some', agentWith(url), {})
    const error = await fault(service.send({ method: 'GET', path: '/runs?key=k' }, calling()))
    const reason = `${url}/runs cannot be reached: connect ECONNREFUSED ${url.slice(7)}`
    expect(error).toMatchObject({
      message: `Provider some of agent agent-1: ${reason}`,
      data: { reason, retryable: true },
    })
    expect(inspect(error, { depth: 9 })).not.toContain('A2A: ')
  })

  it('because its host is unknown or blocked is not worth a retry', async () => {
    const elsewhere = await site(() => ({ body: {} }))
    const away = await refusal(() => ({ status: 307, headers: { location: elsewhere.url } }))
    expect(away.data).toMatchObject({ status: 307, retryable: false })
    expect(away.message).toContain('redirects to')
    expect(elsewhere.asked).toEqual([])
    const urlGuard = (): never => {
      throw new Error('Not there')
    }
    expect((await refusal(() => ({}), { urlGuard })).data).toMatchObject({ retryable: false })
  })
})

describe('a path', () => {
  it.each([
    ...[
      '/threads/../runs',
      '/threads/./runs',
      '/threads/..',
      '/../x',
      '/a/%2e%2E/b',
      '/a/.%2e',
      '/a/%252e%252e/b',
    ],
    ...['/a/..%2F..%2Fadmin', '/a\\..\\b', '/a/x%5C..', '/a/..?x=1', 'http://service.test/a/../b'],
  ])('that leads elsewhere is refused: %s', async (path) => {
    const { url, asked } = await site(() => ({ body: {} }))
    const service = new Service('some', agentWith(`${url}/base`), {})
    const message = 'Provider some of agent agent-1: no request goes to a path with "." or ".." in it'
    const ask = (): Promise<unknown> => service.send({ method: 'GET', path }, calling())
    expect(await fault(ask())).toMatchObject({ code: 'PROVIDER_ERROR', data: { retryable: false } })
    await expect(ask()).rejects.toThrow(message)
    await expect(service.texts({ method: 'GET', path }, calling()).next()).rejects.toThrow(message)
    expect(asked).toEqual([])
  })

  it.each(['/', '/threads/a..b/.x', '/v1.0/...', '/a/..b', '/a?path=../b', '/a%20b'])(
    'may be %s',
    async (path) => {
      const { url, asked } = await site(() => ({ body: {} }))
      await new Service('some', agentWith(url), {}).send({ method: 'GET', path }, calling())
      expect(asked[0]?.path).toBe(path)
    },
  )
})

describe('authorize', () => {
  it('that fails is reported by the name of the error, whose text may hold a secret', async () => {
    const error = await refusal(() => ({}), {
      authorize: ({ headers }) => headers.set('authorization', `Bearer ${SECRET}\n!`),
    })
    expect(error.message).toMatch(/There are no credentials: authorize has failed \(TypeError\)$/)
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(SECRET)
  })

  it('may throw an error with its own explanation', async () => {
    const authorize = (): never => {
      throw new A2AError('UNAUTHENTICATED', 'Log in first', {})
    }
    expect((await refusal(() => ({}), { authorize })).message).toMatch(/: Log in first$/)
  })
})
