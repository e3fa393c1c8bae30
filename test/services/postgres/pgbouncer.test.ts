/** Behind PgBouncer in transaction mode: the store with the options that docs/operate/database.md names, and without them. */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postgresStore } from 'a2a-tasks/stores/postgres'
import { testTaskStore } from 'a2a-tasks/testing'
import { put } from '../../../src/testing/task-store-suite/samples.js'
import {
  hasPgBouncer,
  skipWithoutPgBouncer,
  startPgBouncer,
  type PgBouncer,
} from '../../support/pgbouncer.js'
import { startPostgres, whenPostgres, type PostgresServer } from '../../support/postgres-server.js'
import { bookUnderKills } from '../functions/kill.js'
import { DRIVERS, storesBy } from './support/drivers.js'

/** Of three processes, each with a handler and a worker. */
const TASKS = 60

it('PgBouncer is installed', (context) => skipWithoutPgBouncer(context))

if (hasPgBouncer()) {
  whenPostgres('behind PgBouncer in transaction mode', () => {
    let server: PostgresServer | undefined
    let pooler: PgBouncer | undefined
    beforeAll(async () => {
      server = await startPostgres()
      pooler = await startPgBouncer(server.port)
    })
    afterAll(async () => {
      await pooler?.stop()
      await server?.stop()
    })
    const urls = (): readonly [pooled: string, direct: string] => [pooler?.url ?? '', server?.url ?? '']

    it('processes that serve and work, and are killed, end all tasks right', async () => {
      const outcome = await bookUnderKills({
        ...{ name: 'pgbouncer', url: urls().join(' '), replicas: 3, tasks: TASKS, work: 'store' },
      })
      expect(outcome).toMatchObject({ faults: [], doubled: 0 })
    }, 120_000)

    it('a store with prepared statements says what to set', async () => {
      const [pooled] = urls()
      // Each connection prepares each statement once, and the pooler gives it other connections of the server.
      const pool = new pg.Pool({ connectionString: pooled, max: 8 })
      const store = postgresStore(pool, { schema: 'prepared', listen: false })
      try {
        await store.migrate()
        const calls = Array.from({ length: 100 }, (_, n) => put(store, `task ${n}`))
        await expect(Promise.all(calls)).rejects.toMatchObject({
          code: 'STORE_FAILED',
          message: expect.stringContaining('Set prepare: false') as unknown,
        })
        await Promise.allSettled(calls)
      } finally {
        await pool.end()
      }
    })

    describe.each(DRIVERS)('over $name', ({ name, open }) => {
      let stores = 0
      let tests = 0
      testTaskStore({
        test: (title, run) => {
          // The whole suite runs over clients without a pooler.
          if ((tests += 1) % 6 === 0) it(title, run)
        },
        create: async (given) => {
          stores += 1
          const options = { ...given, schema: `pooled_${name}_${stores}`, prepare: false }
          return await storesBy((keep) => {
            const [pooled, direct] = urls()
            return postgresStore(keep(open(pooled)), { ...options, listen: keep(open(direct)) })
          })
        },
        supports: { hints: true, reopen: true, feed: true, leaseCounts: true },
      })
    })
  })
}
