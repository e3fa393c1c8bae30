/**
 * Leases under load: ten runs hold leases of 3 seconds over PostgreSQL, while 33 clients list tasks as fast as they can, each
 * over a count that takes 400 ms on the server. The pool has five connections. The run of the other side has no such clients.
 *
 * The row is the longest time that a renewal takes. A run whose lease expires would fail, and with it the benchmark.
 */
import type * as Postgres from 'a2a-tasks/stores/postgres'
import type * as Server from 'a2a-tasks/server'
import type { TaskStore } from 'a2a-tasks/durable'
import { Pool } from 'pg'
import { startPostgres } from '../support/postgres-server.js'
import { slowPool } from '../support/slow-pool.js'
import type { Build } from './build.js'
import { needPostgres } from './missing.js'
import { loadDurable } from './durable-stores.js'
import { formatNs, type Row } from './report.js'
import { sendBody } from './requests.js'
import { expectEqual, type Case } from './workload.js'

const RUNS = 10
const CLIENTS = 33
const CONNECTIONS = 5
const LEASE_MS = 3_000
const RUN_MS = 3 * LEASE_MS

/** Nanoseconds of the longest renewal. */
async function longestRenewal(build: Build, connectionString: string, clients: number): Promise<number> {
  const file = (path: string): string => new URL(path, build.url).href
  // What was built from src/stores/postgres and src/server has their exports.
  const { postgresStore } = (await import(file('stores/postgres/index.js'))) as typeof Postgres
  const { createRequestHandler } = (await import(file('server/index.js'))) as typeof Server
  const { DurableTaskManager } = await loadDurable(build)
  const pool = new Pool({ connectionString, max: CONNECTIONS })
  const slow = slowPool(pool)
  const store = postgresStore(slow, { schema: `leases_${clients}` })
  await store.migrate()
  const renewals: number[] = []
  const tasks = new DurableTaskManager({
    store: timed(store, renewals),
    leaseMs: LEASE_MS,
    sweepIntervalMs: 500,
  })
  const handler = createRequestHandler({
    ...{ card: { name: 'Slow', url: 'http://localhost/' }, tasks, anonymous: 'shared' as const },
    onError: () => undefined,
    async execute(run) {
      run.start()
      await new Promise((resolve) => setTimeout(resolve, RUN_MS))
      return 'done'
    },
  })
  let isOver = false
  const list = async (): Promise<void> => {
    const params = { statusTimestampAfter: '2020-01-01T00:00:00Z' }
    while (!isOver) await handler.dispatch({ jsonrpc: '2.0', id: 1, method: 'ListTasks', params })
  }
  const runs = Array.from({ length: RUNS }, (_, at) => handler.dispatch(sendBody(at)))
  const lists = Array.from({ length: clients }, list)
  const answers = await Promise.all(runs)
  isOver = true
  await Promise.all(lists)
  await handler.close()
  await tasks.destroy()
  await pool.end()
  const ended = answers.filter((answer) => JSON.stringify(answer).includes('TASK_STATE_COMPLETED'))
  expectEqual(ended.length, RUNS, `runs that end while ${clients} clients list tasks`)
  return Math.max(...renewals)
}

/** The store, which adds the time of each renewal to `renewals`. */
function timed(store: TaskStore, renewals: number[]): TaskStore {
  return new Proxy(store, {
    get(target, name) {
      // What a store has by this name.
      const value = Reflect.get(target, name) as unknown
      if (typeof value !== 'function') return value
      if (name !== 'renew') return value.bind(target) as unknown
      return async (...parameters: Parameters<TaskStore['renew']>) => {
        const start = performance.now()
        const kept = await target.renew(...parameters)
        renewals.push((performance.now() - start) * 1e6)
        return kept
      }
    },
  })
}

async function leasesUnderLoad(build: Build): Promise<Row[]> {
  needPostgres()
  const server = await startPostgres({ fsync: 'on' })
  try {
    const quiet = await longestRenewal(build, server.url, 0)
    const loaded = await longestRenewal(build, server.url, CLIENTS)
    return [
      {
        ...{
          work: `PostgreSQL: longest renewal of a lease, ${CLIENTS} clients list slowly`,
          peer: 'no clients',
        },
        ...{ ours: formatNs(loaded), theirs: formatNs(quiet), value: loaded, unit: 'ns', good: 'at most' },
        // A manager abandons a renewal after a third of the lease.
        gate: (LEASE_MS / 3) * 1e6,
      },
    ]
  } finally {
    await server.stop()
  }
}

export const leaseCases: readonly Case[] = [{ name: 'durable: leases under load', run: leasesUnderLoad }]
