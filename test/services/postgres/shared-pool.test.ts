/** Many managers over one pool of `pg`, and a server that ends connections. */
import pg from 'pg'
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest'
import { DurableTaskManager, type Transaction } from 'a2a-tasks/durable'
import { postgresStore } from 'a2a-tasks/stores/postgres'
import { put } from '../../../src/testing/task-store-suite/samples.js'
import { skipWithoutPostgres, whenPostgres } from '../../support/postgres-server.js'
import { serverForTests } from './support/drivers.js'

it('PostgreSQL is installed', (context) => skipWithoutPostgres(context))

const KEY = { id: 'none', createdAt: '2026-01-01T00:00:00.000Z' }

/** Of a task that is missing. */
const TRANSACTION: Transaction = {
  ...{ key: KEY, expectedGeneration: 1, commitId: 'c', work: () => Promise.resolve([]) },
  head: { ...KEY, generation: 2, state: 'working', hasEnded: false, updatedAt: KEY.createdAt },
}

whenPostgres('managers over one pool', () => {
  const server = serverForTests()
  const uncaught: unknown[] = []
  const note = (error: unknown): void => void uncaught.push(error)
  beforeEach(() => {
    uncaught.length = 0
    process.on('uncaughtException', note)
  })
  afterEach(() => {
    process.off('uncaughtException', note)
    expect(uncaught).toEqual([])
  })

  function poolOf(max: number): pg.Pool {
    const pool = new pg.Pool({ connectionString: server().url, max }).on('error', () => undefined)
    onTestFinished(() => pool.end())
    return pool
  }

  async function schemaOf(pool: pg.Pool, schema: string): Promise<string> {
    await postgresStore(pool, { schema }).migrate()
    return schema
  }

  function managerOver(pool: pg.Pool, schema: string): DurableTaskManager {
    // Nothing is found by polling.
    const manager = new DurableTaskManager({
      store: postgresStore(pool, { schema }),
      pollIntervalMs: 600_000,
    })
    // A pool ends only after the client that listens was released, also where the test has failed.
    onTestFinished(() => manager.destroy())
    return manager
  }

  async function listeners(pool: pg.Pool): Promise<number> {
    const { rows } = await pool.query(`SELECT FROM pg_stat_activity WHERE query LIKE 'LISTEN%'`)
    return rows.length
  }

  /** Resolves when the second manager has learned by a hint of what the first has done. */
  async function hears([a, b]: readonly [DurableTaskManager, DurableTaskManager], id: string): Promise<void> {
    await a.createTask({ id, skill: 's' })
    const ended = b.waitFor(id)
    await a.updateTask(id, { state: 'working' })
    await a.updateTask(id, { state: 'completed' })
    expect(await ended).toMatchObject({ state: 'completed' })
  }

  it('share the connection that listens: 20 over a pool of 10, in two schemas', async () => {
    const pool = poolOf(10)
    const schemas = [await schemaOf(pool, 'shared_a'), await schemaOf(pool, 'shared_b')]
    const pairs = schemas.flatMap((schema) =>
      Array.from({ length: 5 }, () => [managerOver(pool, schema), managerOver(pool, schema)] as const),
    )
    // Until it listens, a manager reads the store again, and may have heard of all before.
    await Promise.all(pairs.map((pair, index) => hears(pair, `task ${index}`)))
    await expect.poll(() => listeners(pool)).toBeGreaterThan(0)
    await Promise.all(pairs.map((pair, index) => hears(pair, `heard ${index}`)))
    expect(await listeners(pool)).toBe(1)
    await Promise.all(pairs.flat().map((manager) => manager.destroy()))
    await expect.poll(() => listeners(pool)).toBe(0)
    expect(pool.waitingCount).toBe(0)
  }, 60_000)

  it.each([true, false])(
    'are made again at each reload of the code, and destroyed: %s',
    async (isDestroyed) => {
      const pool = poolOf(10)
      const schema = await schemaOf(pool, `reloaded_${isDestroyed}`)
      const left: DurableTaskManager[] = []
      for (let reload = 0; reload < 12; reload += 1) {
        const pair = [managerOver(pool, schema), managerOver(pool, schema)] as const
        await hears(pair, `task ${reload}`)
        if (isDestroyed) await Promise.all(pair.map((manager) => manager.destroy()))
        else left.push(...pair)
      }
      await Promise.all(left.map((manager) => manager.destroy()))
      await expect.poll(() => listeners(pool)).toBe(0)
    },
    60_000,
  )

  it('say what to do when the application leaves them no connection', async () => {
    const pool = poolOf(2)
    const store = postgresStore(pool, { schema: await schemaOf(pool, 'starved') })
    const taken = [await pool.connect(), await pool.connect()]
    const text = 'All 2 are in use: raise "max" of the Pool, or release the clients'
    const hints = store.hints?.listen(
      () => undefined,
      () => undefined,
    )
    await Promise.all([
      expect(store.get('a')).rejects.toThrow(text),
      expect(store.transact?.(TRANSACTION)).rejects.toThrow(text),
      expect(hints).rejects.toThrow(text),
    ])
    for (const client of taken) client.release()
    // What waited in vain takes no connection later.
    expect(await store.get('a')).toBeUndefined()
    expect(pool.idleCount).toBe(2)
  }, 30_000)

  it('outlive a server that ends their connections at any moment', async () => {
    const pool = poolOf(6)
    const schema = await schemaOf(pool, 'killed')
    const store = postgresStore(pool, { schema })
    await put(store, 'a')
    const admin = new pg.Client({ connectionString: server().url })
    await admin.connect()
    let isOver = false
    let calls = 0
    const work = async (): Promise<void> => {
      while (!isOver) {
        await store.get('a').catch(() => undefined)
        await store.transact?.(TRANSACTION).catch(() => undefined)
        calls += 1
      }
    }
    const stop = await store.hints?.listen(
      () => undefined,
      () => undefined,
    )
    const working = Array.from({ length: 12 }, work)
    for (let kills = 0; kills < 600; kills += 1) {
      await admin.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()`,
      )
    }
    isOver = true
    await Promise.all(working)
    await stop?.()
    await admin.end()
    expect(calls).toBeGreaterThan(100)
    await expect.poll(() => store.get('a').catch(() => undefined)).toBeDefined()
  }, 120_000)
})
