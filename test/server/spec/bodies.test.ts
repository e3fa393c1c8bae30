/** Bodies of requests: what they may take of memory and time, over loopback and raw sockets. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { setImmediate as turn } from 'node:timers/promises'
import { createInboundHandler, createTaskManagerHandler, LocalTaskManager } from 'a2a-tasks/compat'
import { createRequestHandler } from 'a2a-tasks/server'
import { toNodeListener, type NodeListener } from 'a2a-tasks/server/node'
import { ManualClock } from 'a2a-tasks/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { ROOT } from '../../support/repository.js'
import { samples } from '../../support/samples.js'
import { agent, ORIGIN, user } from './support/agent.js'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const CARD = { name: 'Test', url: ORIGIN }
const HEAD = 'POST /message:send HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n'
const CHUNKED = `${HEAD}transfer-encoding: chunked\r\n\r\n`
const MESSAGE = JSON.stringify({ message: user('Hello') })

/** The server closes connections that are idle for a while, perhaps just when a request is sent on one. */
const OWN_CONNECTION = { headers: { connection: 'close' } }

interface Served {
  readonly port: number
  /** The bytes of all connections that the server has read. */
  readonly received: () => number
}

async function serve(listener: NodeListener): Promise<Served> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  const sockets: Socket[] = []
  server.on('connection', (socket: Socket) => sockets.push(socket))
  ends.push(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { port, received: () => sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0) }
}

/** A connection that has sent `bytes`, all of which the server has read. */
async function sent({ port, received }: Served, bytes: string): Promise<Socket> {
  const before = received()
  const socket = connect(port, '127.0.0.1')
  ends.push(() => socket.destroy())
  socket.on('error', () => undefined).write(bytes)
  while (received() < before + Buffer.byteLength(bytes)) await turn()
  // The parser has the bytes then, and the handler soon.
  for (let turns = 0; turns < 5; turns++) await turn()
  return socket
}

const chunksOf = (body: string): string => Array.from(body, (byte) => `1\r\n${byte}\r\n`).join('')

function boundedAgent(limits: object) {
  const { handler, clock, errors } = agent(() => 'done', { limits })
  return { handler, clock, errors, listener: toNodeListener(handler.fetch) }
}

const PROGRAM = `
import { createServer } from 'node:http'
import { createRequestHandler } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
const { fetch } = createRequestHandler({ card: { name: 'A', url: 'http://a' }, execute: () => 'done' })
const listener = toNodeListener(process.argv.at(-1) === 'fetch' ? (request) => fetch(request) : fetch)
const sockets = []
const server = createServer((req, res) => {
  if (req.url !== '/memory') return listener(req, res)
  gc()
  const { heapUsed, external } = process.memoryUsage()
  const received = sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0)
  res.end(JSON.stringify({ bytes: heapUsed + external, received }))
})
server.on('connection', (socket) => sockets.push(socket))
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
`

/** A server in a process with a heap of 64 MB. */
async function serveApart(way: string): Promise<number> {
  const child = spawn(
    process.execPath,
    ['--max-old-space-size=64', '--expose-gc', '--input-type=module', '-e', PROGRAM, way],
    { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] },
  )
  ends.push(() => child.kill('SIGKILL'))
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  return Number(line)
}

describe.each(['direct', 'fetch'])('a chunked body in chunks of one byte, %s', (way) => {
  test('takes no more than twice the largest body', { timeout: 120_000 }, async () => {
    const port = await serveApart(way)
    const memory = async (): Promise<{ bytes: number; received: number }> =>
      (await (await fetch(`http://127.0.0.1:${port}/memory`, OWN_CONNECTION)).json()) as never
    const before = await memory()
    const size = samples(1_048_576)
    const body = JSON.stringify({ message: user('x'.repeat(size)) })
    const socket = connect(port, '127.0.0.1')
    ends.push(() => socket.destroy())
    socket.write(CHUNKED)
    const wire = chunksOf(body)
    for (let at = 0; at < wire.length; at += 65_536) {
      if (!socket.write(wire.slice(at, at + 65_536))) await once(socket, 'drain')
    }
    let after = await memory()
    while (after.received < before.received + CHUNKED.length + wire.length) after = await memory()
    expect(after.bytes - before.bytes).toBeLessThan(2 * 4_194_304)
    socket.write('0\r\n\r\n')
    const [answer] = (await once(socket, 'data')) as [Buffer]
    expect(String(answer)).toMatch(/^HTTP\/1\.1 200 /)
  })
})

