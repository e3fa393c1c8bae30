/** AgentCardCache: lifetimes, revalidation, isolation of credentials, shared fetches. */
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'
import { bearerAuth } from '../../../src/http/auth.js'
import { AgentCardCache, type AgentCardCacheOptions } from '../../../src/client/cards/card-cache.js'
import { fetchAgentCard, type FetchAgentCardOptions } from '../../../src/client/cards/cards.js'
import type { Fetch } from '../../../src/runtime/fetch.js'
import { failureOf, fakeFetch, settle, site, type Reply } from '../../http/support/http.js'

const BASE = 'https://agent.example.com'
const CARD_URL = `${BASE}/.well-known/agent-card.json`
const CARD = { name: 'Agent', version: '1' }
const MINUTE = 60_000
const HOUR = 60 * MINUTE

function setUp(reply: () => Reply | 'never', options: AgentCardCacheOptions = {}) {
  const clock = new ManualClock()
  const cache = new AgentCardCache(options)
  const { fetch, asked } = fakeFetch(reply)
  const card = (given: FetchAgentCardOptions = {}, base = BASE): Promise<unknown> =>
    fetchAgentCard(base, { fetch, clock, cache, ...given })
  return { clock, cache, fetch, asked, card }
}

function unconnected(): never {
  throw new TypeError('fetch failed')
}

/** A `fetch` that is answered by hand. */
function held(): {
  readonly fetch: Fetch
  /** The first `count` of those who wait. */
  readonly answer: (body: unknown, status?: number, count?: number) => void
  calls: number
} {
  const waiting: ((response: Response) => void)[] = []
  const all = {
    calls: 0,
    fetch: () => {
      all.calls += 1
      return new Promise<Response>((resolve) => waiting.push(resolve))
    },
    answer(body: unknown, status = 200, count = Infinity) {
      for (const resolve of waiting.splice(0, count)) resolve(new Response(JSON.stringify(body), { status }))
    },
  }
  return all
}

describe('how long a card is good without asking', () => {
  test.each<[string | undefined, number, AgentCardCacheOptions?]>([
    [undefined, 5 * MINUTE],
    [undefined, 1000, { softTtlMs: 1000 }],
    [undefined, 1000, { hardTtlMs: 1000 }],
    ['public, max-age=3600', HOUR],
    ['Max-Age=60, must-revalidate', MINUTE],
    ['max-age=31536000', 24 * HOUR],
    ['max-age=31536000', 2000, { hardTtlMs: 2000 }],
    ['max-age="60"', MINUTE],
    ['max-age=soon', 5 * MINUTE],
    ['private', 5 * MINUTE],
  ])('%s: %i ms', async (control, ms, options) => {
    const headers = control === undefined ? {} : { 'cache-control': control }
    const { card, clock, asked } = setUp(() => ({ body: CARD, headers }), options)
    await card()
    clock.advance(ms)
    await card()
    expect(asked).toHaveLength(1)
    clock.advance(1)
    await card()
    expect(asked).toHaveLength(2)
  })

  test.each([
    'max-age=0',
    'no-cache',
    'no-cache="set-cookie", max-age=60',
    'no-store',
    'max-age=60; Age: 60',
  ])('%s: not at all', async (control) => {
    const [cacheControl = '', age = ''] = control.split('; Age: ')
    const { card, asked } = setUp(() => ({ body: CARD, headers: { 'cache-control': cacheControl, age } }))
    await card()
    await card()
    expect(asked).toHaveLength(2)
  })

  test('a card that must not be stored is not, and removes the stored one', async () => {
    const headers: Record<string, string> = {}
    const { card, cache, clock } = setUp(() => ({ body: CARD, headers }))
    await card()
    expect(cache.size).toBe(1)
    headers['cache-control'] = 'no-store'
    clock.advance(6 * MINUTE)
    await card()
    expect(cache.size).toBe(0)
  })

  test('not until a clock that was set back has caught up', async () => {
    const { card, clock, asked } = setUp(() => ({ body: CARD }))
    await card()
    clock.set(clock.now() - HOUR)
    await card()
    expect(asked).toHaveLength(2)
  })
})

