/**
 * A real PostgreSQL server for the tests of a block, and clients of both drivers.
 *
 * @module
 */
import pg from 'pg'
import postgres from 'postgres'
import { afterAll, beforeAll } from 'vitest'
import type { PostgresClient, PostgresStore } from 'a2a-tasks/stores/postgres'
import type { StoreUnderTest } from 'a2a-tasks/testing'
import { startPostgres, type PostgresServer } from '../../../support/postgres-server.js'

/** Starts a server before the tests of this block, and stops it after them. The function returns the server. */
export function serverForTests(): () => PostgresServer {
  let server: PostgresServer | undefined
  beforeAll(async () => {
    server = await startPostgres()
  }, 60_000)
  afterAll(() => server?.stop())
  return () => {
    if (server === undefined) throw new Error('The server has not started')
    return server
  }
}

export interface OpenedClient {
  readonly client: PostgresClient
  readonly end: () => Promise<void>
  /** Resolves to the value `n` of the first row. */
  readonly run: (text: string) => Promise<number | undefined>
}

interface Row {
  readonly n: number
}

/** For `describe.each`. */
export const DRIVERS = [
  { name: 'pg', open: openPg },
  { name: 'postgres', open: openPostgresJs },
]

function openPg(url: string): OpenedClient {
  const pool = poolOf(url)
  const run = async (text: string): Promise<number | undefined> => (await pool.query<Row>(text)).rows[0]?.n
  return { client: pool, end: () => pool.end(), run }
}

function openPostgresJs(url: string): OpenedClient {
  const sql = postgres(url, { onnotice: () => undefined })
  const run = async (text: string): Promise<number | undefined> => (await sql.unsafe<Row[]>(text))[0]?.n
  // The driver waits for ever for a connection that the server has closed.
  return { client: sql, end: () => sql.end({ timeout: 1 }), run }
}

/** An idle connection that breaks emits an event, which ends the process if it has no listener. */
export function poolOf(url: string): pg.Pool {
  return new pg.Pool({ connectionString: url }).on('error', () => undefined)
}

/** The client that a driver passes to the work of a transaction. */
export type TransactionClient = pg.PoolClient | postgres.ReservedSql

export async function execute(client: TransactionClient, text: string): Promise<unknown> {
  return 'query' in client ? await client.query(text) : await client.unsafe(text)
}

type Opened = Pick<OpenedClient, 'client' | 'end'>

/**
 * What `create` of `testTaskStore` returns: a store that is migrated, and others over the same data.
 *
 * @param make - Makes a store. It passes the clients that it opens to `keep`, so that they are ended.
 */
export async function storesBy(
  make: (keep: (opened: Opened) => PostgresClient) => PostgresStore,
): Promise<StoreUnderTest> {
  const all: Opened[] = []
  const keep = (opened: Opened): PostgresClient => {
    all.push(opened)
    return opened.client
  }
  const store = make(keep)
  await store.migrate()
  return {
    store,
    reopen: () => Promise.resolve(make(keep)),
    close: async () => {
      await Promise.all(all.map(({ end }) => end()))
    },
  }
}
