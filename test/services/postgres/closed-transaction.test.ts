/** A server that ends the connection of a transaction while its work waits for something else. */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postgresStore } from 'a2a-tasks/stores/postgres'
import { change, put } from '../../../src/testing/task-store-suite/samples.js'
import { skipWithoutPostgres, whenPostgres } from '../../support/postgres-server.js'
import { DRIVERS, execute, serverForTests, type TransactionClient } from './support/drivers.js'

it('PostgreSQL is installed', (context) => skipWithoutPostgres(context))

whenPostgres('a transaction whose connection has ended', () => {
  const server = serverForTests()
  let admin: pg.Pool
  beforeAll(() => {
    admin = new pg.Pool({ connectionString: server().url, max: 1 })
  })
  afterAll(() => admin.end())

  async function endOthers(): Promise<void> {
    await admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()')
    const left = async (): Promise<number> =>
      (await admin.query(`SELECT FROM pg_stat_activity WHERE state IS NOT NULL`)).rows.length
    await expect.poll(left).toBe(1)
  }

  describe.each(DRIVERS)('over $name', ({ name, open }) => {
    it.each(['the work', 'the commit'])('is refused at %s, and the next one succeeds', async (first) => {
      const uncaught: unknown[] = []
      const note = (error: unknown): void => void uncaught.push(error)
      process.on('uncaughtException', note)
      const { client, end } = open(server().url)
      const schema = `closed_${name}_${first.slice(4)}`
      const store = postgresStore(client, { schema, listen: false })
      await store.migrate()
      const { events, ...transaction } = change((await put(store, 'a')).task)
      const work = async (given: unknown): Promise<typeof events> => {
        await endOthers()
        // The store passes on what the driver gives.
        if (first === 'the work') await execute(given as TransactionClient, 'SELECT 1')
        return events
      }
      await expect(store.transact?.({ ...transaction, work })).rejects.toThrow()
      // "postgres" can wait in vain for a connection that the server has closed. A manager tries again.
      const again = (): Promise<unknown> | undefined =>
        store.transact?.({ ...transaction, work: () => Promise.resolve(events) }).catch(() => undefined)
      await expect.poll(again).toBe('committed')
      expect(uncaught).toEqual([])
      process.off('uncaughtException', note)
      await end()
    })
  })
})