describe('after that', () => {
  test('the agent is asked whether it has changed', async () => {
    const modified = 'Sat, 21 Nov 2026 00:00:00 GMT'
    let etag = '"1"'
    const agent = await site(({ headers }) =>
      headers['if-none-match'] === etag
        ? { status: 304 }
        : { body: { ...CARD, version: etag }, headers: { etag, 'last-modified': modified } },
    )
    const { cache, clock } = setUp(() => 'never')
    const card = (): Promise<unknown> => fetchAgentCard(agent.url, { cache, clock })
    const first = await card()
    clock.advance(6 * MINUTE)
    expect(await card()).toEqual(first)
    clock.advance(4 * MINUTE)
    expect(await card()).toEqual(first)
    expect(agent.asked).toHaveLength(2)
    expect(agent.asked[1]?.headers).toMatchObject({ 'if-none-match': '"1"', 'if-modified-since': modified })
    etag = '"2"'
    clock.advance(6 * MINUTE)
    expect(await card()).toMatchObject({ version: '"2"' })
    expect(agent.asked[2]?.headers).toMatchObject({ 'if-none-match': '"1"', 'if-modified-since': modified })
  })

  test('and the validators of another card are dropped', async () => {
    const said = {
      etag: '"1"',
      'last-modified': 'Sat, 21 Nov 2026 00:00:00 GMT',
      'cache-control': 'max-age=1',
    }
    const replies: Reply[] = [{ body: CARD, headers: said }, { body: CARD }]
    const { card, clock, asked } = setUp(() => replies.shift() ?? { body: CARD })
    for (const ms of [1001, 5 * MINUTE, 1]) {
      await card()
      clock.advance(ms)
    }
    expect(asked).toHaveLength(2)
    await card()
    expect(asked[2]?.headers).not.toHaveProperty('if-none-match')
    expect(asked[2]?.headers).not.toHaveProperty('if-modified-since')
  })

  test('but a card past its limit is not returned', async () => {
    const { card, clock, asked } = setUp(() => ({ body: CARD, headers: { etag: '"1"' } }))
    await card()
    clock.advance(24 * HOUR + 1)
    await card()
    expect(asked[1]?.headers).not.toHaveProperty('if-none-match')
  })

  test.each<[string, () => Reply | 'never']>([
    ['503', () => ({ status: 503 })],
    ['no connection', unconnected],
    ['no answer', () => 'never'],
  ])('it is good as long as the agent is out of order: %s', async (how, broken) => {
    let reply: () => Reply | 'never' = () => ({ body: CARD })
    const { card, clock } = setUp(() => reply())
    await card()
    reply = broken
    for (const ms of [6 * MINUTE, 23 * HOUR]) {
      clock.advance(ms)
      const stale = card()
      await settle()
      if (how === 'no answer') clock.advance(10_000)
      expect(await stale).toEqual(CARD)
    }
    clock.advance(HOUR)
    const failed = failureOf(card())
    await settle()
    clock.advance(10_000)
    const code = how === 'no answer' ? 'REQUEST_TIMED_OUT' : 'EXTERNAL_SERVICE_ERROR'
    expect(await failed).toMatchObject({ code })
  })

  test.each<[string, Reply, string]>([
    ['the agent is gone', { status: 404 }, 'max-age=1'],
    ['it has become none', { body: '<html>' }, 'max-age=1'],
    ['the agent forbids its reuse', { status: 503 }, 'max-age=1, must-revalidate'],
    ['the agent forbids its reuse at all', { status: 503 }, 'no-cache'],
  ])('it is no longer good when %s', async (_, broken, control) => {
    const replies = [{ body: CARD, headers: { 'cache-control': control } }, broken]
    const { card, clock } = setUp(() => replies.shift() ?? {})
    await card()
    clock.advance(1001)
    await failureOf(card())
  })
})

