/** The conformance suite over a real PostgreSQL, by both clients. */
import pg from 'pg'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { postgresStore, type PostgresClient } from 'a2a-tasks/stores/postgres'
import { testTaskStore } from 'a2a-tasks/testing'
import {
  skipWithoutPostgres,
  startPostgres,
  whenPostgres,
  type PostgresServer,
} from '../../support/postgres-server.js'

it('PostgreSQL is installed', (context) => skipWithoutPostgres(context))

whenPostgres('postgresStore', () => {
  let server: PostgresServer
  let stores = 0

  beforeAll(async () => {
    server = await startPostgres()
  }, 60_000)
  afterAll(() => server.stop())

  describe.each([
    { name: 'pg', open: openPg },
    { name: 'postgres', open: openPostgresJs },
  ])('over $name', ({ open }) => {
    testTaskStore({
      test: (name, run) => it(name, run),
      create: async (given) => {
        stores += 1
        const options = { ...given, schema: `store_${stores}` }
        const opened: Opened[] = []
        const another = () => {
          const one = open(server)
          opened.push(one)
          return postgresStore(one.client, options)
        }
        const store = another()
        await store.migrate()
        return {
          store,
          reopen: () => Promise.resolve(another()),
          close: async () => {
            await Promise.all(opened.map(({ close }) => close()))
          },
        }
      },
      supports: { hints: true, reopen: true, feed: true },
    })
  })
})

interface Opened {
  readonly client: PostgresClient
  readonly close: () => Promise<void>
}

function openPg({ url }: PostgresServer): Opened {
  const pool = new pg.Pool({ connectionString: url })
  return { client: pool, close: () => pool.end() }
}

function openPostgresJs({ url }: PostgresServer): Opened {
  const sql = postgres(url)
  return { client: sql, close: () => sql.end() }
}
