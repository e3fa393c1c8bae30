/** Requests over raw sockets: readers that disconnect at once, and paths that are not plain. */
import { createServer, type Server } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { createRequestHandler, type Run } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import { afterEach, expect, test } from 'vitest'
import { gate, user } from '../spec/support/agent.js'

let server: Server | undefined
afterEach(() => server?.close())

async function listen(options: { maxStreams?: number } = {}): Promise<{ port: number; run: Promise<Run> }> {
  const began = gate<Run>()
  const handler = createRequestHandler({
    card: { name: 'Test', url: 'http://localhost' },
    anonymous: 'shared',
    execute: (run) => {
      run.start()
      began.open(run)
      return gate<undefined>().opened
    },
    limits: options,
  })
  const listening = gate()
  server = createServer(toNodeListener(handler.fetch)).listen(0, '127.0.0.1', () => listening.open())
  await listening.opened
  return { port: (server.address() as AddressInfo).port, run: began.opened }
}

const send = (text: string): string => {
  const body = JSON.stringify({ message: user(text) })
  return `POST /message:stream HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

/** The status line of the answer to `text`, and then nothing more. */
function ask(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    socket.on('error', reject)
    socket.once('data', (chunk) => {
      resolve(chunk.toString().split('\r\n', 1)[0] ?? '')
      socket.destroy()
    })
  })
}

test('readers that are gone before the first byte leave no stream behind', async () => {
  const { port, run } = await listen({ maxStreams: 3 })
  for (let client = 0; client < 20; client++) {
    await new Promise<void>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => {
        socket.write(send('x'), () => setImmediate(() => socket.resetAndDestroy()))
      })
      socket.on('close', () => resolve())
    })
  }
  await run
  for (let count = 0; count < 50; count++) await turn()
  expect(await ask(port, send('x'))).toBe('HTTP/1.1 200 OK')
})

test.each(['x/tasks/y?', 'u:p@x', 'x y'])(
  'a Host header that is more than a host is refused: %s',
  async (host) => {
    const { port } = await listen()
    expect(await ask(port, `GET /public HTTP/1.1\r\nhost: ${host}\r\n\r\n`)).toBe('HTTP/1.1 400 Bad Request')
  },
)

test('a request line with a whole URL is routed by its path', async () => {
  const { port } = await listen()
  expect(await ask(port, 'GET http://h/tasks HTTP/1.1\r\nhost: h\r\n\r\n')).toBe('HTTP/1.1 200 OK')
})
