/** fetchAgentCard and discoverAgent. */
import { ManualClock } from 'a2a-tasks/testing'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { bearerAuth } from '../../../src/http/auth.js'
import { AgentCardCache } from '../../../src/client/cards/card-cache.js'
import {
  clearAgentCardCache,
  discoverAgent,
  fetchAgentCard,
  loadCard,
  type FetchAgentCardOptions,
} from '../../../src/client/cards/cards.js'
import { ExternalServiceError, ValidationError } from '../../../src/http/errors.js'
import { toHttpSettings } from '../../../src/http/request.js'
import { urlGuard } from '../../../src/http/url-guard.js'
import { failureOf, fakeFetch, settle, site, type Answerer, type FakeFetch } from '../../http/support/http.js'

const BASE = 'https://agent.example.com'
const CARD_URL = `${BASE}/.well-known/agent-card.json`
const CARD = { name: 'Agent', version: '1.2.0', skills: [{ id: 's', name: 'S' }], custom: { a: [1] } }
const MINUTE = 60_000

beforeEach(clearAgentCardCache)
afterEach(() => vi.unstubAllGlobals())

interface Agent extends FakeFetch {
  readonly clock: ManualClock
  readonly card: (options?: FetchAgentCardOptions) => Promise<unknown>
}

function agent(answer: Answerer = () => ({ body: CARD })): Agent {
  const clock = new ManualClock()
  const { fetch, asked } = fakeFetch(answer)
  return { clock, fetch, asked, card: (options) => fetchAgentCard(BASE, { fetch, clock, ...options }) }
}

describe('fetchAgentCard', () => {
  test.each([
    [BASE, CARD_URL],
    [`${BASE}///`, CARD_URL],
    [`${BASE}/agents/7/`, `${BASE}/agents/7/.well-known/agent-card.json`],
    [`${BASE}:8443/a?tenant=x`, `${BASE}:8443/a/.well-known/agent-card.json?tenant=x`],
  ])('of %s asks %s', async (base, url) => {
    const { fetch, asked } = agent()
    await fetchAgentCard(base, { fetch, headers: { 'x-trace': '1' } })
    expect(asked).toMatchObject([
      { method: 'GET', path: url, headers: { accept: 'application/json', 'x-trace': '1' } },
    ])
  })

  test('gives the card as the agent wrote it', async () => {
    const site1 = await site(() => ({ body: CARD }))
    const card = await fetchAgentCard(`${site1.url}/`)
    expect(card).toEqual(CARD)
    expect([card.name, card.version, card.skills?.[0]?.name, card['custom']]).toEqual([
      ...['Agent', '1.2.0', 'S'],
      { a: [1] },
    ])
    expect(site1.asked[0]?.path).toBe('/.well-known/agent-card.json')
  })

  test('takes the platform’s fetch as it is when it is called', async () => {
    const { fetch, asked } = fakeFetch(() => ({ body: CARD }))
    vi.stubGlobal('fetch', fetch)
    expect(await fetchAgentCard(BASE)).toEqual(CARD)
    expect(asked).toHaveLength(1)
  })

  test.each([
    [404, 'HTTP 404 Not Found'],
    [500, 'HTTP 500 Internal Server Error'],
    [299 + 1, 'HTTP 300'],
    [304, 'HTTP 304'],
  ])('reports HTTP %i', async (status, problem) => {
    const error = await failureOf(agent(() => ({ status })).card())
    expect(error).toBeInstanceOf(ExternalServiceError)
    expect(error).toMatchObject({
      name: 'ExternalServiceError',
      code: 'EXTERNAL_SERVICE_ERROR',
      statusCode: 502,
      context: { service: 'A2A' },
      message: `A2A: Failed to fetch Agent Card from ${CARD_URL}: ${problem}`,
      data: { service: 'A2A', url: CARD_URL, status },
    })
  })

  test.each([{ version: '1' }, { name: 'A' }, { name: '', version: '1' }, { name: 1, version: '1' }, {}])(
    'requires name and version: %j',
    async (body) => {
      const detail = `Invalid Agent Card from ${CARD_URL}: missing required fields (name, version)`
      const error = await failureOf(agent(() => ({ body })).card())
      expect(error).toBeInstanceOf(ValidationError)
      expect(error).toMatchObject({
        ...{ name: 'ValidationError', code: 'VALIDATION_ERROR', statusCode: 400, detail, message: detail },
      })
    },
  )

  test.each<[string, unknown]>([
    ['HTML', '<html>'],
    ['nothing', ''],
    ['a list', [CARD]],
    ['null', 'null'],
  ])('reports %s', async (_, body) => {
    expect(await failureOf(agent(() => ({ body })).card())).toMatchObject({ code: 'INVALID_AGENT_RESPONSE' })
  })

  test('refuses an endless card and one that nests too deep, and ignores __proto__', async () => {
    const large = { ...CARD, description: 'x'.repeat(1_048_576) }
    expect(await failureOf(agent(() => ({ body: large })).card())).toMatchObject({ code: 'LIMIT_EXCEEDED' })
    const deep = `{"name":"A","version":"1","x":${'['.repeat(100)}${']'.repeat(100)}}`
    expect(await failureOf(agent(() => ({ body: deep })).card())).toMatchObject({ code: 'LIMIT_EXCEEDED' })
    const armed = await agent(() => ({ body: '{"name":"A","version":"1","__proto__":{"x":1}}' })).card()
    expect(armed).toEqual({ name: 'A', version: '1' })
  })

  test('reports that no agent is there', async () => {
    const error = await failureOf(fetchAgentCard('http://127.0.0.1:1'))
    expect(error).toMatchObject({ code: 'EXTERNAL_SERVICE_ERROR', data: { service: 'A2A' } })
    expect(await failureOf(fetchAgentCard('agent'))).toMatchObject({ code: 'INVALID_PARAMS' })
    const secret = await failureOf(fetchAgentCard('http://me:secret@127.0.0.1:1'))
    expect(String(secret)).not.toContain('secret')
  })

  test('waits 10 s, or as long as the option says', async () => {
    for (const [options, ms] of [
      [{}, 10_000],
      [{ timeoutMs: 50 }, 50],
    ] as const) {
      const { card, clock } = agent(() => 'never')
      const failed = failureOf(card(options))
      await settle()
      clock.advance(ms)
      expect(await failed).toMatchObject({ code: 'REQUEST_TIMED_OUT', data: { timeoutMs: ms } })
    }
  })

  test('ends when it is aborted, and sends nothing when it was aborted before', async () => {
    const { card, asked } = agent(() => 'never')
    const caller = new AbortController()
    const failed = failureOf(card({ signal: caller.signal }))
    caller.abort('enough')
    expect(await failed).toMatchObject({ code: 'REQUEST_ABORTED', cause: 'enough' })
    expect(await failureOf(card({ signal: caller.signal }))).toMatchObject({ code: 'REQUEST_ABORTED' })
    expect(asked).toHaveLength(1)
  })

  test('reports an option that is invalid', async () => {
    expect(await failureOf(agent().card({ timeoutMs: 0 }))).toBeInstanceOf(RangeError)
    const misspelt = { timeoutMs: 1, timeout: 1 }
    expect(await failureOf(agent().card(misspelt))).toBeInstanceOf(TypeError)
  })
})

