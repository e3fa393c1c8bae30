/** Streams of one HTTP/2 session: what happens to one of them leaves the others alone. */
import { once } from 'node:events'
import { connect, constants, createServer, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
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
] as const)('a stream that is reset before the listener is called leaves none open, %s', async (_, wrap) => {
  const { handler, tasks } = agent(() => 'done')
  tasks.createTask({ id: 'live', skill: 'test' })
  const listener = toNodeListener(wrap ? (request) => handler.fetch(request) : handler.fetch)
  const called = gate()
  // Middleware that waits, as for the session of a user.
  const server = createServer((req, res) => {
    req.stream.once('close', () => {
      setImmediate(() => {
        // They have what the listener uses of Node's.
        listener(req as never, res as never)
        called.open()
      })
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  ends.push(() => {
    session.destroy()
    server.close()
  })
  const reset = session.request({ ':path': '/tasks/live:subscribe' }).on('error', () => undefined)
  await once(reset, 'ready')
  reset.close(constants.NGHTTP2_CANCEL)
  await called.opened
  for (let turns = 0; turns < 20; turns++) await turn()
  expect(handler.stats().streams).toBe(0)
})
