/** A durable function of transactions, each of which adds a row to a table, that is killed at any moment. */
import type Database from 'libsql'
import type { PoolClient } from 'pg'
import { textOf, type Run } from '../../../src/server/index.js'

export const TRANSFERS = 10
const ASKS_BEFORE = 4

/** Creates the table. Not by the function: processes that create a table at once disturb each other. */
export const SET_UP = 'CREATE TABLE IF NOT EXISTS effects (k text NOT NULL)'

/** Each transaction adds its key to the table `effects`, between pauses in which the process may die. */
export async function transfer(run: Run): Promise<string> {
  let answer = ''
  for (let count = 0; count < TRANSFERS; count += 1) {
    if (count === ASKS_BEFORE) answer = textOf(await run.requireInput('What?'))
    await run.transaction('add', (client: PoolClient | Database.Database, { key }) => {
      const text = `INSERT INTO effects VALUES ('${key}')`
      if ('query' in client) return addSlowly(client, text)
      client.exec(text)
      return 'added'
    })
  }
  return `You said ${answer}`
}

async function addSlowly(client: PoolClient, text: string): Promise<string> {
  await client.query('SELECT pg_sleep(random() * 0.02)')
  await client.query(text)
  await client.query('SELECT pg_sleep(random() * 0.02)')
  return 'added'
}
