/** Readers that do not read, over loopback: what waits for them, and when their connections close. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { setImmediate as turn } from 'node:timers/promises'
import { toNodeListener } from 'a2a-tasks/server/node'
import { afterEach, describe, expect, it } from 'vitest'
import { agent, user } from '../spec/support/agent.js'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

/** More than the operating system takes for a socket that is not read. */
const LARGE = 'Ä'.repeat(8_000_000)

async function serve(limits: object = {}) {
  const made = agent(
    async (run) => {
      if (run.text === 'large') run.artifact({ artifactId: 'a', parts: [{ text: LARGE }] })
      if (run.text === 'forever') {
        run.start()
        await new Promise((resolve) => run.signal.addEventListener('abort', resolve))
      }
      return 'done'
    },
    { limits },
  )
  const responses: ServerResponse[] = []
  const listener = toNodeListener(made.handler.fetch)
  const server = createServer((req, res) => {
    responses.push(res)
    listener(req, res)
  }).listen(0, '127.0.0.1')
  ends.push(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const send = async (words: string): Promise<string> => {
    const response = await fetch(`${url}/message:send`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        message: user(words),
        configuration: { returnImmediately: words === 'forever' },
      }),
    })
    const { task } = (await response.json()) as { task: { id: string } }
    responses.length = 0
    return task.id
  }
  return { ...made, port, url, server, responses, send }
}

function open(port: number, request: string): Socket {
  const socket = connect(port, '127.0.0.1')
  ends.push(() => socket.destroy())
  socket.on('error', () => undefined).write(request)
  return socket
}

const get = (id: string): string => `GET /tasks/${id} HTTP/1.1\r\nhost: a\r\n\r\n`
const subscribe = (id: string): string =>
  `GET /tasks/${id}:subscribe HTTP/1.1\r\nhost: a\r\naccept: text/event-stream\r\n\r\n`

/** Waits until the sockets of so many responses take no more, and those of the others have taken all. */
async function stalled(responses: readonly ServerResponse[], count: number): Promise<void> {
  for (let quiet = 0, before = ''; quiet < 20;) {
    await turn()
    const lengths = responses.map(({ writableLength }) => writableLength)
    const isStalled = lengths.filter((length) => length > 0).length === count
    quiet = isStalled && lengths.join() === before ? quiet + 1 : 0
    before = lengths.join()
  }
}

const isOpen = ({ destroyed }: ServerResponse): boolean => !destroyed
const pendingBytes = (responses: readonly ServerResponse[]): number =>
  responses.reduce((sum, { writableLength }) => sum + writableLength, 0)

describe('a large task', () => {
  it.each(['get', 'subscribe'])('is complete for a reader of %s that reads', async (way) => {
    const { url, send, handler } = await serve()
    const id = await send('large')
    if (way === 'get') {
      for (const fetched of [
        await fetch(`${url}/tasks/${id}`),
        await handler.fetch(new Request(`${url}/tasks/${id}`)),
      ]) {
        const { artifacts } = (await fetched.json()) as { artifacts: { parts: { text: string }[] }[] }
        expect(artifacts[0]?.parts[0]?.text === LARGE).toBe(true)
      }
      return
    }
    const request = JSON.stringify({ message: user('large') })
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: request }
    for (const response of [
      await fetch(`${url}/message:stream`, init),
      await handler.fetch(new Request(`${url}/message:stream`, init)),
    ]) {
      const frames = (await response.text()).split('\n\n')
      expect(frames.filter((frame) => frame.includes(LARGE)).length).toBeGreaterThan(0)
      for (const frame of frames.slice(0, -1)) JSON.parse(frame.slice(frame.indexOf('data: ') + 6))
    }
  })

  it('waits for readers that stall in small pieces, and their connections close in time', async () => {
    const { port, send, responses, clock } = await serve()
    const id = await send('large')
    for (let reader = 0; reader < 10; reader++) open(port, get(id)).pause()
    await stalled(responses, 10)
    expect(pendingBytes(responses)).toBeLessThan(10 * 200_000)
    clock.advance(29_999)
    await turn()
    expect(responses.filter(isOpen)).toHaveLength(10)
    clock.advance(1)
    await Promise.all(responses.filter(isOpen).map((response) => once(response, 'close')))
    expect(clock.pending).toBe(0)
  })

  it('takes its time for a reader that reads slowly', async () => {
    const { port, send, responses, clock } = await serve({ stalledTimeoutMs: 1_000 })
    const id = await send('large')
    const socket = open(port, get(id))
    let received = 0
    socket.on('data', (chunk: Buffer) => {
      received += chunk.byteLength
      socket.pause()
    })
    await stalled(responses, 1)
    while (received < 16_000_000) {
      socket.resume()
      await turn()
      if (responses[0]?.writableLength === 0) break
      const before = pendingBytes(responses)
      for (let turns = 0; turns < 50 && pendingBytes(responses) === before; turns++) {
        socket.resume()
        await turn()
      }
      clock.advance(900)
    }
    expect(received).toBeGreaterThan(1_000_000)
    expect(socket.destroyed).toBe(false)
  })
})

