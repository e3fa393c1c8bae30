/** A PostgreSQL whose tests have a database each. */
import { Client } from 'pg'
import { hasPostgresServer, skipWithoutPostgres, startPostgres } from '../../support/postgres-server.js'
import type { PostgresServer } from '../../support/postgres-server.js'
import type { Engine } from './engine.js'

let count = 0

/** Creates a database of its own for the next test. */
export async function emptyDatabase({ url }: PostgresServer): Promise<{ readonly DATABASE_URL: string }> {
  count += 1
  const client = new Client(url)
  await client.connect()
  await client.query(`CREATE DATABASE turns${count}`)
  await client.end()
  return { DATABASE_URL: url.replace(/[^/]*$/, `turns${count}`) }
}

export const overPostgres: Omit<Engine<PostgresServer>, 'heading' | 'packages' | 'isKilled'> = {
  hasServer: hasPostgresServer,
  skip: skipWithoutPostgres,
  start: () => startPostgres(),
  empty: emptyDatabase,
}
