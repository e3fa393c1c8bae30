import { AgentCardSchema } from 'a2a-tasks/schemas'
import { describe, expect, test } from 'vitest'
import { v1 } from '../../../src/wire/index.js'
import { agent, closed, get, ORIGIN, post } from './support/agent.js'
import type { TestAgent } from './support/agent.js'

const PATH = '/.well-known/agent-card.json'
const idle = (): TestAgent => agent(() => 'done')

function fetchCard(headers: Record<string, string> = {}, a = idle()): Promise<Response> {
  return a.handler.fetch(get(PATH, { headers }))
}

describe('the card', () => {
  test('137, 139. is an agent card at the well-known URI, for every client', async () => {
    const a = agent(() => 'done', { authenticate: () => null })
    const response = await fetchCard({ 'A2A-Version': '1.0' }, a)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/json')
    const card = closed(AgentCardSchema, await response.json())
    expect(card).toEqual(a.handler.card)
    expect(card).toMatchObject({
      name: 'Test',
      description: 'Test',
      version: '1.0.0',
      capabilities: { streaming: true },
      defaultInputModes: ['text/plain'],
      defaultOutputModes: ['text/plain'],
      skills: [{ id: 'default', name: 'Test', description: 'Test', tags: ['general'] }],
    })
  })

  test('139. is refused when a field is missing', () => {
    for (const card of [
      { name: 'Test' },
      { url: ORIGIN },
      { name: 'Test', url: ORIGIN, skills: [{ id: 's', name: 'S', description: '' }] },
      { name: 'Test', url: ORIGIN, defaultInputModes: [] },
      { name: 'Test', supportedInterfaces: [] },
    ]) {
      expect(() => agent(() => 'done', { card: card as never })).toThrow(/card/)
    }
  })

  test('138. lists what the agent speaks: each interface that it lists answers', async () => {
    const a = agent(() => 'done', { card: { name: 'Test', url: `${ORIGIN}/agents/one` } })
    const { supportedInterfaces } = a.handler.card
    expect(supportedInterfaces.map((each) => `${each.protocolBinding} ${each.protocolVersion}`)).toEqual([
      'JSONRPC 1.0',
      'HTTP+JSON 1.0',
      'JSONRPC 0.3',
      'HTTP+JSON 0.3',
    ])
    for (const { url, protocolBinding, protocolVersion } of supportedInterfaces) {
      const headers = { 'A2A-Version': protocolVersion }
      const path = new URL(url).pathname
      const isOld = protocolVersion === '0.3'
      const method = isOld ? 'tasks/get' : 'GetTask'
      const { id } = a.tasks.createTask({ skill: 'test' })
      const response = await a.handler.fetch(
        protocolBinding === 'JSONRPC'
          ? post(path, { jsonrpc: '2.0', id: 1, method, params: { id } }, { headers })
          : get(`${path}${isOld ? '/v1' : ''}/tasks/${id}`, { headers }),
      )
      expect(await response.text()).toContain(`"id":"${id}"`)
    }
  })

  test('122, 137. is 1.0 alone for an agent that speaks nothing else', async () => {
    const a = agent(() => 'done', { dialects: [v1()] })
    expect(closed(AgentCardSchema, await (await fetchCard({}, a)).json())).toEqual(a.handler.card)
  })

  test('137. of all versions is still the card for a client of any one of them', async () => {
    const a = idle()
    const body: unknown = await (await fetchCard({}, a)).json()
    expect(AgentCardSchema.parse(body)).toEqual(a.handler.card)
    expect(body).toMatchObject({ url: ORIGIN, preferredTransport: 'JSONRPC', protocolVersion: '0.3.0' })
  })

  test('137. answers HEAD with the headers alone, and no other verb', async () => {
    const { handler } = idle()
    const head = await handler.fetch(new Request(ORIGIN + PATH, { method: 'HEAD' }))
    expect([head.status, await head.text()]).toEqual([200, ''])
    expect(head.headers.has('etag')).toBe(true)
    const wrong = await handler.fetch(post(PATH, {}))
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })

  test('105, 137. is in the version that is asked for, in all where none is', async () => {
    const NEW = 'supportedInterfaces'
    const OLD = 'preferredTransport'
    for (const [version, members] of [
      [undefined, [NEW, OLD]],
      ['1.0', [NEW]],
      ['1.0.1', [NEW]],
      ['0.3', [OLD]],
      // Versions are those of interfaces; the card says which there are.
      ['99.0', [NEW, OLD]],
    ] as const) {
      const response = await fetchCard(version === undefined ? {} : { 'A2A-Version': version })
      expect(response.headers.get('vary')).toContain('A2A-Version')
      const card = (await response.json()) as object
      expect([NEW, OLD].filter((member) => member in card)).toEqual(members)
    }
  })
})

describe('140. caching', () => {
  test('140. says how long it may be kept, what it is, and since when', async () => {
    const { headers } = await fetchCard()
    expect(headers.get('cache-control')).toBe('public, max-age=300')
    expect(headers.get('etag')).toMatch(/^"[0-9a-f]{32}"$/)
    expect(headers.get('last-modified')).toBe('Thu, 01 Jan 2026 00:00:00 GMT')
    const { headers: longer } = await fetchCard(
      {},
      agent(() => '', { cardMaxAgeSeconds: 60 }),
    )
    expect(longer.get('cache-control')).toBe('public, max-age=60')
  })

  test('140. one that the client has is not sent again', async () => {
    const a = idle()
    const { headers } = await fetchCard({}, a)
    const etag = headers.get('etag') ?? ''
    for (const [condition, status] of [
      [{ 'if-none-match': etag }, 304],
      [{ 'if-none-match': `"other", W/${etag}` }, 304],
      [{ 'if-none-match': '*' }, 304],
      [{ 'if-none-match': '"other"' }, 200],
      [{ 'if-modified-since': 'Thu, 01 Jan 2026 00:00:00 GMT' }, 304],
      [{ 'if-modified-since': 'Wed, 31 Dec 2025 23:59:59 GMT' }, 200],
      [{ 'if-modified-since': 'yesterday' }, 200],
      [{ 'if-none-match': '"other"', 'if-modified-since': 'Thu, 01 Jan 2026 00:00:00 GMT' }, 200],
    ] as const) {
      const response = await fetchCard(condition, a)
      expect([condition, response.status]).toEqual([condition, status])
      if (status === 304) expect(await response.text()).toBe('')
    }
  })

  test('140. another card, or another version of it, has another tag', async () => {
    const tags = await Promise.all([
      fetchCard(),
      fetchCard({ 'A2A-Version': '0.3' }),
      fetchCard(
        {},
        agent(() => '', { card: { name: 'Other', url: ORIGIN } }),
      ),
    ])
    expect(new Set(tags.map(({ headers }) => headers.get('etag'))).size).toBe(3)
    const again = await fetchCard()
    expect(again.headers.get('etag')).toBe(tags[0].headers.get('etag'))
  })
})
