/**
 * One side of the HTTP benchmarks, in its own process: `http-child.ts <side> <url of our server>`. Tells its port
 * first; then answers `usage` with its memory, `cpu` with its CPU time, `block` with the longest block of its event loop since
 * the last such message, and on `tick` adds a chunk to the task that never ends.
 */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { AGENT_CARD_PATH } from '@a2a-js/sdk'
import { agentCardHandler, jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express'
import type * as Server from 'a2a-tasks/server'
import type * as Node from 'a2a-tasks/server/node'
import express from 'express'
import { officialInChunks, oursInChunks } from './chunks.js'
import { chunkOf } from './peers/official.js'
import { answerWith, executorOf, officialHandler, type Work } from './peers/official-server.js'
import { ENDLESS, IN_CHUNKS, LARGE, LARGE_BYTES, REPLY } from './requests.js'

export interface Usage {
  readonly rss: number
  readonly heapUsed: number
}

/** What the benchmarks send. */
interface FloorBody {
  readonly id: number
  readonly method: string
  readonly params: { readonly id?: string; readonly message?: object }
}

/** The default of `maxTasks`. */
const HELD = 1_000

const large = 'x'.repeat(LARGE_BYTES)
const never = new Promise<never>(() => undefined)
/** Adds a chunk to the task that never ends. */
let tick = (): void => {}

/** Ours as its documentation says: `toNodeListener`, the defaults of the handler. */
async function oursListener(url: string): Promise<RequestListener> {
  // What was built from src/server has its exports.
  const { createRequestHandler } = (await import(url)) as typeof Server
  const { toNodeListener } = (await import(new URL('node/index.js', url).href)) as typeof Node
  const { fetch } = createRequestHandler({
    card: { name: 'Bench', description: 'Answers at once', url: 'http://localhost/' },
    execute: async (run) => {
      if (run.text === LARGE) return large
      if (run.text === IN_CHUNKS) return oursInChunks(run)
      if (run.text !== ENDLESS) return REPLY
      tick = () => void run.artifact({ artifactId: 'ticks', parts: [{ text: 'tick' }] })
      run.start()
      return never
    },
  })
  return toNodeListener(fetch)
}

const endless: Work = (publish, taskId) => {
  tick = () => publish(chunkOf(taskId, 'ticks', 'tick'))
  return never
}

function officialWork(text: string): Work {
  if (text === ENDLESS) return endless
  return text === IN_CHUNKS ? officialInChunks : answerWith(text === LARGE ? large : REPLY)
}

/** The peer as its samples do: Express, its handler of the card, its handler of JSON-RPC. */
function officialListener(): RequestListener {
  const requestHandler = officialHandler(executorOf(officialWork))
  const app = express()
  app.use(`/${AGENT_CARD_PATH}`, agentCardHandler({ agentCardProvider: requestHandler }))
  app.use('/', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }))
  // Express applications are listeners.
  return app as RequestListener
}

/** Parses the body, validates nothing, and writes the JSON that ours writes. It keeps as many tasks as ours does. */
function floorListener(): RequestListener {
  const tasks = new Map<string, object>()
  const perform = ({ method, params }: FloorBody): object | undefined => {
    if (method === 'GetTask') return tasks.get(params.id ?? '')
    const [id, contextId, timestamp] = [crypto.randomUUID(), crypto.randomUUID(), new Date().toISOString()]
    const artifact = { artifactId: crypto.randomUUID(), parts: [{ text: REPLY }] }
    const task = {
      ...{ id, contextId, status: { state: 'TASK_STATE_COMPLETED', timestamp } },
      ...{ artifacts: [artifact], history: [{ ...params.message, taskId: id, contextId }] },
    }
    tasks.set(id, task)
    const [oldest = ''] = tasks.keys()
    if (tasks.size > HELD) tasks.delete(oldest)
    return { task }
  }
  return (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as FloorBody
      const text = JSON.stringify({ jsonrpc: '2.0', id: body.id, result: perform(body) })
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
      response.writeHead(200, headers).end(text)
    })
  }
}

function usage(): Usage {
  for (let turn = 0; turn < 4; turn++) globalThis.gc?.()
  const { rss, heapUsed } = process.memoryUsage()
  return { rss, heapUsed }
}

/** Nanoseconds since the start of the process. */
function cpu(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) * 1e3
}

const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()

/** Nanoseconds. */
function longestBlock(): number {
  const { max } = delay
  delay.reset()
  return max
}

const ANSWERS: ReadonlyMap<unknown, () => unknown> = new Map<unknown, () => unknown>([
  ['usage', usage],
  ['cpu', cpu],
  ['block', longestBlock],
])
const [side = '', url = ''] = process.argv.slice(2)

function listenerOf(name: string): RequestListener | Promise<RequestListener> {
  if (name === 'ours') return oursListener(url)
  return name === 'floor' ? floorListener() : officialListener()
}

const server = createServer(await listenerOf(side))
process.on('message', (message) => {
  if (message === 'tick') tick()
  else process.send?.(ANSWERS.get(message)?.())
})
// Longer than a benchmark takes: connections that idle are what is measured.
server.keepAliveTimeout = 600_000
process.once('disconnect', () => process.exit())
// As many connect at once as there are to be streams.
server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, () => {
  // A TCP server has such an address.
  process.send?.((server.address() as AddressInfo).port)
})
