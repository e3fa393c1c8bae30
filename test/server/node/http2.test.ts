/** Streams of one HTTP/2 session: what happens to one of them leaves the others alone. */
import { once } from 'node:events'
import { connect, constants, createServer, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { toNodeListener, type NodeListener } from 'a2a-tasks/server/node'
import { afterEach, describe, expect, it } from 'vitest'
import { agent, gate, user } from '../spec/support/agent.js'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function serve(limits: object, wrap: boolean) {
  const { handler } = agent(() => 'done', {
    limits,
  })
  const listener = toNodeListener(wrap ? (request) => handler.fetch(request) : handler.fetch)
  // The compatible request and response of HTTP/2 have what the listener uses of Node's.
  const server = createServer(listener as NodeListener & Parameters<typeof createServer>[1]).listen(
    0,
    '127.0.0.1',
  )
  await once(server, 'listening')
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  ends.push(() => {
    session.destroy()
    server.close()
  })
  return { session }
}

function post(session: ClientHttp2Session): ClientHttp2Stream {
  const stream = session.request({
    ':method': 'POST',
    ':path': '/message:send',
    'content-type': 'application/json',
  })
  return stream.on('error', () => undefined)
}

async function statusOf(stream: ClientHttp2Stream): Promise<number | undefined> {
  const [headers] = (await once(stream, 'response')) as [{ ':status'?: number }]
  return headers[':status']
}

const message = (words: string): string => JSON.stringify({ message: user(words) })

describe.each([
  ['direct', false],
  ['by fetch', true],
] as const)('a session, %s', (_, wrap) => {
  it('outlives a body that is too large, whose rest takes no window from the others', async () => {
    const { session } = await serve({ maxBodyBytes: 20_000 }, wrap)
    for (let body = 0; body < 4; body++) {
      const refused = post(session)
      refused.write('x'.repeat(60_000))
      expect(await statusOf(refused)).toBe(413)
    }
    const other = post(session)
    other.end(message('x'.repeat(18_000)))
    expect(await statusOf(other)).toBe(200)
    expect(session.destroyed).toBe(false)
  })
})

it.each([
  ['direct', false],
  ['by fetch', true],
] as const)('a stream that is reset before its answer begins leaves none open, %s', async (_, wrap) => {
  const [asked, gone] = [gate(), gate()]
  const accept = async (): Promise<void> => {
    asked.open()
    await gone.opened
  }
  const execute = Object.assign(() => new Promise<void>(() => undefined), { accept })
  const { handler } = agent(execute)
  const listener = toNodeListener(wrap ? (request) => handler.fetch(request) : handler.fetch)
  const server = createServer(listener as NodeListener & Parameters<typeof createServer>[1]).listen(
    0,
    '127.0.0.1',
  )
  await once(server, 'listening')
  server.on('stream', (stream) => stream.on('close', () => setImmediate(gone.open)))
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  ends.push(() => {
    session.destroy()
    server.close()
  })
  const headers = { ':method': 'POST', ':path': '/message:stream', 'content-type': 'application/json' }
  const reset = session.request(headers).on('error', () => undefined)
  reset.end(message('hi'))
  await asked.opened
  reset.close(constants.NGHTTP2_CANCEL)
  await expect.poll(() => handler.stats().runs.working).toBe(1)
  await expect.poll(() => handler.stats().streams).toBe(0)
})
