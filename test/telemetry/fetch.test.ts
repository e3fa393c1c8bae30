/** The trace along with any request, and through a gateway. */
import { SpanKind, trace } from '@opentelemetry/api'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { A2AClient } from 'a2a-tasks/client'
import { createRequestHandler, type RequestHandler } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import { instrumentClient, instrumentFetch, instrumentHandler, instrumentTasks } from 'a2a-tasks/telemetry'
import { A2AGateway, gatewayRequestHandler } from '../../src/gateway/index.js'
import { a2a } from '../../src/gateway/providers/a2a/provider.js'
import { idOf, parentOf, sdk, traceOf, unregister } from './support/sdk.js'

describe('a fetch', () => {
  const said: (RequestInit | undefined)[] = []
  const plain = (_: string, init: RequestInit): Promise<Response> => {
    said.push(init)
    return Promise.resolve(new Response())
  }

  it('sends the active trace along, beside what the request has', async () => {
    const { inSpan, span, spans } = sdk()
    const fetch = instrumentFetch(plain)
    await inSpan('work', () => fetch('http://a.test', { method: 'POST', headers: { 'x-mine': '1' } }))
    const headers = new Headers(said.at(-1)?.headers)
    expect(said.at(-1)?.method).toBe('POST')
    expect(headers.get('x-mine')).toBe('1')
    expect(headers.get('traceparent')).toBe(`00-${traceOf(span('work'))}-${idOf(span('work'))}-01`)
    expect(spans()).toHaveLength(1)
    await inSpan('other', () => fetch('http://a.test', { headers: { traceparent: 'mine' } }))
    expect(new Headers(said.at(-1)?.headers).get('traceparent')).toBe('mine')
  })

  it('is as it was without an SDK, and where nothing is active', async () => {
    sdk()
    const init = {}
    await instrumentFetch(plain)('http://a.test', init)
    expect(said.at(-1)).toBe(init)
    unregister()
    await instrumentFetch(plain)('http://a.test', init)
    expect(said.at(-1)).toBe(init)
  })

  it("is the platform's by default", async () => {
    const { inSpan, span } = sdk()
    const seen: (string | undefined)[] = []
    const url = await serve(() => (request) => {
      seen.push(request.headers.get('traceparent') ?? undefined)
      return Promise.resolve(new Response('Hi'))
    })
    const response = await inSpan('work', () => instrumentFetch()(url, {}))
    expect(await response.text()).toBe('Hi')
    expect(seen).toEqual([`00-${traceOf(span('work'))}-${idOf(span('work'))}-01`])
  })
})

/** A server on its own port until the test is over. */
async function serve(toFetch: (url: string) => RequestHandler['fetch']): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  server.on('request', toNodeListener(toFetch(url)))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return url
}

/** An agent that thinks, and a gateway in front of it. */
async function gatewayToAgent(): Promise<string> {
  const agent = await serve((url) => {
    const execute = ({ text }: { text: string }): string =>
      trace.getTracer('agent').startActiveSpan('think', (span) => {
        span.end()
        return `${text}!`
      })
    return instrumentHandler(createRequestHandler({ card: { name: 'Agent', url }, execute })).fetch
  })
  const gateway = new A2AGateway({ providers: { a2a: a2a({ fetch: instrumentFetch() }) } })
  onTestFinished(() => gateway.close())
  gateway.registry.register({
    id: 'agent',
    provider: 'a2a',
    capabilities: ['think'],
    endpoint: { url: agent },
  })
  instrumentTasks(gateway.tasks)
  const execute = gatewayRequestHandler(gateway, { chooseAgent: () => 'agent' })
  return await serve((url) => {
    const card = { name: 'Gateway', url, capabilities: { streaming: true } }
    return instrumentHandler(createRequestHandler({ card, tasks: gateway.tasks, execute })).fetch
  })
}

describe('a gateway', () => {
  it.each([
    ['run', (client: A2AClient): Promise<unknown> => client.run('Hi'), 'invoke_agent Gateway'],
    [
      'stream',
      async (client: A2AClient) => {
        for await (const event of client.stream('Hi')) expect(event.type).toBeTypeOf('string')
      },
      'SendStreamingMessage',
    ],
  ])('takes the trace of a %s on to the agent behind it', async (_, ask, name) => {
    const { span, spans } = sdk()
    const client = instrumentClient(await A2AClient.connect(await gatewayToAgent()))
    await ask(client)
    const asked = spans().find((each) => each.name === name && each.kind === SpanKind.CLIENT)
    const served = spans().find(
      (each) => each.kind === SpanKind.SERVER && asked && parentOf(each) === idOf(asked),
    )
    if (served === undefined || asked === undefined) throw new Error('A span is missing')
    expect(parentOf(span('a2a.task.execute'))).toBe(idOf(served))
    expect(traceOf(span('think'))).toBe(traceOf(asked))
  })
})
