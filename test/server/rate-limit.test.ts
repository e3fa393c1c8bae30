/** The rate limit of a handler: who is limited, what counts, and when the next request succeeds. */
import { createRequestHandler, type RequestHandlerOptions } from 'a2a-tasks/server'
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'
import {
  as,
  authenticate,
  BINDINGS,
  call,
  get,
  jsonRpc,
  ORIGIN,
  refused,
  user,
} from './spec/support/agent.js'

function limited(options: Partial<RequestHandlerOptions> = {}) {
  const clock = new ManualClock()
  const handler = createRequestHandler({
    card: { name: 'A', url: ORIGIN },
    execute: () => 'done',
    rateLimit: { requests: 2, perMs: 60_000 },
    clock,
    authenticate,
    ...options,
  })
  return { handler, clock }
}

describe.each(BINDINGS)('$name: a rate limit', (binding) => {
  test('refuses a request with the true time until the next one', async () => {
    const a = limited()
    const read = (name: string) => call(binding, a, 'GetTask', { id: 'x' }, as(name))
    for (let count = 0; count < 2; count++) expect((await read('ada')).error?.reason).toBe('TASK_NOT_FOUND')
    const { response, error } = await read('ada')
    expect(error).toMatchObject({ reason: 'RATE_LIMITED' })
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '30'])
    a.clock.advance(29_999)
    expect((await read('ada')).response.headers.get('retry-after')).toBe('1')
    a.clock.advance(1)
    expect((await read('ada')).error?.reason).toBe('TASK_NOT_FOUND')
    expect((await read('bob')).error?.reason).toBe('TASK_NOT_FOUND')
  })

  test('counts messages and streams, and no cards', async () => {
    const a = limited()
    for (let count = 0; count < 5; count++) {
      expect((await a.handler.fetch(get('/.well-known/agent-card.json'))).status).toBe(200)
    }
    await call(binding, a, 'SendMessage', { message: user('x') }, as('ada'))
    await a.handler.fetch(binding.request('SendStreamingMessage', { message: user('x') }, as('ada')))
    const { reason } = await refused(binding, a, 'SendMessage', { message: user('x') }, as('ada'))
    expect(reason).toBe('RATE_LIMITED')
  })

  test('does not let a client escape by naming other tenants', async () => {
    const a = limited()
    const reasons: (string | undefined)[] = []
    for (const tenant of ['a', 'b', 'c']) {
      reasons.push((await call(binding, a, 'GetTask', { id: 'x', tenant }, as('ada'))).error?.reason)
    }
    expect(reasons).toEqual(['TASK_NOT_FOUND', 'TASK_NOT_FOUND', 'RATE_LIMITED'])
  })

  test('does not count requests that are not authenticated, which get 401', async () => {
    const a = limited()
    for (let count = 0; count < 5; count++) {
      expect((await call(binding, a, 'GetTask', { id: 'x' })).response.status).toBe(401)
    }
  })

  test('is one for all callers without a principal', async () => {
    const a = limited({ authenticate: undefined })
    const reasons: (string | undefined)[] = []
    for (let count = 0; count < 3; count++) {
      reasons.push((await call(binding, a, 'GetTask', { id: 'x' })).error?.reason)
    }
    expect(reasons).toEqual(['TASK_NOT_FOUND', 'TASK_NOT_FOUND', 'RATE_LIMITED'])
  })

  test('counts by the principal that a middleware passes', async () => {
    const a = limited({ authenticate: undefined })
    const statuses: number[] = []
    for (const id of ['ada', 'ada', 'ada', 'bob']) {
      const request = binding.request('GetTask', { id: 'x' })
      statuses.push((await a.handler.fetch(request, { principal: { id } })).status)
    }
    const ok = binding === jsonRpc ? 200 : 404
    expect(statuses).toEqual([ok, ok, 429, ok])
  })
})

test('a rate limit holds for dispatch, whose answer has the id of the request', async () => {
  const { handler } = limited({ rateLimit: { requests: 1, perMs: 1_000 } })
  const body = { jsonrpc: '2.0', id: 7, method: 'GetTask', params: { id: 'x' } }
  const principal = { id: 'ada' }
  expect(await handler.dispatch(body, { principal })).toMatchObject({ id: 7, error: { code: -32001 } })
  expect(await handler.dispatch(body, { principal })).toMatchObject({ id: 7, error: { code: -32603 } })
})

test.each([
  [{ requests: 0, perMs: 1 }, '"rateLimit.requests" must be a positive integer, got 0'],
  [{ requestsPerMinute: 1 }, 'Unknown option "rateLimit.requestsPerMinute" of createRequestHandler'],
  ['60/min', '"rateLimit" must be an object'],
])('a rate limit of %j is refused', (rateLimit, text) => {
  expect(() => limited({ rateLimit: rateLimit as never })).toThrow(text)
})
