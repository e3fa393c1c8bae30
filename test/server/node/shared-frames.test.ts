/** Streams of one task over loopback: what they share, and what each has of its own. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { createRequestHandler, type Run } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import { afterEach, expect, test } from 'vitest'
import { gate, user } from '../spec/support/agent.js'

const ends: (() => unknown)[] = []
afterEach(() => {
  for (const end of ends.splice(0).reverse()) end()
})

async function serve() {
  const began = gate<Run>()
  const handler = createRequestHandler({
    card: { name: 'Test', url: 'http://localhost' },
    execute: (run) => {
      run.start()
      began.open(run)
      return gate<undefined>().opened
    },
  })
  const server = createServer(toNodeListener(handler.fetch)).listen(0, '127.0.0.1')
  ends.push(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  await handler.dispatch(
    {
      ...{ jsonrpc: '2.0', id: 0, method: 'SendMessage' },
      params: { message: user('go'), configuration: { returnImmediately: true } },
    },
    { version: '1.0' },
  )
  const run = await began.opened
  return { port: (server.address() as AddressInfo).port, run, id: run.task.id }
}

/** What a connection receives, chunk of HTTP by chunk of HTTP. */
class Reader {
  #received = ''
  #onData = (): void => {}

  constructor(port: number, path: string, headers: object, body: object) {
    const text = JSON.stringify(body)
    const lines = Object.entries({
      ...{ host: 'x', 'content-type': 'application/json', 'content-length': text.length },
      ...headers,
    }).map(([name, value]) => `${name}: ${value}\r\n`)
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${text}`)
    })
    ends.push(() => socket.destroy())
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      this.#received += chunk
      this.#onData()
    })
  }

  /** All that has come, once it contains `text`. */
  async until(text: string): Promise<string> {
    while (!this.#received.includes(text)) await new Promise<void>((resolve) => (this.#onData = resolve))
    return this.#received
  }
}

/** The JSON of each event. */
function eventsIn(received: string): { id: unknown; result: Record<string, unknown> }[] {
  return [...received.matchAll(/^data: (\{.*\})$/gm)].map(
    ([, json = '']) => JSON.parse(json) as { id: unknown; result: Record<string, unknown> },
  )
}

test('streams of one task each have the id of their request and the form of their version', async () => {
  const { port, run, id } = await serve()
  const subscribe = (rpcId: unknown, version: string, method: string): Reader =>
    new Reader(port, '/', { 'a2a-version': version }, { jsonrpc: '2.0', id: rpcId, method, params: { id } })
  const readers = [
    subscribe(1, '1.0', 'SubscribeToTask'),
    subscribe('zwei "2"', '1.0', 'SubscribeToTask'),
    subscribe(3, '0.3', 'tasks/resubscribe'),
    subscribe(4, '1.0', 'SubscribeToTask'),
    new Reader(port, `/tasks/${id}:subscribe`, { 'a2a-version': '1.0' }, {}),
  ]
  for (const reader of readers) await reader.until(id)
  run.artifact({ artifactId: 'first', parts: [{ text: 'Grüße' }] })
  run.artifact({ artifactId: 'second', parts: [{ text: 'two' }] })
  const events = []
  for (const reader of readers) events.push(eventsIn(await reader.until('second')).slice(-2))
  const artifact = { artifactId: 'first', parts: [{ text: 'Grüße' }] }
  const update = { artifactUpdate: { taskId: id, contextId: run.task.contextId, artifact } }
  const [first = [], second = [], old = [], fourth = [], rest = []] = events
  expect(first[0]).toEqual({ jsonrpc: '2.0', id: 1, result: update })
  expect(second[0]).toEqual({ jsonrpc: '2.0', id: 'zwei "2"', result: update })
  expect(old[0]).toMatchObject({
    id: 3,
    result: { kind: 'artifact-update', artifact: { artifactId: 'first' } },
  })
  expect(fourth[0]).toEqual({ jsonrpc: '2.0', id: 4, result: update })
  expect(rest[0]).toEqual(update)
  expect(fourth[1]?.result).toEqual(first[1]?.result)
})

test('frames that wait together leave in one chunk', async () => {
  const { port, run, id } = await serve()
  const params = { jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id } }
  const reader = new Reader(port, '/', { 'a2a-version': '1.0' }, params)
  const before = await reader.until(id)
  for (let index = 0; index <= 20; index++) run.artifact({ artifactId: `a-${index}`, parts: [{ text: 'x' }] })
  const received = (await reader.until('a-20')).slice(before.length)
  expect(eventsIn(received)).toHaveLength(21)
  expect(received.match(/^[\da-f]+\r$/gm)).toHaveLength(1)
})