describe('the cache of the module', () => {
  test('keeps a card for 5 minutes', async () => {
    const { card, clock, asked } = agent()
    await card()
    clock.advance(2 * MINUTE)
    expect(await card()).toEqual(CARD)
    clock.advance(3 * MINUTE)
    await fetchAgentCard(`${BASE}/`, { fetch: agent().fetch, clock })
    await card()
    expect(asked).toHaveLength(1)
    clock.advance(MINUTE)
    await card()
    expect(asked).toHaveLength(2)
    expect(asked[1]?.headers).not.toHaveProperty('if-none-match')
  })

  test('keeps it no longer, whatever the agent says, and not while the agent is out of order', async () => {
    let isUp = true
    const headers = { 'cache-control': 'max-age=86400', etag: '"1"' }
    const { card, clock } = agent(() => (isUp ? { body: CARD, headers } : { status: 503 }))
    await card()
    isUp = false
    clock.advance(5 * MINUTE)
    expect(await card()).toEqual(CARD)
    clock.advance(1)
    expect(await failureOf(card())).toMatchObject({ data: { status: 503 } })
  })

  test('keeps no failure', async () => {
    const replies = [{ status: 500 }, { body: { name: 'A' } }, { body: '<html>' }, { body: CARD }]
    const { card, asked } = agent(() => replies.shift() ?? {})
    for (let count = 0; count < 3; count += 1) await failureOf(card())
    expect(await card()).toEqual(CARD)
    expect(asked).toHaveLength(4)
  })

  test('can be cleared, also for a fetch of the caller’s', async () => {
    const { card, asked } = agent()
    await card()
    clearAgentCardCache()
    await card()
    expect(asked).toHaveLength(2)
  })

  test('has separate entries for each URL, guard and fetch', async () => {
    const { card, fetch, clock, asked } = agent()
    await card()
    await fetchAgentCard(`${BASE}/other`, { fetch, clock })
    await card({ urlGuard: urlGuard() })
    expect(asked).toHaveLength(3)
    const other = agent(() => ({ body: { ...CARD, name: 'Other' } }))
    expect(await other.card()).toMatchObject({ name: 'Other' })
  })

  test('is not used for requests with credentials, nor with `cache: false`', async () => {
    const { card, asked } = agent()
    const auth = bearerAuth('x')
    for (const options of [{ auth }, { headers: { a: 'b' } }, { cache: false as const }]) {
      await card(options)
      await card(options)
    }
    expect(asked).toHaveLength(6)
    await card()
    expect(asked).toHaveLength(7)
  })

  test('returns nothing that the guard blocks', async () => {
    const { card } = agent()
    let isOpen = true
    const guard = (): void => {
      if (!isOpen) throw new Error('closed')
    }
    await card({ urlGuard: guard })
    isOpen = false
    expect(await failureOf(card({ urlGuard: guard }))).toMatchObject({
      code: 'URL_BLOCKED',
      cause: { message: 'closed' },
    })
  })

  test('gives copies', async () => {
    const { card } = agent()
    const [first, second] = (await Promise.all([card(), card()])) as (typeof CARD)[]
    first?.custom.a.push(2)
    expect(second).toEqual(CARD)
    const kept = (await card()) as typeof CARD
    expect(kept).toEqual(CARD)
    kept.custom.a.push(2)
    expect(await card()).toEqual(CARD)
  })
})

