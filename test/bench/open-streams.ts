/**
 * Many clients that listen to one task: SubscribeToTask over HTTP, each client with its own connection.
 *
 * The server is in its own process, the clients are bare sockets in this one; one side after the other, since
 * both take file descriptors. Memory is what the server grows by, garbage collected, from the first stream to the last;
 * the kernel's part of a connection is in neither number. An event goes from this process to the server's executor and
 * from there to every client; the time is until the last has it.
 */
import { connect, type Socket } from 'node:net'
import type { Build } from './build.js'
import { median } from './harness.js'
import { ServerProcess, type Side } from './http-server.js'
import { fasterThan, formatBytes, type Row } from './report.js'
import { ENDLESS, sendBody, type RpcAnswer } from './requests.js'
import { EXPRESS, type Case } from './workload.js'

const STREAMS = 10_000
const EVENTS = 5
/** So many connect at a time. */
const OPENING = 64
/** Files that are open for other reasons. */
const RESERVE = 200

interface Measured {
  readonly rss: number
  readonly heapUsed: number
  /** Nanoseconds until one event has reached all streams, event by event. */
  readonly reached: number[]
}

/** A client of one stream, that counts what comes. */
class Listener {
  readonly #socket: Socket
  readonly #tail = { text: '' }
  readonly #onEvent: () => void

  private constructor(socket: Socket, onEvent: () => void) {
    this.#socket = socket
    this.#onEvent = onEvent
    socket.setEncoding('latin1').on('data', (chunk) => this.#read(String(chunk)))
  }

  /** Resolves when the stream's first event, the task, has come. */
  static open(port: number, taskId: string, onEvent: () => void): Promise<Listener> {
    return new Promise((resolve, reject) => {
      let isOpen = false
      const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(subscription(taskId)))
      const listener = new Listener(socket, () => {
        if (isOpen) onEvent()
        else resolve(listener)
        isOpen = true
      })
      socket.on('error', reject)
    })
  }

  close(): void {
    this.#socket.destroy()
  }

  #read(chunk: string): void {
    const events = `${this.#tail.text}${chunk}`.split('\n\n')
    this.#tail.text = events.pop() ?? ''
    for (const event of events) if (event.includes('data: {')) this.#onEvent()
  }
}

function subscription(taskId: string): string {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id: taskId } })
  const lines = [
    ...['POST / HTTP/1.1', 'host: localhost', 'content-type: application/json', 'a2a-version: 1.0'],
    ...['accept: text/event-stream', `content-length: ${body.length}`, '', body],
  ]
  return lines.join('\r\n')
}

/** A task that goes on as long as the server does. */
async function endlessTask(port: number): Promise<string> {
  const body = JSON.stringify(sendBody(0, 'SendMessage', ENDLESS, { returnImmediately: true }))
  const response = await fetch(`http://127.0.0.1:${port}/`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json', 'a2a-version': '1.0' }, body },
  })
  // It is an answer of JSON-RPC.
  const { result } = (await response.json()) as RpcAnswer
  if (result?.task === undefined) throw new Error('There is no task to listen to')
  return result.task.id
}

async function measureSide(side: Side, build: Build, count: number): Promise<Measured> {
  const server = await ServerProcess.start(side, build)
  const listeners: Listener[] = []
  let missing = 0
  let reachedAll = (): void => {}
  const onEvent = (): void => {
    missing -= 1
    if (missing === 0) reachedAll()
  }
  const open = async (taskId: string, upTo: number): Promise<void> => {
    let next = listeners.length
    const connection = async (): Promise<void> => {
      while (next++ < upTo) listeners.push(await Listener.open(server.port, taskId, onEvent))
    }
    await Promise.all(Array.from({ length: OPENING }, connection))
  }
  const tellAll = (): Promise<void> => {
    missing = listeners.length
    return new Promise((resolve) => {
      reachedAll = resolve
      server.tick()
    })
  }
  try {
    const taskId = await endlessTask(server.port)
    // What the first streams load and compile is not what a stream costs.
    const first = Math.ceil(count / 20)
    await open(taskId, first)
    await tellAll()
    const before = await server.usage()
    await open(taskId, count)
    const after = await server.usage()
    const reached: number[] = []
    for (let event = 0; event < EVENTS; event++) {
      const start = performance.now()
      await tellAll()
      reached.push((performance.now() - start) * 1e6)
    }
    const perStream = (what: 'rss' | 'heapUsed'): number => (after[what] - before[what]) / (count - first)
    return { rss: perStream('rss'), heapUsed: perStream('heapUsed'), reached }
  } finally {
    for (const listener of listeners) listener.close()
    await server.stop()
  }
}

/** As many as the files that this process may open; 10,000 where it may. */
function streamsAllowed(): number {
  // As much of the report as is read here.
  const { userLimits } = process.report.getReport() as unknown as {
    userLimits?: { open_files?: { soft: number | string } }
  }
  const files = Number(userLimits?.open_files?.soft ?? Infinity)
  return Math.min(STREAMS, (Number.isNaN(files) ? Infinity : files) - RESERVE)
}

async function openStreams(build: Build): Promise<Row[]> {
  const count = streamsAllowed()
  const ours = await measureSide('ours', build, count)
  const peer = await measureSide('official', build, count)
  const shown = count.toLocaleString('en')
  const memory = (name: string, what: 'rss' | 'heapUsed'): Row => ({
    ...{ work: `${name} per open stream, at ${shown}`, peer: EXPRESS },
    ...{ ours: formatBytes(ours[what]), theirs: formatBytes(peer[what]) },
    ...{ value: ours[what] / peer[what], unit: '×', good: 'at most' },
  })
  const times = { ours: [median(ours.reached)], peer: [median(peer.reached)] }
  return [
    memory('memory (rss)', 'rss'),
    memory('heap', 'heapUsed'),
    fasterThan(`one event to ${shown} streams`, EXPRESS, times, { goal: 3.5 }),
  ]
}

export const openStreamCases: readonly Case[] = [{ name: 'server: 10,000 open streams', run: openStreams }]
