/** HTTP/2 and HTTP/1.1 clients on one port with TLS. */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect, createSecureServer, type ClientHttp2Session } from 'node:http2'
import { Agent, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Readable } from 'node:stream'
import { TaskManager } from 'a2a-tasks'
import { createRequestHandler, type Execute, type RequestHandlerOptions } from 'a2a-tasks/server'
import { toNodeListener, type NodeListener } from 'a2a-tasks/server/node'
import { afterEach, describe, expect, it } from 'vitest'
import { selfSigned } from '../../services/self-signed.js'
import { gate, user } from '../spec/support/agent.js'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const { key, certificate: cert } = selfSigned()

interface Received {
  readonly status: number | undefined
  readonly body: Readable
  /** Breaks off the stream, or the connection. */
  leave(): void
}

interface Sent {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string | Buffer
  /** Leaves the request open behind `body`. */
  readonly isOpen?: boolean
}

interface Client {
  ask(path: string, sent?: Sent): Promise<Received>
}

async function serve(
  execute: Execute,
  wrap: boolean,
  options: Partial<Omit<RequestHandlerOptions, 'execute' | 'tasks'>> = {},
) {
  const tasks = new TaskManager()
  const card = { name: 'Test', url: 'https://agent.test' }
  const handler = createRequestHandler({ anonymous: 'shared', card, tasks, ...options, execute })
  const listener = toNodeListener(wrap ? (asked) => handler.fetch(asked) : handler.fetch)
  // The compatible request and response of HTTP/2 have what the listener uses of Node's.
  const server = createSecureServer(
    { key, cert, allowHTTP1: true },
    listener as NodeListener & Parameters<typeof createSecureServer>[1],
  ).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  ends.push(() => {
    server.close()
  })
  return { handler, tasks, origin, server }
}

function http2Client(origin: string): Client {
  const session: ClientHttp2Session = connect(origin, { ca: cert })
  session.on('error', () => undefined)
  ends.push(() => session.destroy())
  return {
    async ask(path, { method = 'GET', headers = {}, body = '', isOpen = false } = {}) {
      const stream = session.request({ ':method': method, ':path': path, ...headers })
      stream.on('error', () => undefined)
      if (method !== 'GET') stream.write(body)
      if (!isOpen) stream.end()
      const [answer] = (await once(stream, 'response')) as [{ ':status'?: number }]
      return { status: answer[':status'], body: stream, leave: () => stream.destroy() }
    },
  }
}

function http1Client(origin: string): Client {
  const agent = new Agent({ ca: cert, ALPNProtocols: ['http/1.1'] })
  ends.push(() => agent.destroy())
  return {
    async ask(path, { method = 'GET', headers = {}, body = '', isOpen = false } = {}) {
      const asked = request(`${origin}${path}`, { method, headers, agent })
      asked.on('error', () => undefined)
      if (isOpen) asked.write(body)
      else asked.end(body)
      const [answer] = (await once(asked, 'response')) as [IncomingMessage]
      answer.on('error', () => undefined)
      return { status: answer.statusCode, body: answer, leave: () => asked.destroy() }
    },
  }
}

async function textOf({ body }: Received): Promise<string> {
  let text = ''
  for await (const chunk of body.setEncoding('utf8')) text += String(chunk)
  return text
}

/** Reads until `words` has come. */
async function readTo({ body }: Received, words: string): Promise<void> {
  let text = ''
  for await (const chunk of body.iterator({ destroyOnReturn: false })) {
    text += String(chunk)
    if (text.includes(words)) return
  }
  throw new Error(`The stream ended without ${words}: ${text}`)
}

const JSON_TYPE = { 'content-type': 'application/json' }
const send = (words: string, headers = {}): Sent => ({
  method: 'POST',
  headers: { ...JSON_TYPE, ...headers },
  body: JSON.stringify({ message: user(words) }),
})

const CLIENTS: [string, (origin: string) => Client][] = [
  ['HTTP/2', http2Client],
  ['HTTP/1.1', http1Client],
]

