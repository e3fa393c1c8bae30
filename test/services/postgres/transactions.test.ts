/** Transactions of a real PostgreSQL that others, or the server, get in the way of. */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, test } from 'vitest'
import type { Transaction, TransactionResult } from 'a2a-tasks/durable'
import { postgresStore, type PostgresStore } from 'a2a-tasks/stores/postgres'
import { keyOf } from '../../../src/core/task.js'
import { change, move, put } from '../../../src/testing/task-store-suite/samples.js'
import { skipWithoutPostgres, whenPostgres } from '../../support/postgres-server.js'
import { gate } from '../../support/faulty-store.js'
import {
  DRIVERS,
  execute,
  serverForTests,
  type OpenedClient,
  type TransactionClient,
} from './support/drivers.js'

it('PostgreSQL is installed', (context) => skipWithoutPostgres(context))

whenPostgres('transactions', () => {
  const server = serverForTests()
  let schemas = 0

  describe.each(DRIVERS)('over $name', ({ open }) => {
    let opened: OpenedClient
    let store: PostgresStore
    let table: string
    beforeAll(() => (opened = open(server().url)))
    afterAll(() => opened.end())

    async function fresh(lease?: string): Promise<ReturnType<typeof change>> {
      const schema = `transactions_${Math.random().toString(36).slice(2)}_${(schemas += 1)}`
      store = postgresStore(opened.client, { schema, listen: false })
      await store.migrate()
      table = `${schema}.numbers`
      const pool = new pg.Pool({ connectionString: server().url, max: 1 })
      await pool.query(`CREATE TABLE ${table} (n int UNIQUE DEFERRABLE INITIALLY IMMEDIATE)`)
      await pool.end()
      const { task } = await put(store, 'a', lease === undefined ? {} : { lease: { id: lease, ttlMs: 1 } })
      return change(task, lease === undefined ? {} : { leaseId: lease })
    }

    async function transact(
      made: ReturnType<typeof change>,
      work: (client: TransactionClient, call: number) => Promise<unknown>,
    ): Promise<{ readonly result: TransactionResult | undefined; readonly calls: number }> {
      const { events, key, expectedGeneration, head, commitId, leaseId } = made
      let calls = 0
      const transaction: Transaction = {
        ...{ key, expectedGeneration, head, commitId, leaseId },
        // The store passes on what the driver gives.
        work: (client) => work(client as TransactionClient, (calls += 1)).then(() => events),
      }
      const result = await store.transact?.(transaction)
      return { result, calls }
    }

    async function numbers(): Promise<number[]> {
      const pool = new pg.Pool({ connectionString: server().url, max: 1 })
      const { rows } = await pool.query<{ n: number }>(`SELECT n FROM ${table} ORDER BY n`)
      await pool.end()
      return rows.map(({ n }) => n)
    }

    const add = (client: TransactionClient, n: number): Promise<unknown> =>
      execute(client, `INSERT INTO ${table} VALUES (${n})`)

    test('work whose lease another process has acquired is undone', async () => {
      const made = await fresh('l')
      const { result } = await transact(made, async (client) => {
        await add(client, 1)
        await expect
          .poll(async () => (await store.acquire(made.key, { id: 'm', ttlMs: 60_000 }))?.leaseId)
          .toBe('m')
      })
      expect(result).toBe('lease-lost')
      expect(await numbers()).toEqual([])
    })

    test('work on a task that has changed is undone', async () => {
      const made = await fresh()
      const stored = await store.get('a')
      const { result, calls } = await transact(made, async (client) => {
        await add(client, 1)
        if (stored !== undefined) await move(store, stored.checkpoint)
      })
      expect({ result, calls }).toEqual({ result: 'conflict', calls: 1 })
      expect(await numbers()).toEqual([])
    })

    test('work that the database rolls back after a conflict runs again', async () => {
      const made = await fresh()
      const { result, calls } = await transact(made, async (client, call) => {
        await add(client, call)
        if (call === 1)
          await execute(client, `DO $$ BEGIN RAISE EXCEPTION 'stale' USING ERRCODE = '40001'; END $$`)
      })
      expect({ result, calls }).toEqual({ result: 'committed', calls: 2 })
      expect(await numbers()).toEqual([2])
    })

    test('a connection that breaks is a failure of the store, and the repetition succeeds', async () => {
      const made = await fresh()
      const broken = transact(made, async (client) => {
        await add(client, 1)
        await execute(client, 'SELECT pg_terminate_backend(pg_backend_pid())')
      })
      await expect(broken).rejects.toThrow()
      expect(await numbers()).toEqual([])
      const { result } = await transact(made, (client) => add(client, 1))
      expect(result).toBe('committed')
      expect(await numbers()).toEqual([1])
    })

    test('a server that takes no changes is a failure of the store, and no work begins', async () => {
      const made = await fresh()
      const reading = open(`${server().url}?options=-c%20default_transaction_read_only%3Don`)
      onTestFinished(() => reading.end())
      const [schema] = table.split('.')
      const writing = store
      store = postgresStore(reading.client, { schema, listen: false })
      let calls = 0
      const refused = transact(made, async (client) => {
        calls += 1
        await add(client, 1)
      })
      await expect(refused).rejects.toMatchObject({ code: '25006' })
      expect(calls).toBe(0)
      store = writing
      expect(await transact(made, (client) => add(client, 1))).toEqual({ result: 'committed', calls: 1 })
      expect(await numbers()).toEqual([1])
    })

    test('work that writes in a transaction that it has set to read only fails', async () => {
      const made = await fresh()
      const { result, calls } = await transact(made, async (client) => {
        await execute(client, 'SET TRANSACTION READ ONLY')
        await add(client, 1)
      })
      expect({ result, calls }).toMatchObject({ result: { error: { code: '25006' } }, calls: 1 })
    })

    test('a constraint that fails at the commit is the failure of the work', async () => {
      const made = await fresh()
      const { result } = await transact(made, async (client) => {
        await execute(client, 'SET CONSTRAINTS ALL DEFERRED')
        await add(client, 1)
        await add(client, 1)
      })
      expect(result).toMatchObject({ error: { code: '23505' } })
      expect(await numbers()).toEqual([])
    })

    test('work that catches an error of the database fails', async () => {
      const made = await fresh()
      const { result } = await transact(made, async (client) => {
        await add(client, 1)
        await execute(client, 'SELECT 1 / 0').catch(() => undefined)
      })
      expect(result).toMatchObject({ error: { code: '25P02' } })
      expect(await numbers()).toEqual([])
    })

    test('an attempt that conflicts with the late commit of an earlier attempt returns the result of that commit', async () => {
      const made = await fresh()
      const [inserted, commit] = [gate(), gate()]
      const first = transact(made, async (client) => {
        await add(client, 1)
        inserted.open()
        await commit.opened
      })
      await inserted.opened
      const second = transact(made, async (client) => {
        const adding = add(client, 1)
        commit.open()
        await adding
      })
      expect((await first).result).toBe('committed')
      expect(await second).toEqual({ result: 'committed', calls: 1 })
      expect(await numbers()).toEqual([1])
      expect(await store.events(keyOf(made.task), made.expectedGeneration, 10)).toHaveLength(1)
    })
  })
})
