/** Conformance of an agent on Node. `.ci/run` does the same with the built package on Bun, Deno and Workers. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { toNodeListener } from 'a2a-tasks/server/node'
import { afterAll, describe, expect, it } from 'vitest'
import { createAgents } from '../agents/agent.mjs'
import { EXCHANGES, talkTo, type Exchange } from './exchanges.mjs'

const BASE = 'https://agent.example'

const server = createServer()
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

async function listen(): Promise<string> {
  const { fetchFor } = createAgents()
  server.on('request', (request, response) => {
    toNodeListener(fetchFor(request.url ?? '/'))(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe.each([
  { way: "over Node's HTTP", talk: talkTo(await listen()) },
  { way: 'as a function', talk: talkTo(BASE, createAgents().fetch) },
])('an agent $way', ({ talk }) => {
  it.each(EXCHANGES.map((exchange) => [exchange.name, exchange] as const))('%s', async (_, exchange) => {
    await talk(exchange)
  })
})

describe('an exchange', () => {
  it('has its own name', () => {
    expect(new Set(EXCHANGES.map(({ name }) => name)).size).toBe(EXCHANGES.length)
  })

  it('checks more of the answer than its status', () => {
    const vague = EXCHANGES.filter(
      ({ status = 200, json, events }) => status === 200 && json === undefined && events === undefined,
    )
    expect(vague).toEqual([])
  })
})

describe('an answer that is wrong is found', () => {
  const sse = { headers: { 'content-type': 'text/event-stream' } }

  async function wrong(expected: Partial<Exchange>, body: string, init?: ResponseInit): Promise<unknown> {
    const talk = talkTo(BASE, () => Promise.resolve(new Response(body, init)))
    const request = { method: 'GET', path: '/' }
    return talk({ name: 'it', request, ...expected }).catch((error: unknown) => String(error))
  }

  it('unless it is right', async () => {
    const json = { a: [{ b: /^[12]$/ }], none: undefined }
    expect(await wrong({ json }, '{"a":[{"b":"1","c":2}],"d":3}')).toBeUndefined()
    expect(await wrong({ events: [{ a: 1 }] }, ': \n\nid: 1\ndata: {"a":1}\n\n', sse)).toBeUndefined()
  })

  it.each([
    ['by its status', {}, '', { status: 404 }, 'answer.status should be 200, is 404'],
    [
      'by a header',
      { headers: { etag: /^"/ } },
      '{}',
      { headers: { etag: '1' } },
      'answer.headers.etag should be /^"/, is "1"',
    ],
    ['by a field', { json: { a: { b: 1 } } }, '{"a":{"b":2}}', {}, 'answer.json.a.b should be 1, is 2'],
    ['by one too many', { json: { a: undefined } }, '{"a":1}', {}, 'answer.json.a should be undefined, is 1'],
    ['by what is missing', { json: { a: {} } }, '{}', {}, 'answer.json.a should be {}, is undefined'],
    ['by the length of a list', { json: [1] }, '[1,2]', {}, 'answer.json.length should be 1, is 2'],
    ['by an event', { events: [{ a: 1 }] }, 'data: {"a":2}\n\n', sse, 'answer.events.0.a should be 1, is 2'],
    ['by ids', { events: [1, 2] }, 'id: 2\ndata: 1\n\nid: 2\ndata: 2\n\n', sse, 'The ids do not rise: 2,2'],
    ['by no stream', { events: [] }, '{}', {}, 'answer.events should be [], is undefined'],
  ])('%s', async (_, expected, body, init, message) => {
    expect(await wrong(expected, body, init)).toBe(`Error: it: ${message}`)
  })
})
