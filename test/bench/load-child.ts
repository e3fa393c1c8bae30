/**
 * A process of `load.ts`. `server <build> <database>` serves an agent over PostgreSQL, and says its port. `streams <count> <port>
 * <task> …` opens so many streams, in turn of these tasks at these ports, says when they are open, and answers `report` with what
 * has come since the last one, and `lost` with how many ticks are missing of those between `begin` and `end`.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type * as Durable from 'a2a-tasks/durable'
import type * as Server from 'a2a-tasks/server'
import type * as Node from 'a2a-tasks/server/node'
import type * as Postgres from 'a2a-tasks/stores/postgres'
import { Pool } from 'pg'
import { percentile } from './functions-agent.js'
import { ENDLESS, REPLY } from './requests.js'

/** Of latencies, in ms. */
export interface Report {
  readonly count: number
  readonly p50: number
  readonly p99: number
}

const TICK_MS = 2_000
/** So many streams connect at a time. */
const OPENING = 64

export function reportOf(latencies: readonly number[]): Report {
  return { count: latencies.length, p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99) }
}

async function serve(url: string, database: string): Promise<void> {
  const file = (path: string): string => new URL(path, url).href
  // What was built from these folders of src has their exports.
  const { createRequestHandler } = (await import(file('server/index.js'))) as typeof Server
  const { toNodeListener } = (await import(file('server/node/index.js'))) as typeof Node
  const { DurableTaskManager } = (await import(file('durable/index.js'))) as typeof Durable
  const { postgresStore } = (await import(file('stores/postgres/index.js'))) as typeof Postgres
  const pool = new Pool({ connectionString: database, max: 10 })
  const handler = createRequestHandler({
    card: { name: 'Load', url: 'http://localhost/' },
    tasks: new DurableTaskManager({ store: postgresStore(pool) }),
    anonymous: 'shared',
    execute: async (run) => {
      if (run.text !== ENDLESS) return REPLY
      while (!run.signal.aborted) {
        run.artifact({ artifactId: 'ticks', parts: [{ text: `${Date.now()} ` }] })
        await delay(TICK_MS)
      }
      return undefined
    },
  })
  const server = createServer(toNodeListener(handler.fetch))
  server.keepAliveTimeout = 600_000
  await once(server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }), 'listening')
  // A TCP server has such an address.
  process.send?.((server.address() as AddressInfo).port)
}

/** The ticks of one task, each of which has its time as its text. */
class Ticks {
  readonly times = new Set<number>()
  /** How many ticks the streams of the task have received. */
  received = 0
  streams = 0
}

async function listen(count: number, addresses: readonly string[]): Promise<void> {
  const tasks = Array.from({ length: addresses.length / 2 }, () => new Ticks())
  let latencies: number[] = []
  const counted = { from: Infinity, to: Infinity }
  const onTick = (ticks: Ticks, time: number): void => {
    latencies.push(Date.now() - time)
    if (time < counted.from || time >= counted.to) return
    ticks.times.add(time)
    ticks.received += 1
  }
  let next = 0
  const open = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) {
      const at = index % tasks.length
      const ticks = tasks[at]
      if (ticks === undefined) throw new Error('There is no task')
      ticks.streams += 1
      await openStream(Number(addresses[2 * at]), addresses[2 * at + 1] ?? '', (time) => onTick(ticks, time))
    }
  }
  await Promise.all(Array.from({ length: OPENING }, open))
  process.on('message', (message) => {
    if (message === 'begin') counted.from = Date.now()
    if (message === 'end') counted.to = Date.now()
    if (message === 'report') {
      process.send?.(reportOf(latencies))
      latencies = []
    }
    if (message !== 'lost') return
    process.send?.(
      tasks.reduce((sum, { times, streams, received }) => sum + times.size * streams - received, 0),
    )
  })
  process.send?.('open')
}

/** Resolves when the first event, the task, has come. */
function openStream(port: number, taskId: string, onTick: (time: number) => void): Promise<void> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id: taskId } })
  const head = [
    ...['POST / HTTP/1.1', 'host: localhost', 'content-type: application/json', 'a2a-version: 1.0'],
    ...['accept: text/event-stream', `content-length: ${body.length}`, '', body],
  ].join('\r\n')
  return new Promise((resolve, reject) => {
    let isOpen = false
    let rest = ''
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(head))
    socket.setEncoding('latin1').on('error', reject)
    socket.on('data', (chunk) => {
      const events = `${rest}${String(chunk)}`.split('\n\n')
      rest = events.pop() ?? ''
      for (const event of events.filter((each) => each.includes('data: {'))) {
        const time = isOpen ? /"text":"(\d{13}) "/.exec(event)?.[1] : undefined
        if (time !== undefined) onTick(Number(time))
        isOpen = true
        resolve()
      }
    })
  })
}

const [role, ...given] = process.argv.slice(2)
if (role === 'server') await serve(given[0] ?? '', given[1] ?? '')
if (role === 'streams') await listen(Number(given[0]), given.slice(1))
process.once('disconnect', () => process.exit())