describe.each([
  ['direct', false],
  ['by fetch', true],
] as const)('%s', (_, wrap) => {
  describe.each(CLIENTS)('a client of %s', (_name, connectTo) => {
    it('gets answers, and a stream whose events come when they happen', async () => {
      const next = gate()
      const { origin } = await serve(async function* () {
        yield 'one'
        await next.opened
        yield 'two'
      }, wrap)
      const client = connectTo(origin)
      const card = await client.ask('/.well-known/agent-card.json')
      expect([card.status, (JSON.parse(await textOf(card)) as { name: string }).name]).toEqual([200, 'Test'])
      const stream = await client.ask('/message:stream', send('go'))
      expect(stream.status).toBe(200)
      await readTo(stream, '"one"')
      next.open()
      expect(await textOf(stream)).toMatch(/"two"[^]*TASK_STATE_COMPLETED/)
      const missing = await client.ask('/tasks/none')
      expect([missing.status, await textOf(missing)]).toEqual([
        404,
        expect.stringContaining('TASK_NOT_FOUND'),
      ])
    })

    it('is asked by the URL that it has sent', async () => {
      let seen = ''
      const { origin } = await serve(() => 'done', wrap, {
        authenticate: ({ url }) => {
          seen = url
          return { id: 'ada' }
        },
      })
      const { status } = await connectTo(origin).ask('/message:send', send('go'))
      expect([status, seen]).toEqual([200, `${origin}/message:send`])
    })

    it('can cancel from a page of the same origin, and not from another', async () => {
      const { origin, tasks } = await serve(() => 'done', wrap)
      const { id } = tasks.createTask({ skill: 'a' })
      const client = connectTo(origin)
      const cancel = async (from: string): Promise<string> =>
        await textOf(await client.ask(`/tasks/${id}:cancel`, { method: 'POST', headers: { origin: from } }))
      expect(await cancel('https://evil.test')).toContain('CONTENT_TYPE_NOT_SUPPORTED')
      expect(await cancel(origin)).toContain('TASK_STATE_CANCELED')
    })

    it('gets 413 for a body that is too large, and 408 for one that takes too long', async () => {
      const limits = { maxBodyBytes: 2_000, bodyTimeoutMs: 100 }
      const { origin } = await serve(() => 'done', wrap, { limits })
      const client = connectTo(origin)
      expect((await client.ask('/message:send', send('x'.repeat(2_000)))).status).toBe(413)
      const open = { ...send('x'.repeat(2_000)), isOpen: true }
      expect((await client.ask('/message:send', open)).status).toBe(413)
      expect((await client.ask('/message:send', { ...open, body: '{' })).status).toBe(408)
      expect((await client.ask('/message:send', send('fine'))).status).toBe(200)
    })

    it('that takes nothing of a large answer loses it in time', async () => {
      const limits = { stalledTimeoutMs: 200 }
      const { origin, tasks, server } = await serve(() => 'done', wrap, { limits })
      const { id } = tasks.createTask({ skill: 'a' })
      tasks.updateTask(id, { state: 'working' })
      tasks.appendArtifact(id, { artifactId: 'a', parts: [{ text: 'x'.repeat(30_000_000) }] })
      let open = 0
      server.on('request', (_asked, answer) => {
        open += 1
        answer.on('close', () => (open -= 1))
      })
      const { status } = await connectTo(origin).ask(`/tasks/${id}`)
      expect([status, open]).toEqual([200, 1])
      await expect.poll(() => open).toBe(0)
    })

    it('that leaves its stream is noticed', async () => {
      const { origin, handler } = await serve(async function* (run) {
        yield 'one'
        await new Promise((resolve) => run.signal.addEventListener('abort', resolve))
      }, wrap)
      const stream = await connectTo(origin).ask('/message:stream', send('go'))
      await readTo(stream, '"one"')
      expect(handler.stats().streams).toBe(1)
      stream.leave()
      await expect.poll(() => handler.stats().streams).toBe(0)
      await handler.close({ graceMs: 0 })
    })

    it('sees its stream end when the handler closes', async () => {
      const { origin, handler, server } = await serve(async function* (run) {
        yield 'one'
        await new Promise((resolve) => run.signal.addEventListener('abort', resolve))
      }, wrap)
      const client = connectTo(origin)
      const stream = await client.ask('/message:stream', send('go'))
      await readTo(stream, '"one"')
      await handler.close({ graceMs: 0 })
      expect(await textOf(stream)).toContain('TASK_STATE_FAILED')
      expect((await client.ask('/message:send', send('late'))).status).toBe(503)
      for (const end of ends.splice(1).reverse()) await end()
      const closed = once(server, 'close')
      server.close()
      await closed
    })
  })
})
