/**
 * What clients can take from a server: memory of a connection, memory of a reader that takes nothing, the event loop.
 *
 * Each server has its own process. Memory is what it grows by, garbage collected; what the kernel holds of a connection
 * is not part of it. Of an idle connection it is the heap: 1,000 of them take less than the steps in which a process takes memory
 * from the system. A stalled reader requests a task of 4 MB and reads nothing. The official SDK is behind Express.
 *
 * The longest block of the event loop is that of the server while it answers one request, by `monitorEventLoopDelay`: the
 * costliest bodies within the default limits, then a `GetTask` of the task that each has made. The row shows the costliest of
 * them, by the median of its rounds.
 */
import { connect, type Socket } from 'node:net'
import { once } from 'node:events'
import { costly, COSTLY_KINDS } from '../support/full-house.js'
import type { Build } from './build.js'
import { median } from './harness.js'
import type { Usage } from './http-child.js'
import { ServerProcess, type Side } from './http-server.js'
import { formatBytes, formatNs, type Bounds, type Row } from './report.js'
import { getBody, LARGE, sendBody, type RpcAnswer, type RpcBody } from './requests.js'
import { EXPRESS, type Case } from './workload.js'

const CONNECTIONS = 1_000
const READERS = 50
/** So many begin before the memory is measured: what they load and compile is not what one more costs. */
const FIRST = { rss: 5, heapUsed: 300 }
const ROUNDS = 7

const HEADERS = { 'content-type': 'application/json', 'a2a-version': '1.0' }

async function post(port: number, body: RpcBody): Promise<RpcAnswer> {
  const init = { method: 'POST', headers: HEADERS, body: JSON.stringify(body) }
  // It is an answer of JSON-RPC.
  const answer = (await (await fetch(`http://127.0.0.1:${port}/`, init)).json()) as RpcAnswer
  if (answer.error !== undefined) throw new Error(JSON.stringify(answer.error))
  return answer
}

async function createTask(port: number, body: RpcBody): Promise<string> {
  const { result } = await post(port, body)
  if (result?.task === undefined) throw new Error('The answer is no task')
  return result.task.id
}

/** A connection whose request the server has begun to answer. Nothing else of the answer is read. */
async function request(port: number, body: RpcBody): Promise<Socket> {
  const text = JSON.stringify(body)
  const headers = Object.entries({ ...HEADERS, 'content-length': text.length })
  const lines = ['POST / HTTP/1.1', 'host: localhost', ...headers.map((pair) => pair.join(': ')), '', text]
  const socket = connect({ port, host: '127.0.0.1' })
  socket.write(lines.join('\r\n'))
  await once(socket, 'readable')
  return socket
}

/** Bytes by which a server grows with each request of `text`, whose answer nothing reads. */
async function growth(
  side: Side,
  build: Build,
  text: string,
  count: number,
  of: keyof Usage,
): Promise<number> {
  const server = await ServerProcess.start(side, build)
  const sockets: Socket[] = []
  try {
    const id = await createTask(server.port, sendBody(0, 'SendMessage', text))
    const open = async (upTo: number): Promise<void> => {
      while (sockets.length < upTo) sockets.push(await request(server.port, getBody(1, id)))
    }
    await open(FIRST[of])
    const before = await server.usage()
    await open(FIRST[of] + count)
    const after = await server.usage()
    return (after[of] - before[of]) / count
  } finally {
    for (const socket of sockets) socket.destroy()
    await server.stop()
  }
}

async function held(
  build: Build,
  work: string,
  text: string,
  count: number,
  of: keyof Usage,
  bounds: Bounds,
): Promise<Row[]> {
  const ours = await growth('ours', build, text, count, of)
  const theirs = await growth('official', build, text, count, of)
  return [
    {
      ...{ work, peer: EXPRESS, ours: formatBytes(ours), theirs: formatBytes(theirs) },
      ...{ value: ours / theirs, unit: '×', good: 'at most', ...bounds },
    },
  ]
}

async function longestBlock(build: Build): Promise<Row[]> {
  const server = await ServerProcess.start('ours', build)
  const { port } = server
  const blockOf = async (run: () => Promise<unknown>): Promise<number> => {
    await server.block()
    await run()
    return server.block()
  }
  const blocks: { readonly send: number; readonly read: number }[] = []
  try {
    for (let kind = 0; kind < COSTLY_KINDS; kind++) {
      const send: number[] = []
      const read: number[] = []
      for (let round = 0; round < ROUNDS; round++) {
        const at = kind + round * COSTLY_KINDS
        const message = { messageId: `costly-${at}`, role: 'ROLE_USER', parts: [costly(at)] }
        const body: RpcBody = { jsonrpc: '2.0', id: at, method: 'SendMessage', params: { message } }
        let id = ''
        send.push(await blockOf(async () => (id = await createTask(port, body))))
        read.push(await blockOf(() => post(port, getBody(at, id))))
      }
      blocks.push({ send: median(send), read: median(read) })
    }
  } finally {
    await server.stop()
  }
  const row = (what: string, ns: number): Row => ({
    ...{ work: `longest block of the event loop, ${what}`, peer: '–', theirs: '–', ours: formatNs(ns) },
    ...{ value: ns, unit: 'ns', good: 'at most', gate: 50e6 },
  })
  return [
    row('the costliest message', Math.max(...blocks.map(({ send }) => send))),
    row('GetTask of its task', Math.max(...blocks.map(({ read }) => read))),
  ]
}

export const boundCases: readonly Case[] = [
  {
    name: 'server: memory per idle connection',
    run: (build) =>
      held(build, `heap per idle connection, at ${CONNECTIONS}`, 'Hello', CONNECTIONS, 'heapUsed', {
        goal: 1,
      }),
  },
  {
    name: 'server: memory per stalled reader',
    run: (build) =>
      held(build, `memory (rss) per stalled reader of 4 MB, at ${READERS}`, LARGE, READERS, 'rss', {
        gate: 0.1,
      }),
  },
  { name: 'server: longest block of the event loop', run: longestBlock },
]
