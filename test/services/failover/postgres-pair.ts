/** A primary of PostgreSQL with a standby, both for one test. */
import pg from 'pg'
import { expect, onTestFinished } from 'vitest'
import { startPostgres, type PostgresServer } from '../../support/postgres-server.js'

export interface Pair {
  readonly primary: PostgresServer
  readonly standby: PostgresServer
}

/** @param settings - Of the primary. */
export async function startPair(settings: Readonly<Record<string, string>> = {}): Promise<Pair> {
  const primary = await startPostgres(settings)
  onTestFinished(() => primary.stop())
  const standby = await startPostgres({}, primary)
  onTestFinished(() => standby.stop())
  return { primary, standby }
}

/** One statement, by a connection of its own. Resolves to its rows. */
export async function ask(
  { url }: Pick<PostgresServer, 'url'>,
  text: string,
): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(text)).rows
  } finally {
    await client.end()
  }
}

/** Resolves when the standby shows all that the primary has stored by now. */
export async function replayed({ primary, standby }: Pair): Promise<void> {
  const [now] = await ask(primary, 'SELECT pg_current_wal_lsn()::text AS lsn')
  const isDone = `SELECT pg_last_wal_replay_lsn() >= '${String(now?.['lsn'])}' AS done`
  await expect.poll(() => ask(standby, isDone), { timeout: 10_000 }).toEqual([{ done: true }])
}
