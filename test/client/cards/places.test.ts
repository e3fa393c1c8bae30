/** Where a client looks for the card of an agent, and what it says if there is none. */
import { A2AClient, bearerAuth } from 'a2a-tasks/client'
import { describe, expect, test } from 'vitest'
import { failureOf, fakeFetch, type Answerer, type Reply } from '../../http/support/http.js'

const ORIGIN = 'https://host.example'
const BELOW = `${ORIGIN}/a2a/.well-known/agent-card.json`
const AT_ORIGIN = `${ORIGIN}/.well-known/agent-card.json`
const ALL = [BELOW, `${ORIGIN}/a2a/.well-known/agent.json`, AT_ORIGIN, `${ORIGIN}/.well-known/agent.json`]

const CARD = {
  name: 'Agent',
  version: '1',
  supportedInterfaces: [{ url: `${ORIGIN}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
}

function connect(at: string, answer: Answerer, options: object = {}) {
  const { fetch, asked } = fakeFetch(answer)
  const paths = (): string[] => asked.map(({ path }) => path)
  return { client: A2AClient.connect(at, { fetch, ...options }), paths }
}

const atOrigin =
  (below: Reply): Answerer =>
  ({ path }) =>
    path === AT_ORIGIN ? { body: CARD } : below

describe('an agent whose card is at its origin', () => {
  test.each<[string, Reply]>([
    ['404', { status: 404 }],
    ['405', { status: 405 }],
    ['400', { status: 400 }],
    ['403, as gateways do', { status: 403 }],
    ['a page', { body: '<html>' }],
    ['JSON-RPC', { body: { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'Invalid request' } } }],
  ])('is found where its own path answers with %s', async (_, below) => {
    const { client, paths } = connect(`${ORIGIN}/a2a`, atOrigin(below))
    expect(await client).toMatchObject({ card: { name: 'Agent' }, cardUrl: AT_ORIGIN })
    expect(paths()).toEqual(ALL.slice(0, 3))
  })

  test('is not asked for where the card is below the URL', async () => {
    const { client, paths } = connect(`${ORIGIN}/a2a`, () => ({ body: CARD }))
    expect((await client).cardUrl).toBe(BELOW)
    expect(paths()).toEqual([BELOW])
  })

  test.each<[string, Reply]>([
    ['fails', { status: 500 }],
    ['has a card that is wrong', { body: { name: 'A', supportedInterfaces: 7 } }],
  ])('is not used where the path of the agent %s', async (_, below) => {
    const { client, paths } = connect(`${ORIGIN}/a2a`, atOrigin(below))
    await failureOf(client)
    expect(paths()).toEqual([BELOW])
  })

  test.each([401, 403])('gets no credentials that the agent at the path refuses by %i', async (status) => {
    const auth = { auth: bearerAuth('secret') }
    const { client, paths } = connect(`${ORIGIN}/a2a`, atOrigin({ status }), auth)
    expect(await failureOf(client)).toMatchObject({ code: 'EXTERNAL_SERVICE_ERROR', data: { status } })
    expect(new Set(paths())).toEqual(new Set([BELOW]))
  })

  test('gets the query of the URL, which may be a secret of the path, no more than other paths', async () => {
    const { client, paths } = connect(`${ORIGIN}/a2a?key=secret`, ({ path }) =>
      path.startsWith(AT_ORIGIN) ? { body: CARD } : { status: 404 },
    )
    await client
    expect(paths().at(-1)).toBe(AT_ORIGIN)
  })
})

describe('an agent without a card', () => {
  test.each<[string, Reply, object]>([
    [
      '404',
      { status: 404 },
      {
        code: 'EXTERNAL_SERVICE_ERROR',
        message: `A2A: Failed to fetch Agent Card from ${BELOW}: HTTP 404 Not Found. Nor is there a card at ${AT_ORIGIN}`,
        data: { url: BELOW, status: 404 },
      },
    ],
    [
      'a page',
      { body: '<html>' },
      {
        code: 'INVALID_AGENT_RESPONSE',
        message: `The agent's answer is not A2A: ${BELOW} is not JSON but "<html>". Nor is there a card at ${AT_ORIGIN}`,
      },
    ],
  ])('(%s) is an error that names both places, after four requests', async (_, reply, error) => {
    const { client, paths } = connect(`${ORIGIN}/a2a`, () => reply)
    expect(await failureOf(client)).toMatchObject(error)
    expect(paths()).toEqual(ALL)
  })

  test.each([ORIGIN, `${ORIGIN}/`])('at %s is looked for there only', async (at) => {
    const { client, paths } = connect(at, () => ({ status: 404 }))
    const message = `A2A: Failed to fetch Agent Card from ${AT_ORIGIN}: HTTP 404 Not Found`
    expect(await failureOf(client)).toMatchObject({ message })
    expect(paths()).toEqual(ALL.slice(2))
  })

  test('of a URL of a card is looked for there only', async () => {
    const { client, paths } = connect(`${ORIGIN}/a2a/card.json`, () => ({ status: 404 }))
    await failureOf(client)
    expect(paths()).toEqual([`${ORIGIN}/a2a/card.json`])
  })
})
