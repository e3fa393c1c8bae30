/** The conformance suite over a real PostgreSQL, by both clients. */
import { describe, it } from 'vitest'
import { postgresStore } from 'a2a-tasks/stores/postgres'
import { testTaskStore } from 'a2a-tasks/testing'
import { skipWithoutPostgres, whenPostgres } from '../../support/postgres-server.js'
import {
  DRIVERS,
  execute,
  serverForTests,
  type OpenedClient,
  type TransactionClient,
} from './support/drivers.js'

it('PostgreSQL is installed', (context) => skipWithoutPostgres(context))

whenPostgres('postgresStore', () => {
  const server = serverForTests()
  let stores = 0

  describe.each(DRIVERS)('over $name', ({ open }) => {
    testTaskStore({
      test: (name, run) => it(name, run),
      create: async (given) => {
        stores += 1
        const options = { ...given, schema: `store_${stores}` }
        const opened: OpenedClient[] = []
        const another = () => {
          const one = open(server().url)
          opened.push(one)
          return postgresStore(one.client, options)
        }
        const store = another()
        await store.migrate()
        const counter = `${options.schema}.counter`
        const [first] = opened
        await first?.run(`CREATE TABLE ${counter} (n int)`)
        await first?.run(`INSERT INTO ${counter} VALUES (0)`)
        return {
          store,
          counter: {
            // The store passes on what the driver gives.
            add: async (client) => {
              await execute(client as TransactionClient, `UPDATE ${counter} SET n = n + 1`)
            },
            read: async () => (await first?.run(`SELECT n FROM ${counter}`)) ?? NaN,
          },
          reopen: () => Promise.resolve(another()),
          close: async () => {
            await Promise.all(opened.map(({ end }) => end()))
          },
        }
      },
      supports: { hints: true, reopen: true, feed: true, transactions: true, leaseCounts: true },
    })
  })
})
