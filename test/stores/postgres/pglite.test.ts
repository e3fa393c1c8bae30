/** The conformance suite over PostgreSQL in this process. */
import { PGlite, type Transaction } from '@electric-sql/pglite'
import { beforeAll, describe, expect, it } from 'vitest'
import { postgresStore } from 'a2a-tasks/stores/postgres'
import { testTaskStore } from 'a2a-tasks/testing'
import { change, put } from '../../../src/testing/task-store-suite/samples.js'
import { newSchema, sharedPglite } from '../../support/pglite.js'

/** What a commit, a group of commits, a read, a lease and the feed do. */
const BASICS = /^(a created task|a commit|each of many commits|a lease|only the holder|any JSON|the feed has)/

describe('postgresStore over PGlite', () => {
  let database: PGlite

  beforeAll(async () => {
    database = await sharedPglite()
  }, 60_000)

  testTaskStore({
    test: (name, run) => {
      // Each test migrates a schema. `npm run test:all` runs all of them over a PostgreSQL server.
      if (BASICS.test(name)) it(name, run)
    },
    create: async (given) => {
      const options = { ...given, schema: newSchema() }
      const store = postgresStore(database, options)
      await store.migrate()
      const counter = `${options.schema}.counter`
      await database.exec(`CREATE TABLE ${counter} (n int); INSERT INTO ${counter} VALUES (0)`)
      return {
        store,
        counter: {
          add: async (client) => {
            // The store passes on the transaction of the driver.
            await (client as Transaction).query(`UPDATE ${counter} SET n = n + 1`)
          },
          read: async () => {
            const { rows } = await database.query<{ n: number }>(`SELECT n FROM ${counter}`)
            return rows[0]?.n ?? NaN
          },
        },
        reopen: () => Promise.resolve(postgresStore(database, options)),
        close: async () => {
          await database.query(`DROP SCHEMA ${options.schema} CASCADE`)
        },
      }
    },
    supports: { hints: true, reopen: true, feed: true, transactions: true, leaseCounts: true },
  })
})

it('parsers and serializers of the application do not reach the store', async () => {
  const broken = (): string => 'broken'
  const all = Object.fromEntries([16, 20, 23, 25, 114, 3802, 1009].map((type) => [type, broken]))
  const database = new PGlite({ parsers: all, serializers: all })
  const store = postgresStore(database, { feedSize: 10 })
  await store.migrate()
  const { task } = await put(store, 'a', { lease: { id: 'l', ttlMs: 1_000 } })
  const made = change(task, { leaseId: 'l' })
  expect(await store.commit(made)).toBe('committed')
  expect((await store.get('a'))?.events).toEqual(made.events)
  expect(await store.renew([{ key: made.key, id: 'l' }], 1_000)).toEqual(['l'])
  expect(await store.count({ state: task.state })).toBe(1)
  await database.close()
}, 60_000)