describe('discoverAgent', () => {
  test('gives the card, or null', async () => {
    const { fetch } = agent()
    expect(await discoverAgent(BASE, { fetch })).toEqual(CARD)
    for (const reply of [{ status: 404 }, { body: '<html>' }, { body: {} }]) {
      expect(await discoverAgent(BASE, { fetch: fakeFetch(() => reply).fetch })).toBeNull()
    }
    expect(await discoverAgent('http://127.0.0.1:1')).toBeNull()
    expect(await discoverAgent('nowhere')).toBeNull()
    expect(await discoverAgent('http://169.254.169.254', { urlGuard: urlGuard() })).toBeNull()
  })
})

describe('loadCard', () => {
  const V03 = { ...CARD, description: 'D', url: `${BASE}/rpc`, protocolVersion: '0.3.0', capabilities: {} }
  const load = (answer: Answerer, url = BASE, cache?: AgentCardCache): [Promise<unknown>, FakeFetch] => {
    const fake = fakeFetch(answer)
    const loaded = loadCard(toHttpSettings({ fetch: fake.fetch }, 100_000), url, { cardCache: cache })
    return [loaded.then(({ card }) => card), fake]
  }
  const paths = ({ asked }: FakeFetch): string[] => asked.map(({ path }) => path.slice(BASE.length))

  test('gives a card of 1.0', async () => {
    const [card, fake] = load(() => ({ body: V03 }))
    expect(await card).toMatchObject({
      supportedInterfaces: [{ url: `${BASE}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '0.3' }],
    })
    expect(paths(fake)).toEqual(['/.well-known/agent-card.json'])
  })

  test('takes the URL of a card', async () => {
    const [card, fake] = load(() => ({ body: V03 }), `${BASE}/cards/seven.json?a=b`)
    expect(await card).toMatchObject({ name: 'Agent' })
    expect(paths(fake)).toEqual(['/cards/seven.json?a=b'])
  })

  test.each([{ status: 404 }, { status: 405 }, { body: '<html>' }])(
    'looks where cards were before 0.3 when the agent answers %j',
    async (missing) => {
      const [card, fake] = load(({ path }) => (path.endsWith('/agent.json') ? { body: V03 } : missing))
      expect(await card).toMatchObject({ name: 'Agent' })
      expect(paths(fake)).toEqual(['/.well-known/agent-card.json', '/.well-known/agent.json'])
    },
  )

  test('reports a missing card with its URL', async () => {
    const [card, fake] = load(({ path }) => ({ status: path.endsWith('/agent.json') ? 410 : 404 }))
    expect(await failureOf(card)).toMatchObject({ data: { url: CARD_URL, status: 404 } })
    expect(fake.asked).toHaveLength(2)
    const [other, once] = load(() => ({ status: 503 }))
    expect(await failureOf(other)).toMatchObject({ data: { status: 503 } })
    expect(once.asked).toHaveLength(1)
  })

  test('reports what is wrong with it, and does not keep it', async () => {
    const cache = new AgentCardCache()
    const [card] = load(() => ({ body: { ...V03, skills: [{}] } }), BASE, cache)
    expect(await failureOf(card)).toMatchObject({
      code: 'INVALID_PARAMS',
      data: { path: 'card.skills[0].id' },
    })
    expect(cache.size).toBe(0)
  })
})
