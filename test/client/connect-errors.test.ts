/** Errors for mistakes in the first call: what they say about the URL and the response. */
import { createServer, type RequestListener } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { A2AClient } from '../../src/client/a2a-client.js'
import type { ConnectOptions } from '../../src/client/options.js'
import { fetchAgentCard } from '../../src/client/cards/cards.js'
import { createRequestHandler } from '../../src/server/request-handler.js'
import { failureOf, fakeFetch, type Answerer } from '../http/support/http.js'

async function portOf(listener: RequestListener): Promise<number> {
  const server = createServer(listener).listen(0)
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

afterEach(() => vi.unstubAllGlobals())

describe('connect', () => {
  test.each([
    ['localhost:3100', '"localhost:3100": is it http://localhost:3100?'],
    ['127.0.0.1:3100/a2a', '"127.0.0.1:3100/a2a": is it http://127.0.0.1:3100/a2a?'],
    ['agent.example/a2a', '"agent.example/a2a"'],
    ['/agent', '"/agent"'],
    ['./agent', '"./agent"'],
    ['http://me:secret@[::1', '"(not shown)"'],
  ])('to %s says what is wrong with the URL', async (url, got) => {
    const { fetch, asked } = fakeFetch(() => ({}))
    const message = `url must be an absolute URL with http:// or https://, got ${got}`
    const failure = { code: 'INVALID_PARAMS', message, data: { path: 'url' } }
    expect(await failureOf(A2AClient.connect(url, { fetch }))).toMatchObject(failure)
    expect(await failureOf(fetchAgentCard(url, { fetch }))).toMatchObject(failure)
    expect(asked).toEqual([])
  })

  test.each([
    ['ftp://agent.example', '"ftp:" is not an http or https URL: is http:// missing?'],
    ['me:secret@agent.example', '"me:" is not an http or https URL: is http:// missing?'],
  ])('to %s says that the scheme is not http or https', async (url, message) => {
    const { fetch, asked } = fakeFetch(() => ({}))
    expect(await failureOf(A2AClient.connect(url, { fetch }))).toMatchObject({ code: 'URL_BLOCKED', message })
    expect(asked).toEqual([])
  })

  test.each([
    ['/agent', 'https://shop.example/agent'],
    ['./agent', 'https://shop.example/help/agent'],
    ['//agents.example', 'https://agents.example/'],
    ['/', 'https://shop.example/'],
  ])('to %s is relative to the page in a browser', async (url, base) => {
    vi.stubGlobal('location', { href: 'https://shop.example/help/chat?id=1' })
    const { fetch, asked } = fakeFetch(() => ({ status: 500 }))
    await failureOf(A2AClient.connect(url, { fetch }))
    expect(asked[0]?.path).toBe(`${base.replace(/\/$/, '')}/.well-known/agent-card.json`)
  })

  test.each(['localhost:3100', 'agent'])('to %s is an error in a browser too', async (url) => {
    vi.stubGlobal('location', { href: 'https://shop.example/' })
    expect(await failureOf(A2AClient.connect(url))).toMatchObject({ code: 'INVALID_PARAMS' })
  })

  test('to a website names the URL that has no JSON', async () => {
    const url = `http://localhost:${await portOf((_, res) => res.end('<html>'))}`
    expect(await failureOf(A2AClient.connect(url))).toMatchObject({
      code: 'INVALID_AGENT_RESPONSE',
      message: `The agent's answer is not A2A: ${url}/.well-known/agent-card.json is not JSON but "<html>"`,
    })
  })
})

describe('a card that names another origin', () => {
  const at = 'http://localhost:3000'
  const cardUrl = `${at}/.well-known/agent-card.json`
  const served = {
    name: 'Echo',
    description: 'Echo',
    version: '1',
    protocolVersion: '0.3.0',
    capabilities: {},
  }
  const skills = { skills: [], defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'] }
  const agentAt = (url: string, answer: Answerer): Promise<A2AClient> => {
    const { fetch } = fakeFetch((asked) =>
      asked.path === cardUrl ? { body: { ...served, ...skills, url } } : answer(asked),
    )
    return A2AClient.connect(at, { fetch, retry: { attempts: 1 } })
  }

  test('is named by the error if no agent is there', async () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    const agent = await agentAt('http://localhost:4000', () => {
      throw refused
    })
    const error = (await failureOf(agent.send('hello'))) as Error
    expect(error).toMatchObject({
      code: 'EXTERNAL_SERVICE_ERROR',
      message: `A2A: http://localhost:4000/ cannot be reached: connect ECONNREFUSED. The agent's card at ${cardUrl} names this address`,
      data: { service: 'A2A', url: 'http://localhost:4000/' },
      cause: refused,
    })
    const result = await agent.run('hello')
    expect(result).toMatchObject({ type: 'error', error: { message: error.message } })
  })

  test('is named by the error if another server is there', async () => {
    const agent = await agentAt('http://localhost:4000', () => ({ status: 404 }))
    expect(await failureOf(agent.send('hello'))).toMatchObject({
      message: expect.stringMatching(/HTTP 404.*\. The agent's card at .* names this address$/) as string,
      data: { status: 404 },
    })
  })

  test('is not named by errors of the agent that served it', async () => {
    const agent = await agentAt(at, () => ({ status: 500 }))
    expect(await failureOf(agent.send('hello'))).toMatchObject({
      message: expect.not.stringContaining('card') as string,
      data: { status: 500 },
    })
  })
})

describe('sameOrigin', () => {
  const at = 'https://page.test/agent/'
  const connectTo = async (url: string, options: ConnectOptions = {}): Promise<A2AClient> => {
    const card = {
      name: 'Echo',
      supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    }
    const fetch = (): Promise<Response> => Promise.resolve(Response.json(card))
    return await A2AClient.connect(at, { fetch, sameOrigin: true, ...options })
  }

  test.each([
    ['http://localhost:3100/agent?tenant=a', 'https://page.test/agent?tenant=a'],
    // A path that would be another host, resolved against a URL.
    ['https://sly.test//other.test/agent', 'https://page.test//other.test/agent'],
    ['https://user:secret@sly.test:8443/agent#part', 'https://page.test/agent'],
    ['/relative', 'https://page.test/relative'],
  ])('calls %s at %s', async (url, called) => {
    const agent = await connectTo(url)
    expect(agent.interface.url).toBe(called)
  })

  test('keeps credentials at the origin', async () => {
    const agent = await connectTo('http://localhost:3100/agent', { headers: { authorization: 'Bearer x' } })
    expect(agent.interface.url).toBe('https://page.test/agent')
  })

  test('is not the default', async () => {
    const agent = await connectTo('https://sly.test/agent', { sameOrigin: undefined })
    expect(agent.interface.url).toBe('https://sly.test/agent')
  })
})

test('a handler whose fetch is passed to a client says how to pass it', async () => {
  const handler = createRequestHandler({
    card: { name: 'Echo', url: 'https://echo.example' },
    execute: () => 'x',
  })
  const fetch = handler.fetch as never
  expect(await failureOf(A2AClient.connect('https://echo.example', { fetch }))).toMatchObject({
    message: expect.stringContaining(
      'fetch: (url, init) => handler.fetch(new Request(url, init))',
    ) as unknown,
  })
  await expect(handler.fetch({ url: '/', headers: {} } as never)).rejects.toThrow(
    'handler.fetch takes a Request; in Node use toNodeListener(handler.fetch)',
  )
})

test('credentials in headers do not go by http where the card came by https', async () => {
  const card = {
    name: 'Sly',
    supportedInterfaces: [{ url: 'http://sly.test', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  }
  const fetch = (): Promise<Response> => Promise.resolve(Response.json(card))
  const headers = { authorization: 'Bearer secret' }
  await expect(A2AClient.connect('https://sly.test', { fetch, headers })).rejects.toMatchObject({
    code: 'URL_BLOCKED',
  })
})
