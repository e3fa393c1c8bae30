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
        const counter = `${options.schema}.counter`
        const [first] = opened
        await first?.run(`CREATE TABLE ${counter} (n int)`)
        await first?.run(`INSERT INTO ${counter} VALUES (0)`)
        return {
          store,
          counter: {
            add: (client) => addTo(client, counter),
            read: async () => (await first?.run(`SELECT n FROM ${counter}`)) ?? NaN,
          },
          reopen: () => Promise.resolve(another()),
          close: async () => {
            await Promise.all(opened.map(({ close }) => close()))
          },
        }
      },
      supports: { hints: true, reopen: true, feed: true, transactions: true },
    })
  })
})

interface Opened {
  readonly client: PostgresClient
  readonly close: () => Promise<void>
  /** Resolves to the value `n` of the first row. */
  readonly run: (text: string) => Promise<number | undefined>
}

interface Row {
  readonly n: number
}

/** @param client - What either driver gives for a transaction. */
async function addTo(client: unknown, counter: string): Promise<void> {
  const given = client as pg.PoolClient | postgres.ReservedSql
  const text = `UPDATE ${counter} SET n = n + 1`
  if ('query' in given) await given.query(text)
  else await given.unsafe(text)
}

function openPg({ url }: PostgresServer): Opened {
  const pool = new pg.Pool({ connectionString: url })
  const run = async (text: string): Promise<number | undefined> => (await pool.query<Row>(text)).rows[0]?.n
  return { client: pool, close: () => pool.end(), run }
}

function openPostgresJs({ url }: PostgresServer): Opened {
  const sql = postgres(url)
  const run = async (text: string): Promise<number | undefined> => (await sql.unsafe<Row[]>(text))[0]?.n
  return { client: sql, close: () => sql.end(), run }
}
