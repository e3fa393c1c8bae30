/** A server of HTTP/2 with a small heap, and clients that take nothing, or send their bodies in tiny pieces. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2'
import { createInterface } from 'node:readline'
import { afterEach, describe, expect, it } from 'vitest'
import { ROOT } from '../../support/repository.js'
import { user } from '../spec/support/agent.js'

const PROGRAM = `
import { createServer } from 'node:http2'
import { TaskManager } from 'a2a-tasks'
import { createRequestHandler } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
const tasks = new TaskManager()
for (const [id, size] of [['large', 8_000_000], ['small', 10]]) {
  tasks.createTask({ id, skill: 'a' })
  tasks.updateTask(id, { state: 'working' })
  tasks.appendArtifact(id, { artifactId: 'a', parts: [{ text: 'x'.repeat(size) }] })
}
const { fetch } = createRequestHandler({
  card: { name: 'A', url: 'http://a' }, tasks, execute: () => 'done', limits: { stalledTimeoutMs: Number(process.argv.at(-2)) },
})
const handler = process.argv.at(-1) === 'by fetch' ? (request) => fetch(request) : fetch
const listener = toNodeListener(handler)
let streams = 0
const server = createServer({ settings: { maxConcurrentStreams: 1_000 } }, (req, res) =>
  req.url === '/streams' ? res.end(String(streams)) : listener(req, res),
)
server.on('stream', (stream) => {
  streams += 1
  stream.on('close', () => (streams -= 1))
})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
`

const ends: (() => unknown)[] = []
afterEach(() => {
  for (const end of ends.splice(0).reverse()) end()
})

async function serve(mode: string, stalledTimeoutMs = 60_000) {
  const flags = ['--max-old-space-size=128', '--input-type=module', '-e', PROGRAM]
  const child = spawn(process.execPath, [...flags, String(stalledTimeoutMs), mode], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  ends.push(() => child.kill('SIGKILL'))
  const [port] = (await once(createInterface(child.stdout), 'line')) as [string]
  const open = (): ClientHttp2Session => {
    const session = connect(`http://127.0.0.1:${port}`)
    session.on('error', () => undefined)
    ends.push(() => session.destroy())
    return session
  }
  return { child, open }
}

/** A request whose answer is not read. */
function ask(
  session: ClientHttp2Session,
  path: string,
  headers: Record<string, string> = {},
): ClientHttp2Stream {
  return session.request({ ':path': path, ...headers }).on('error', () => undefined)
}

async function statusOf(stream: ClientHttp2Stream): Promise<number | undefined> {
  const [headers] = (await once(stream, 'response')) as [{ ':status'?: number }]
  return headers[':status']
}

async function readAll(stream: ClientHttp2Stream): Promise<string> {
  let text = ''
  for await (const chunk of stream.setEncoding('utf8')) text += String(chunk)
  return text
}

async function expectService(session: ClientHttp2Session): Promise<void> {
  for (let turn = 0; turn < 20; turn++) {
    const stream = ask(session, '/tasks/small')
    expect(await statusOf(stream)).toBe(200)
    expect(JSON.parse(await readAll(stream))).toMatchObject({ id: 'small' })
  }
}

describe.each(['direct', 'by fetch'])('%s', (mode) => {
  it.each([
    ['900 streams of one connection that ask for a task', 1, 900, '/tasks/large'],
    ['900 streams of one connection that ask for its events', 1, 900, '/tasks/large:subscribe'],
    ['20 connections with 50 streams each', 20, 50, '/tasks/large'],
  ])(
    '%s, and take nothing, leave the server at work',
    { timeout: 120_000 },
    async (_, sessions, streams, path) => {
      const { child, open } = await serve(mode)
      for (let at = 0; at < sessions; at++) {
        const session = open()
        const headers = path.endsWith('subscribe') ? { ':method': 'POST' } : {}
        const asked = Array.from({ length: streams }, () => ask(session, path, headers).end())
        await Promise.race(asked.map((stream) => once(stream, 'response')))
      }
      await expectService(open())
      expect(child.exitCode).toBeNull()
    },
  )

  it(
    'streams that take nothing are closed in time, and the others of their connection are not',
    { timeout: 60_000 },
    async () => {
      const { open } = await serve(mode, 500)
      const session = open()
      const stalled = Array.from({ length: 20 }, () => ask(session, '/tasks/large'))
      await Promise.all(stalled.map(statusOf))
      const streams = async (): Promise<string> => await readAll(ask(session, '/streams'))
      expect(await streams()).toBe('20')
      await expect.poll(streams).toBe('0')
      await expectService(session)
      expect(session.destroyed).toBe(false)
    },
  )

  it('a body in frames of one byte takes no more memory than another', { timeout: 120_000 }, async () => {
    const { child, open } = await serve(mode)
    const session = open()
    const headers = { ':method': 'POST', 'content-type': 'application/json' }
    const bodies = Array.from({ length: 8 }, () => ask(session, '/message:send', headers))
    const text = Buffer.from(JSON.stringify({ message: user('x'.repeat(60_000)) }))
    for (let at = 0; at < text.length; at += 1) {
      for (const body of bodies) body.write(text.subarray(at, at + 1))
      if (at % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    await expectService(open())
    for (const body of bodies) {
      body.end()
      expect(await statusOf(body)).toBe(200)
    }
    expect(child.exitCode).toBeNull()
  })
})