describe('a stream', () => {
  it('that is idle stays open, and one whose reader has stalled within an event does not', async () => {
    const { port, send, responses, clock, tasks } = await serve()
    const id = await send('forever')
    const [reader, sleeper] = [open(port, subscribe(id)), open(port, subscribe(id))]
    reader.resume()
    await once(sleeper, 'data')
    sleeper.pause()
    clock.advance(3_600_000)
    // Heartbeats of an hour reach the sockets.
    while (pendingBytes(responses) > 0) await turn()
    expect(responses.filter(isOpen)).toHaveLength(2)
    tasks.appendArtifact(id, { artifactId: 'a', parts: [{ text: LARGE }] })
    await stalled(responses, 1)
    clock.advance(30_000)
    await Promise.race(responses.map((response) => once(response, 'close')))
    expect(responses.filter(isOpen)).toHaveLength(1)
    expect(reader.destroyed).toBe(false)
  })
})

describe('requests in one write', () => {
  it('are answered one after the other, in their order', async () => {
    const { port, send, tasks } = await serve()
    const ids: string[] = []
    for (let task = 0; task < 20; task++) ids.push(await send(`Hello ${task}`))
    let open_ = 0
    const peek = tasks.peekTask.bind(tasks)
    tasks.peekTask = (...args: Parameters<typeof peek>) => {
      open_ += 1
      return peek(...args)
    }
    const last = 'GET /none HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n'
    const socket = open(port, `${ids.map(get).join('')}${last}`)
    const answer = await text(socket)
    const found = [...answer.matchAll(/"id":"([^"]+)","contextId"/g)].map(([, id]) => id)
    expect(found).toEqual(ids)
    expect(open_).toBe(20)
    expect(answer).toContain('HTTP/1.1 404')
  })

  it('wait for the answer before them', async () => {
    const { port, send, responses } = await serve()
    const id = await send('large')
    open(port, get(id).repeat(700)).pause()
    while (responses.length < 700) await turn()
    await stalled(responses.slice(0, 1), 1)
    const begun = responses.filter(({ headersSent }) => headersSent)
    expect(begun).toHaveLength(1)
  })

  it('are read no further than a piece while one waits, and all answered in their order', async () => {
    const { port, send, server, responses } = await serve()
    const id = await send('forever')
    const request = `GET /tasks/none HTTP/1.1\r\nhost: a\r\npad: ${'x'.repeat(15_000)}\r\n\r\n`
    const connection = once(server, 'connection') as Promise<[Socket]>
    const socket = open(port, subscribe(id))
    const [accepted] = await connection
    await once(socket, 'readable')
    socket.write(request.repeat(300))
    for (let quiet = 0, before = 0; quiet < 200;) {
      await turn()
      quiet = responses.length > 1 && accepted.bytesRead === before ? quiet + 1 : 0
      before = accepted.bytesRead
    }
    expect(accepted.bytesRead).toBeLessThan(500_000)

    socket.setEncoding('utf8')
    let answers = ''
    socket.on('data', (chunk) => (answers += String(chunk)))
    await fetch(`http://127.0.0.1:${port}/tasks/${id}:cancel`, { method: 'POST' })
    while (answers.split('HTTP/1.1 404').length <= 300) await turn()
    expect(accepted.bytesRead).toBeGreaterThan(300 * 15_000)
  })

  it('beyond 1,000 that wait close the connection', async () => {
    const { port, send, responses, url } = await serve()
    const id = await send('large')
    const socket = open(port, get(id).repeat(1_200))
    await once(socket.resume(), 'close')
    expect(responses.length).toBeGreaterThan(1_000)
    expect((await fetch(`${url}/tasks/none`)).status).toBe(404)
  })
})
