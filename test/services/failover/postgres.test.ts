/** A primary that dies under load, and the standby that takes over: docs/operate/database.md. */
import pg from 'pg'
import postgres from 'postgres'
import { describe, expect, it, onTestFinished } from 'vitest'
import { DurableTaskManager } from '../../../src/durable/index.js'
import { A2AError } from '../../../src/index.js'
import type { Run } from '../../../src/server/index.js'
import { postgresStore, type PostgresClient } from '../../../src/stores/postgres/index.js'
import { skipWithoutPostgres, whenPostgres } from '../../support/postgres-server.js'
import { startSwitch } from '../../support/tcp-switch.js'
import { execute, type TransactionClient } from '../postgres/support/drivers.js'
import { underLoad, work } from './load.js'
import { ask, replayed, startPair, type Pair } from './postgres-pair.js'

it('PostgreSQL is installed', (context) => skipWithoutPostgres(context))

/** How many tasks end before the failover, and after it. */
const TASKS = 20

/** Refuses connections to a standby, as on the page. */
async function requirePrimary(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby')
  if (rows[0]?.standby !== false) throw new Error('This server is a standby')
}

function poolAt(port: number): pg.Pool {
  const pool = new pg.Pool({
    connectionString: `postgres://postgres@127.0.0.1:${port}/postgres`,
    // The pool waits for the promise, which its types do not say.
    onConnect: (client): undefined => requirePrimary(client) as never,
  }).on('error', () => undefined)
  onTestFinished(() => pool.end())
  return pool
}

function sqlAt({ primary, standby }: Pair): postgres.Sql {
  const url = `postgres://postgres@127.0.0.1:${primary.port},127.0.0.1:${standby.port}/postgres`
  const sql = postgres(url, {
    ...{ target_session_attrs: 'primary' as const, onnotice: () => undefined },
    backoff: () => 0.1,
  })
  onTestFinished(() => sql.end({ timeout: 1 }))
  return sql
}

/** As `work`, with a row in the table `effects` for each step. */
async function transfer(run: Run): Promise<string> {
  return await work(run, async (each, number) => {
    await each.transaction('write', async (client: TransactionClient, { key }) => {
      await execute(client, `INSERT INTO effects VALUES ('${key}')`)
      return null
    })
    return number
  })
}

whenPostgres('PostgreSQL with a standby', () => {
  describe.each([
    {
      name: 'pg, by an address that moves',
      open: async ({ primary, standby }: Pair) => {
        const address = await startSwitch(primary.port)
        onTestFinished(() => address.close())
        return {
          clients: [poolAt(address.port), poolAt(address.port)] as PostgresClient[],
          // Earlier than it should: until the standby is promoted, it takes no changes.
          move: () => address.pointTo(standby.port),
        }
      },
    },
    {
      name: 'postgres, by a list of servers',
      open: (pair: Pair) =>
        Promise.resolve({
          clients: [sqlAt(pair), sqlAt(pair)] as PostgresClient[],
          move: () => undefined,
        }),
    },
  ])('that replicates synchronously, over $name', ({ open }) => {
    it('loses nothing when the primary dies under load', { timeout: 150_000 }, async () => {
      const pair = await startPair({ synchronous_standby_names: '*' })
      await ask(pair.primary, 'CREATE TABLE effects (k text)')
      const { clients, move } = await open(pair)
      const stores = clients.map((client) => postgresStore(client))
      await stores[0]?.migrate()
      const outcome = await underLoad({
        stores,
        execute: transfer,
        during: async (more) => {
          await more(TASKS)
          await pair.primary.halt()
          move()
          await ask(pair.standby, 'SELECT pg_promote()')
          await more(TASKS)
        },
      })
      expect(outcome).toMatchObject({ faults: [], lost: [], errors: [] })
      expect(outcome.ended).toBeGreaterThanOrEqual(2 * TASKS)
      // Each step wrote its row once, in the same transaction.
      const rows = await ask(pair.standby, 'SELECT count(*) AS n, count(DISTINCT k) AS keys FROM effects')
      const [steps] = await ask(
        pair.standby,
        `SELECT count(*) AS n FROM a2a_tasks.events WHERE json::json #>> '{entry,kind}' = 'step'`,
      )
      expect(rows).toEqual([{ n: steps?.['n'], keys: steps?.['n'] }])
    })
  })

  it('loses by asynchronous replication what the standby has not received, and changes what it has', async () => {
    const { primary, standby } = await startPair()
    const address = await startSwitch(primary.port)
    onTestFinished(() => address.close())
    const store = postgresStore(poolAt(address.port))
    await store.migrate()
    const tasks = new DurableTaskManager({ store, sweepIntervalMs: false, onError: () => undefined })
    onTestFinished(() => tasks.destroy())
    const { id } = await tasks.createTask({ skill: 'test' })
    await replayed({ primary, standby })

    // The standby hears nothing more of the primary.
    await ask(standby, `ALTER SYSTEM SET primary_conninfo = ''`)
    await ask(standby, 'SELECT pg_reload_conf()')
    await expect.poll(() => ask(primary, 'SELECT pid FROM pg_stat_replication')).toEqual([])
    await tasks.updateTask(id, { state: 'working' })
    await tasks.updateTask(id, { state: 'completed' })
    const lost = await tasks.createTask({ skill: 'test' })
    await primary.halt()
    await ask(standby, 'SELECT pg_promote()')
    address.pointTo(standby.port)

    // To this process, the task had ended.
    expect(await tasks.updateTask(id, { state: 'working' })).toMatchObject({
      state: 'working',
      generation: 2,
    })
    expect(await tasks.getTask(lost.id)).toBeNull()
    await expect(tasks.cancelTask(lost.id)).rejects.toSatisfy((error) => A2AError.is(error, 'TASK_NOT_FOUND'))
    expect((await tasks.events(id)).map(({ generation }) => generation)).toEqual([1, 2])
  }, 150_000)
})