describe('a body that does not arrive in time', () => {
  test('gets 408, and the connection is closed', async () => {
    const { clock, errors, listener } = boundedAgent({ bodyTimeoutMs: 5_000 })
    const served = await serve(listener)
    const socket = await sent(served, CHUNKED + chunksOf(MESSAGE))
    clock.advance(4_999)
    const later = await sent(served, CHUNKED + chunksOf(MESSAGE))
    clock.advance(1)
    const answer = await text(socket)
    expect(answer).toMatch(/^HTTP\/1\.1 408 .*\r\nconnection: close\r\n/is)
    expect(answer).toContain('The body was not complete within bodyTimeoutMs (5000)')
    later.end('0\r\n\r\n')
    expect(await text(later)).toMatch(/^HTTP\/1\.1 200 /)
    expect(errors).toEqual([])
  })

  test('has 30 seconds by default; afterwards no timer is left', async () => {
    const { clock, handler } = boundedAgent({})
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
    const writer = writable.getWriter()
    void writer.write(new TextEncoder().encode('{')).catch(() => undefined)
    const headers = { 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body: readable, duplex: 'half' as const }
    const answer = handler.fetch(new Request(`${ORIGIN}/message:send`, init))
    for (let turns = 0; turns < 5; turns++) await turn()
    clock.advance(29_999)
    clock.advance(1)
    const response = await answer
    expect([response.status, response.headers.get('connection')]).toEqual([408, 'close'])
    expect(clock.pending).toBe(0)
  })

  test('does so in the handlers of KAOS and of sessions', async () => {
    const clock = new ManualClock()
    const taskManager = new LocalTaskManager(() => 'done')
    const kaos = createTaskManagerHandler({
      card: CARD,
      taskManager,
      clock,
      limits: { bodyTimeoutMs: 30_000 },
    })
    const inbound = createInboundHandler({
      clock,
      db: undefined,
      listAgents: () => [],
      createSession: () => ({ id: '1' }),
      processManager: { subscribe: () => undefined, startProcess: () => undefined },
    })
    for (const [handler, path] of [
      [kaos, '/'],
      [inbound, '/a2a/tasks/send'],
    ] as const) {
      const served = await serve(toNodeListener(handler.fetch))
      const socket = await sent(served, CHUNKED.replace('/message:send', path))
      clock.advance(30_000)
      expect(await text(socket)).toMatch(/^HTTP\/1\.1 (408|200) .*bodyTimeoutMs/s)
    }
  })
})

describe('the bytes of all bodies in flight', () => {
  const limits = { maxBodyBytes: 10_000, maxBodyBytesInFlight: 15_000 }
  const half = MESSAGE.replace('Hello', 'x'.repeat(8_000))

  test('are bounded: others get 503, and room is made by each that ends', async () => {
    const { listener, handler } = boundedAgent(limits)
    const served = await serve(listener)
    const first = await sent(served, CHUNKED + chunksOf(half))
    const second = await sent(served, CHUNKED + chunksOf(half))
    const answer = await text(second)
    expect(answer).toMatch(/^HTTP\/1\.1 503 /)
    expect(answer).toMatch(/^connection: close\r$/im)
    expect(answer).toMatch(/^retry-after: 1\r$/im)
    first.end('0\r\n\r\n')
    expect(await text(first)).toMatch(/^HTTP\/1\.1 200 /)
    // Refused bodies, and bodies of clients that have left, hold nothing.
    for (let count = 0; count < 5; count++) {
      const left = await sent(served, CHUNKED + chunksOf(half))
      left.destroy()
      const tooLarge = new Request(`${ORIGIN}/message:send`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: half.padEnd(10_001),
      })
      expect((await handler.fetch(tooLarge)).status).toBe(413)
      while ((await statusOf(served, half)) === 503) await turn()
    }
    expect(await statusOf(served, half)).toBe(200)
  })

  test('count those that a framework has read', async () => {
    const { listener } = boundedAgent(limits)
    const served = await serve((req, res) => {
      if (req.headers['x-parsed'] === undefined) {
        listener(req, res)
        return
      }
      void text(req).then((body) => listener(Object.assign(req, { body: JSON.parse(body) as unknown }), res))
    })
    const parsed = { 'x-parsed': 'yes' }
    expect(await statusOf(served, half, parsed)).toBe(200)
    const first = await sent(served, CHUNKED + chunksOf(half))
    expect(await statusOf(served, half, parsed)).toBe(503)
    expect(await statusOf(served, MESSAGE, parsed)).toBe(200)
    expect(await statusOf(served, half.padEnd(10_001) + '!', {})).toBe(413)
    first.destroy()
  })

  test('stay bounded after a body that is no bytes', async () => {
    const { listener, errors } = boundedAgent(limits)
    const served = await serve((req, res) => {
      if (req.headers['x-text'] !== undefined) req.setEncoding('utf8')
      listener(req, res)
    })
    expect(await statusOf(served, half, { 'x-text': 'yes' })).toBe(500)
    expect(errors).toMatchObject([{ error: { message: 'The chunks of a request body must be bytes' } }])
    const first = await sent(served, CHUNKED + chunksOf(half))
    expect(await statusOf(served, half)).toBe(503)
    first.destroy()
  })

  test('have a default by the heap, and hold at least one body', () => {
    for (const maxBodyBytes of [1, 1e9]) {
      expect(() =>
        createRequestHandler({ card: CARD, execute: () => 'x', limits: { maxBodyBytes } }),
      ).not.toThrow()
    }
    expect(() => boundedAgent({ maxBodyBytes: 10, maxBodyBytesInFlight: 9 })).toThrow(
      new RangeError('"limits.maxBodyBytesInFlight" must be at least "limits.maxBodyBytes" (10), got 9'),
    )
  })
})

async function statusOf(
  { port }: Served,
  body: string,
  headers: Record<string, string> = {},
): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/message:send`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })
  await response.text()
  return response.status
}
