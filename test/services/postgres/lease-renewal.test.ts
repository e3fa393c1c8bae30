/** Leases of 3 seconds on a real server, while slow queries of requests fill the pool. */
import pg from 'pg'
import postgres from 'postgres'
import { describe, expect, it } from 'vitest'
import { DurableTaskManager } from 'a2a-tasks/durable'
import { createRequestHandler } from 'a2a-tasks/server'
import { postgresStore, type PostgresJsSql } from 'a2a-tasks/stores/postgres'
import { sleep } from '../../../src/runtime/timers.js'
import { slowed, slowPool } from '../../support/slow-pool.js'
import { whenPostgres } from '../../support/postgres-server.js'
import { serverForTests, type OpenedClient } from './support/drivers.js'

const CONNECTIONS = 5
const RUNS = 10
const LEASE_MS = 3_000

whenPostgres('leases over a real server', () => {
  const server = serverForTests()

  describe.each([
    { name: 'pg', open: openPg },
    { name: 'postgres', open: openPostgresJs },
  ])('over $name', ({ name, open }) => {
    it(`ends ${RUNS} of ${RUNS} runs while 33 clients list tasks slowly`, async () => {
      const { client, end } = open(server().url)
      const store = postgresStore(client, { schema: `flooded_${name}` })
      await store.migrate()
      const errors: unknown[] = []
      const tasks = new DurableTaskManager({
        ...{ store, leaseMs: LEASE_MS, sweepIntervalMs: 500 },
        onError: (error) => errors.push(error),
      })
      const handler = createRequestHandler({
        card: { name: 'Slow', url: 'https://agent.example' },
        async execute(run) {
          run.start()
          await sleep(3 * LEASE_MS, run.signal)
          return 'done'
        },
        tasks,
        anonymous: 'shared',
        onError: (error) => errors.push(error),
      })
      const call = (method: string, params: object): Promise<unknown> =>
        Promise.resolve(handler.dispatch({ jsonrpc: '2.0', id: 1, method, params }))
      const runs = Array.from({ length: RUNS }, (_, n) =>
        call('SendMessage', { message: { messageId: `m${n}`, role: 'ROLE_USER', parts: [{ text: 'go' }] } }),
      )
      let isOver = false
      const list = async (): Promise<void> => {
        while (!isOver) {
          const answer = await call('ListTasks', { statusTimestampAfter: '2020-01-01T00:00:00Z' })
          // Answers without a query would come so fast that the runs never continue.
          if (JSON.stringify(answer).includes('INVALID_PARAMS')) throw new Error('The list was refused')
        }
      }
      const floods = Array.from({ length: 33 }, list)
      const states = (await Promise.all(runs)).map((answer) => JSON.stringify(answer))
      isOver = true
      await Promise.all(floods)
      expect(states.filter((answer) => answer.includes('TASK_STATE_COMPLETED'))).toHaveLength(RUNS)
      // With so many clients, their own lists may be refused.
      const others = errors.filter((error) => !/: (list|count)$/.test(String(error)))
      expect(others).toEqual([])
      await handler.close()
      await tasks.destroy()
      await end()
    }, 120_000)
  })
})

type Opened = Pick<OpenedClient, 'client' | 'end'>

function openPg(url: string): Opened {
  const pool = new pg.Pool({ connectionString: url, max: CONNECTIONS })
  return { client: slowPool(pool), end: () => pool.end() }
}

function openPostgresJs(url: string): Opened {
  const sql = postgres(url, { max: CONNECTIONS, onnotice: () => undefined })
  const client: PostgresJsSql = {
    options: sql.options,
    unsafe: (text, ...query) => sql.unsafe(slowed(text), ...query),
    reserve: () => sql.reserve(),
    listen: (...listeners) => sql.listen(...listeners),
  }
  return { client, end: () => sql.end() }
}
