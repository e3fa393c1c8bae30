/**
 * The server over HTTP: requests through 16 connections that stay open, over loopback.
 *
 * Each side has its own process, both are there all the time and take turns; the clients are in this process.
 * Ours is `toNodeListener` on `node:http`, the peer's is its handler for Express, on `node:http` too. The floor is
 * `node:http` alone, which parses the body, validates nothing and writes the same JSON. The clients share the machine with them, so the CPU time of the server is printed as well.
 * Each side drops what it drops by default: we the tasks that ended longest ago from 1,000 on, as does the floor, the peer none.
 */
import { connect, type Socket } from 'node:net'
import type { Build } from './build.js'
import { median, sample, type Comparison, type Sample, type Variant } from './harness.js'
import { ServerProcess, type Side } from './http-server.js'
import { fasterThan, formatRate, type Bounds, type Row } from './report.js'
import { getBody, requireCompleted, sendBody, type RpcAnswer, type RpcBody } from './requests.js'
import { BARE, EXPRESS, type Case } from './workload.js'

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
  readonly what: string
  readonly text: (index: number, ids: readonly string[]) => string
  readonly expected: string
}

const COMPLETED = '"state":"TASK_STATE_COMPLETED"'
export const sendQuestion: Question = {
  ...{ what: 'SendMessage over HTTP', expected: COMPLETED },
  text: (index) => post(sendBody(index)),
}
export const getQuestion: Question = {
  ...{ what: 'GetTask over HTTP', expected: COMPLETED },
  text: (index, ids) => post(getBody(index, ids[index % ids.length] ?? '')),
}
const cardQuestion: Question = {
  ...{ what: 'the card over HTTP', expected: '"name":"Bench"' },
  text: () => `GET ${CARD_PATH} HTTP/1.1\r\nhost: localhost\r\n\r\n`,
}

/** A server, the connections to it, and the requests of a round. */
export async function loadOf(side: Side, build: Build, { text, expected }: Question): Promise<Variant> {
  const server = await ServerProcess.start(side, build)
  const connections = Array.from({ length: CONNECTIONS }, () => new Connection(server.port))
  const close = async (): Promise<void> => {
    for (const connection of connections) connection.close()
    await server.stop()
  }
  const ids: string[] = []
  for (let index = 0; index < 500; index++) {
    const { result } = JSON.parse((await connections[0]?.ask(post(sendBody(index)))) ?? '') as RpcAnswer
    ids.push(requireCompleted(result?.task).id)
  }
  const run = async (): Promise<void> => {
    let next = 0
    const askInTurn = async (connection: Connection): Promise<void> => {
      while (next < REQUESTS) {
        const answer = await connection.ask(text(next++, ids))
        if (!answer.includes(expected)) throw new Error(answer)
      }
    }
    await Promise.all(connections.map(askInTurn))
  }
  // A message there and back: nothing beside a thousand requests.
  return { ops: REQUESTS, run, close, cpu: () => server.cpu() }
}

async function* requests(build: Build, question: Question, peers: readonly Peer[]): AsyncIterable<Row> {
  const sides = ['ours', ...peers.map(({ side }) => side)] as const
  const loads = await Promise.all(sides.map((side) => loadOf(side, build, question)))
  try {
    const [own = [], ...others] = await sample(loads, { rounds: ROUNDS, warmUpOps: 3 * REQUESTS })
    for (const [index, { name, bounds }] of peers.entries()) {
      const timesOf = (clock: keyof Sample): Comparison => ({
        ours: own.map((round) => round[clock]),
        peer: (others[index] ?? []).map((round) => round[clock]),
      })
      const times = timesOf('elapsed')
      const { what } = question
      yield {
        ...fasterThan(`${what}, ${CONNECTIONS} connections`, name, times, bounds),
        ...{ ours: formatRate(median(times.ours)), theirs: formatRate(median(times.peer)) },
      }
      yield fasterThan(`${what}, CPU of the server`, name, timesOf('cpu'), {})
    }
  } finally {
    for (const load of loads) await load.close?.()
  }
}

interface Peer {
  readonly side: 'official' | 'floor'
  readonly name: string
  readonly bounds: Bounds
}

const express = (bounds: Bounds): Peer => ({ side: 'official', name: EXPRESS, bounds })
const bare: Peer = { side: 'floor', name: BARE, bounds: { goal: 0.7 } }

export const httpCases: readonly Case[] = [
  {
    name: 'server: SendMessage over HTTP',
    run: (build) => requests(build, sendQuestion, [express({ gate: 2, goal: 3.5 }), bare]),
  },
  {
    name: 'server: GetTask over HTTP',
    run: (build) => requests(build, getQuestion, [express({ goal: 3.5 }), bare]),
  },
  { name: 'server: card over HTTP', run: (build) => requests(build, cardQuestion, [express({})]) },
]
