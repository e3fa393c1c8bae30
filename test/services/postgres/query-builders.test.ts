/** The store over a client that a query builder uses too. */
import { PGlite } from '@electric-sql/pglite'
import { Kysely, PostgresDialect, sql } from 'kysely'
import postgres from 'postgres'
import { expect, it } from 'vitest'
import { postgresStore, type PostgresClient } from 'a2a-tasks/stores/postgres'
import { change, put } from '../../../src/testing/task-store-suite/samples.js'
import { skipWithoutPostgres, whenPostgres } from '../../support/postgres-server.js'
import { loadService, skipMissing, whenInstalled } from '../installed.js'
import { poolOf, serverForTests } from './support/drivers.js'

it('PostgreSQL is installed', (context) => skipWithoutPostgres(context))

/** What is used of it. */
interface Drizzle {
  readonly drizzle: (client: unknown) => { execute(text: unknown): PromiseLike<unknown> }
}

interface Opened {
  readonly client: PostgresClient
  readonly end: () => Promise<void>
}

const CLIENTS: readonly [driver: string, open: (url: string) => Opened][] = [
  [
    'node-postgres',
    (url) => {
      const client = poolOf(url)
      return { client, end: () => client.end() }
    },
  ],
  [
    'postgres-js',
    (url) => {
      const client = postgres(url, { onnotice: () => undefined })
      return { client, end: () => client.end({ timeout: 1 }) }
    },
  ],
  [
    'pglite',
    () => {
      const client = new PGlite()
      return { client, end: () => client.close() }
    },
  ],
]

whenPostgres('postgresStore', () => {
  const server = serverForTests()
  let schemas = 0

  whenInstalled(['drizzle-orm'], 'Drizzle', () => {
    it.each(CLIENTS)(
      'over %s shares its client with the store, also in a transaction',
      async (driver, open) => {
        const { drizzle } = await loadService<Drizzle>(`drizzle-orm/${driver}`)
        const { sql: text } = await loadService<{ readonly sql: { raw(text: string): unknown } }>(
          'drizzle-orm',
        )
        const { client, end } = open(server().url)
        const own = drizzle(client)
        const schema = `builders_${(schemas += 1)}`
        const store = postgresStore(client, { schema })
        await store.migrate()
        await own.execute(text.raw(`CREATE TABLE ${schema}.times (at timestamptz)`))
        const { task } = await put(store, 'a')
        const { events, ...made } = change(task)
        const result = await store.transact?.({
          ...made,
          work: async (transaction) => {
            await drizzle(transaction).execute(text.raw(`INSERT INTO ${schema}.times VALUES ('2026-01-01Z')`))
            return events
          },
        })
        expect(result).toBe('committed')
        expect((await store.get('a'))?.events).toEqual(events)
        // As Drizzle reads times, which is not how the driver does.
        expect(JSON.stringify(await own.execute(text.raw(`SELECT at FROM ${schema}.times`)))).toContain(
          '"at":"2026-01-01 00:00:00+00"',
        )
        await end()
      },
    )
  })

  it('shares a pool with Kysely, whose open transaction does not include it', async () => {
    const pool = poolOf(server().url)
    const kysely = new Kysely<object>({ dialect: new PostgresDialect({ pool }) })
    const store = postgresStore(pool, { schema: 'kysely' })
    await store.migrate()
    const undone = kysely.transaction().execute(async (own) => {
      await sql`CREATE TABLE kysely.gone (n int)`.execute(own)
      await put(store, 'a')
      throw new Error('Undo')
    })
    await expect(undone).rejects.toThrow('Undo')
    expect(await store.get('a')).toBeDefined()
    await expect(sql`SELECT n FROM kysely.gone`.execute(kysely)).rejects.toThrow('does not exist')
    await kysely.destroy()
  })
})

it('Drizzle is installed', (context) => skipMissing(context, 'drizzle-orm'))
