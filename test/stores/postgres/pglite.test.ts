/** The conformance suite over PostgreSQL in this process. */
import type { PGlite, Transaction } from '@electric-sql/pglite'
import { beforeAll, describe, it } from 'vitest'
import { postgresStore } from 'a2a-tasks/stores/postgres'
import { testTaskStore } from 'a2a-tasks/testing'
import { newSchema, sharedPglite } from '../../support/pglite.js'
import { runsAll } from '../../support/samples.js'

describe('postgresStore over PGlite', () => {
  let database: PGlite
  let tests = 0

  beforeAll(async () => {
    database = await sharedPglite()
  }, 60_000)

  testTaskStore({
    test: (name, run) => {
      // Each test migrates a schema. `npm run test:all` runs all of them, here and over a PostgreSQL server.
      if (runsAll || tests++ % 3 === 0) it(name, run)
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
    supports: { hints: true, reopen: true, feed: true, transactions: true },
  })
})
