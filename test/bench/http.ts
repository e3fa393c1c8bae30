/**
 * The server over HTTP: requests through 16 connections that stay open, over loopback.
 *
 * Each side has its own process, both are there all the time and take turns; the clients are in this process.
 * Ours is `toNodeListener` on `node:http`, the peer's is its handler for Express, on `node:http` too. The
 * clients share the machine with them, so the CPU time of the server is printed as well.
 * Each side drops what it drops by default: we the tasks that ended longest ago from 1,000 on, the peer none.
 */
import { connect, type Socket } from 'node:net'
import type { Build } from './build.js'
import { measure, median, type Variant } from './harness.js'
import { ServerProcess } from './http-server.js'
import { fasterThan, formatRate, type Bounds, type Row } from './report.js'
import { getBody, requireCompleted, sendBody, type RpcAnswer, type RpcBody } from './requests.js'
import { EXPRESS, type Case } from './workload.js'

const CONNECTIONS = 16
const REQUESTS = 1_000
const ROUNDS = 7
const CARD_PATH = '/.well-known/agent-card.json'

/**
 * One connection that asks and waits in turn, by hand: a client of Node's own takes more CPU than either server, on
 * the same two cores.
 */
class Connection {
  readonly #socket: Socket
  #received = ''
  #answered: ((body: string) => void) | undefined

  constructor(port: number) {
    this.#socket = connect(port, '127.0.0.1')
    this.#socket.setNoDelay().setEncoding('latin1')
    this.#socket.on('data', (chunk: string) => this.#take(chunk))
  }

  /** The body of the answer, as Latin-1. */
  ask(text: string): Promise<string> {
    this.#socket.write(text)
    return new Promise((resolve) => (this.#answered = resolve))
  }

  close(): void {
    this.#socket.destroy()
  }

  #take(chunk: string): void {
    this.#received += chunk
    const end = this.#received.indexOf('\r\n\r\n')
    if (end === -1) return
    const head = this.#received.slice(0, end)
    const [, length] = /\r\ncontent-length: (\d+)/i.exec(head) ?? []
    if (!head.startsWith('HTTP/1.1 200') || length === undefined) throw new Error(this.#received)
    if (this.#received.length < end + 4 + Number(length)) return
    const body = this.#received.slice(end + 4)
    this.#received = ''
    this.#answered?.(body)
  }
}

function post(body: RpcBody): string {
  const text = JSON.stringify(body)
  const headers = [
    'content-type: application/json',
    'a2a-version: 1.0',
    `content-length: ${Buffer.byteLength(text)}`,
  ]
  return ['POST / HTTP/1.1', 'host: localhost', ...headers, '', text].join('\r\n')
}

/** The text of a request, and what its answer has in it. */
interface Question {
  readonly text: (index: number, ids: readonly string[]) => string
  readonly expected: string
}

const COMPLETED = '"state":"TASK_STATE_COMPLETED"'
const send: Question = { text: (index) => post(sendBody(index)), expected: COMPLETED }
const get: Question = {
  text: (index, ids) => post(getBody(index, ids[index % ids.length] ?? '')),
  expected: COMPLETED,
}
const card: Question = {
  text: () => `GET ${CARD_PATH} HTTP/1.1\r\nhost: localhost\r\n\r\n`,
  expected: '"name":"Bench"',
}

interface Load extends Variant {
  /** Nanoseconds of the server's CPU per request, of each run. */
  readonly cpu: number[]
}

async function loadOf(
  server: ServerProcess,
  connections: readonly Connection[],
  { text, expected }: Question,
): Promise<Load> {
  const ids: string[] = []
  for (let index = 0; index < 500; index++) {
    const { result } = JSON.parse((await connections[0]?.ask(post(sendBody(index)))) ?? '') as RpcAnswer
    ids.push(requireCompleted(result?.task).id)
  }
  const cpu: number[] = []
  let used = await server.cpu()
  const run = async (): Promise<void> => {
    let next = 0
    const askInTurn = async (connection: Connection): Promise<void> => {
      while (next < REQUESTS) {
        const answer = await connection.ask(text(next++, ids))
        if (!answer.includes(expected)) throw new Error(answer)
      }
    }
    await Promise.all(connections.map(askInTurn))
    // A message there and back: nothing beside a thousand requests.
    const now = await server.cpu()
    cpu.push((now - used) / REQUESTS)
    used = now
  }
  return { ops: REQUESTS, run, cpu }
}

async function requests(build: Build, what: string, question: Question, bounds: Bounds): Promise<Row[]> {
  const servers = [await ServerProcess.start('ours', build), await ServerProcess.start('official', build)]
  const clients = servers.map(({ port }) => Array.from({ length: CONNECTIONS }, () => new Connection(port)))
  try {
    const loads = await Promise.all(
      servers.map((server, index) => loadOf(server, clients[index] ?? [], question)),
    )
    const [ours = [], peer = []] = await measure(loads, { rounds: ROUNDS, warmUpOps: 3 * REQUESTS })
    const [oursCpu = [], peerCpu = []] = loads.map(({ cpu }) => cpu.slice(-ROUNDS))
    return [
      {
        ...fasterThan(`${what}, ${CONNECTIONS} connections`, EXPRESS, { ours, peer }, bounds),
        ...{ ours: formatRate(median(ours)), theirs: formatRate(median(peer)) },
      },
      fasterThan(`${what}, CPU of the server`, EXPRESS, { ours: oursCpu, peer: peerCpu }, {}),
    ]
  } finally {
    for (const connection of clients.flat()) connection.close()
    for (const server of servers) await server.stop()
  }
}

export const httpCases: readonly Case[] = [
  {
    name: 'server: SendMessage over HTTP',
    run: (build) => requests(build, 'SendMessage over HTTP', send, { gate: 2, goal: 3 }),
  },
  { name: 'server: GetTask over HTTP', run: (build) => requests(build, 'GetTask over HTTP', get, {}) },
  { name: 'server: card over HTTP', run: (build) => requests(build, 'the card over HTTP', card, {}) },
]
