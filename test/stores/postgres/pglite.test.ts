/** The conformance suite over PostgreSQL in this process. */
import { PGlite, type Transaction } from '@electric-sql/pglite'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { postgresStore } from 'a2a-tasks/stores/postgres'
import { testTaskStore } from 'a2a-tasks/testing'

describe('postgresStore over PGlite', () => {
  let database: PGlite
  let stores = 0

  beforeAll(async () => {
    database = await PGlite.create()
  }, 60_000)
  afterAll(() => database.close())

  testTaskStore({
    test: (name, run) => it(name, run),
    create: async (given) => {
      stores += 1
      const options = { ...given, schema: `store_${stores}` }
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
    supports: { hints: true, reopen: true, feed: true, transactions: true },
  })
})