describe('callers that ask at the same time', () => {
  test('waits for the same answer', async () => {
    const { fetch, answer } = held()
    const counted = held()
    const { card } = setUp(() => 'never')
    const cards = Promise.all([
      card({ fetch: counted.fetch }),
      card({ fetch: counted.fetch }),
      card({ fetch }),
    ])
    await settle()
    expect(counted.calls).toBe(1)
    counted.answer(CARD)
    answer({ ...CARD, name: 'Other' })
    expect(await cards).toMatchObject([{ name: 'Agent' }, { name: 'Agent' }, { name: 'Other' }])
  })

  test('get the same failure, and later callers do not', async () => {
    const { fetch, answer } = held()
    const { card } = setUp(() => 'never')
    const failures = Promise.all([failureOf(card({ fetch })), failureOf(card({ fetch }))])
    await settle()
    answer({}, 500)
    expect(await failures).toMatchObject([{ data: { status: 500 } }, { data: { status: 500 } }])
    const later = card({ fetch })
    await settle()
    answer(CARD)
    expect(await later).toEqual(CARD)
  })

  test('may abort without ending the request for the others', async () => {
    const { fetch, answer } = held()
    const { card } = setUp(() => 'never')
    const caller = new AbortController()
    const gone = failureOf(card({ fetch, signal: caller.signal }))
    const other = card({ fetch })
    await settle()
    caller.abort()
    expect(await gone).toMatchObject({ code: 'REQUEST_ABORTED' })
    answer(CARD)
    expect(await other).toEqual(CARD)
  })

  test('have their own timeoutMs', async () => {
    const { card, clock } = setUp(() => 'never')
    const patient = failureOf(card())
    await settle()
    const hasty = failureOf(card({ timeoutMs: 100 }))
    await settle()
    clock.advance(100)
    expect(await hasty).toMatchObject({ data: { timeoutMs: 100 } })
    clock.advance(9900)
    expect(await patient).toMatchObject({ data: { timeoutMs: 10_000 } })
    expect(clock.pending).toBe(0)
  })

  test.each(['clear', 'delete'] as const)('%s() drops the pending request', async (how) => {
    const agent = held()
    const { card, cache } = setUp(() => 'never')
    const ask = async (): Promise<{ card: Promise<unknown> }> => {
      const asked = card({ fetch: agent.fetch })
      await settle()
      return { card: asked }
    }
    const before = await ask()
    cache[how](BASE)
    const after = await ask()
    expect(agent.calls).toBe(2)
    agent.answer({ ...CARD, version: 'old' }, 200, 1)
    expect(await before.card).toMatchObject({ version: 'old' })
    expect(cache.size).toBe(0)
    const later = await ask()
    expect(agent.calls).toBe(2)
    agent.answer(CARD)
    expect(await Promise.all([after.card, later.card])).toEqual([CARD, CARD])
    expect(cache.size).toBe(1)
  })
})

test('a guard that does not answer is not waited for longer than an agent', async () => {
  const { card, clock } = setUp(() => ({ body: CARD }))
  let isStuck = false
  const urlGuard = (): Promise<void> => (isStuck ? new Promise(() => undefined) : Promise.resolve())
  await card({ urlGuard })
  isStuck = true
  const failed = failureOf(card({ urlGuard }))
  await settle()
  clock.advance(10_000)
  expect(await failed).toMatchObject({ code: 'REQUEST_TIMED_OUT' })
})

describe('a cache', () => {
  test('holds so many cards, and drops the one that was asked for longest ago', async () => {
    const { card, cache, asked } = setUp(() => ({ body: CARD }), { maxEntries: 2 })
    const [a, b, c] = ['a', 'b', 'c'].map((name) => `${BASE}/${name}`)
    for (const base of [a, b, a, c]) await card({}, base)
    expect([cache.size, asked.length]).toEqual([2, 3])
    await card({}, a)
    expect(asked).toHaveLength(3)
    await card({}, b)
    expect(asked).toHaveLength(4)
  })

  test('holds 100 by default', async () => {
    const { card, cache } = setUp(() => ({ body: CARD }))
    for (let count = 0; count < 102; count += 1) await card({}, `${BASE}/${count}`)
    expect(cache.size).toBe(100)
    cache.clear()
    expect(cache.size).toBe(0)
  })

  test.each([
    [BASE, 1],
    [`${BASE}/`, 1],
    [CARD_URL, 1],
    [`${BASE}/a`, 1],
    ['https://agent', 2],
    [`${BASE}/.well-known`, 2],
  ])('forgets by delete(%j)', async (url, left) => {
    const { card, cache } = setUp(() => ({ body: CARD }))
    await card()
    await card({}, `${BASE}/a`)
    cache.delete(url)
    expect(cache.size).toBe(left)
  })

  test('never returns a card that was fetched with the credentials of another caller', async () => {
    const { card, asked } = setUp(() => ({ body: CARD }))
    const [anna, ben] = [bearerAuth('anna'), bearerAuth('ben')]
    for (const options of [
      { auth: anna },
      { auth: ben },
      { headers: { 'x-user': 'anna' } },
      {},
      { auth: anna },
    ]) {
      await card(options)
    }
    expect(asked.map(({ headers }) => headers['authorization'] ?? headers['x-user'])).toEqual([
      ...['Bearer anna', 'Bearer ben', 'anna', undefined],
    ])
  })

  test.each<[AgentCardCacheOptions, string]>([
    [{ maxEntries: 0 }, '"maxEntries" must be a positive number, got 0'],
    [{ softTtlMs: -1 }, '"softTtlMs" must be a positive number, got -1'],
    [{ hardTtlMs: NaN }, '"hardTtlMs" must be a positive number, got NaN'],
    [{ ttl: 1 } as object, 'Unknown option "ttl" of AgentCardCache'],
  ])('refuses %j', (options, message) => {
    expect(() => new AgentCardCache(options)).toThrow(message)
  })
})
