/** What readers of streams have once `close()` has resolved, and connections are cut off. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { createRequestHandler, type RequestHandler, type Run } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'

type Fetch = (request: Request) => Promise<Response>

interface Served {
  readonly handler: RequestHandler
  readonly port: number
  readonly stop: () => void
}

async function serve(
  execute: (run: Run) => Promise<string>,
  adapt: (fetch: Fetch) => Fetch = (fetch) => fetch,
  clock?: ManualClock,
): Promise<Served> {
  const handler = createRequestHandler({
    clock,
    card: { name: 'Closing', url: 'http://localhost' },
    execute,
    limits: { maxBodyBytes: 64_000_000 },
  })
  const server = createServer(toNodeListener(adapt(handler.fetch)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const stop = (): void => server.closeAllConnections()
  onTestFinished(async () => {
    stop()
    server.close()
    await handler.close({ graceMs: 0 })
  })
  return { handler, port: (server.address() as AddressInfo).port, stop }
}

const BODY = JSON.stringify({ message: { messageId: '1', role: 'ROLE_USER', parts: [{ text: 'Go' }] } })
const JSON_TYPE = { 'content-type': 'application/json' }

async function untilAborted(run: Run): Promise<string> {
  run.start()
  await once(run.signal, 'abort')
  return 'too late'
}

/** The events of a stream, until it ends or is cut off. */
async function eventsOf({ body }: Response): Promise<string> {
  let text = ''
  const chunks = body?.pipeThrough(new TextDecoderStream()) as AsyncIterable<string> | undefined
  try {
    for await (const chunk of chunks ?? []) text += chunk
  } catch {
    return `${text}(cut off)`
  }
  return text
}

const ADAPTERS: [string, (fetch: Fetch) => Fetch][] = [
  ['the listener for Node', (fetch) => fetch],
  ['Fetch', (fetch) => (request) => fetch(request)],
]

describe.each(ADAPTERS)('over %s', (_, adapt) => {
  test('readers have the last event when the handler is closed', async () => {
    const { handler, port, stop } = await serve(untilAborted, adapt)
    const opened = Array.from({ length: 100 }, () =>
      fetch(`http://127.0.0.1:${port}/message:stream`, { method: 'POST', headers: JSON_TYPE, body: BODY }),
    )
    const texts = (await Promise.all(opened)).map(eventsOf)
    await handler.close({ graceMs: 100 })
    stop()
    const cut = (await Promise.all(texts)).filter((text) => !/TASK_STATE_FAILED.*\n\n$/.test(text))
    expect(cut).toEqual([])
  })

  test('readers have it when the task ended by itself, just before', async () => {
    const large = 'x'.repeat(16_000_000)
    const { handler, port, stop } = await serve(() => Promise.resolve(large), adapt)
    const opened = Array.from({ length: 4 }, () =>
      fetch(`http://127.0.0.1:${port}/message:stream`, { method: 'POST', headers: JSON_TYPE, body: BODY }),
    )
    const responses = await Promise.all(opened)
    const texts = responses.map(eventsOf)
    await handler.close()
    stop()
    const cut = (await Promise.all(texts)).filter((text) => !/TASK_STATE_COMPLETED.*\n\n$/.test(text))
    expect(cut.map((text) => text.slice(-200))).toEqual([])
  })

  test('a reader that has stalled holds it for no longer than "graceMs"', async () => {
    const clock = new ManualClock()
    const { handler, port } = await serve(() => Promise.resolve('x'.repeat(16_000_000)), adapt, clock)
    const socket = connect(port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    const head = ['POST /message:stream HTTP/1.1', 'host: localhost', 'content-type: application/json']
    socket.write([...head, `content-length: ${BODY.length}`, '', BODY].join('\r\n'))
    await once(socket, 'readable')
    let isClosed = false
    const closed = handler.close({ graceMs: 300 }).then(() => (isClosed = true))
    await turn()
    clock.advance(299)
    await turn()
    expect(isClosed).toBe(false)
    clock.advance(1)
    await closed
  })

  test('a reader that leaves does not hold it', async () => {
    const { handler, port } = await serve(() => Promise.resolve('x'.repeat(16_000_000)), adapt)
    const abort = new AbortController()
    const init = { method: 'POST', headers: JSON_TYPE, body: BODY, signal: abort.signal }
    await fetch(`http://127.0.0.1:${port}/message:stream`, init)
    const closed = handler.close({ graceMs: 60_000 })
    abort.abort()
    await closed
  })
})

describe('without a server', () => {
  const request = (): Request =>
    new Request('http://localhost/message:stream', { method: 'POST', headers: JSON_TYPE, body: BODY })

  test('a response that was read, or canceled, does not hold it', async () => {
    const clock = new ManualClock()
    const { handler } = await serve(untilAborted, undefined, clock)
    const [read, left] = await Promise.all([handler.fetch(request()), handler.fetch(request())])
    const text = read.text()
    await left.body?.cancel()
    const params = { message: { messageId: '1', role: 'ROLE_USER', parts: [{ text: 'Go' }] } }
    const stream = await handler.dispatch({ jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params })
    if (!(Symbol.asyncIterator in stream)) throw new Error('no stream')
    const events = (async () => {
      const all: string[] = []
      for await (const event of stream as AsyncIterable<unknown>) all.push(JSON.stringify(event))
      return all
    })()
    const closed = handler.close({ graceMs: 50 })
    // Ends the wait for the run. The wait for readers needs no time.
    clock.advance(50)
    await closed
    expect(await text).toContain('TASK_STATE_FAILED')
    expect((await events).at(-1)).toContain('TASK_STATE_FAILED')
  })
})
