/** The store over a connection that a query builder uses too. */
import { DurableTaskManager } from 'a2a-tasks/durable'
import { sqliteStore } from 'a2a-tasks/stores/sqlite'
import { ManualClock } from 'a2a-tasks/testing'
import { Kysely, sql, SqliteDialect } from 'kysely'
import Database from 'libsql'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { gate } from '../../support/faulty-store.js'

test('waits for the open transaction of Kysely, which undoes nothing of it', async () => {
  const database = new Database(':memory:')
  const kysely = new Kysely<object>({ dialect: new SqliteDialect({ database }) })
  const store = sqliteStore(database)
  await store.migrate()
  const clock = new ManualClock()
  const tasks = new DurableTaskManager({ store, clock })
  const [begun, end] = [gate(), gate()]
  const undone = kysely.transaction().execute(async (own) => {
    await sql`CREATE TABLE gone (n INTEGER)`.execute(own)
    begun.open()
    await end.opened
    throw new Error('Undo')
  })
  await begun.opened
  const creating = tasks.createTask({ id: 'a', skill: 'echo' })
  await turn()
  end.open()
  await expect(undone).rejects.toThrow('Undo')
  clock.advance(1_000)
  await creating
  expect(await tasks.getTask('a')).toMatchObject({ skill: 'echo' })
  await expect(sql`SELECT n FROM gone`.execute(kysely)).rejects.toThrow('no such table')
  await tasks.destroy()
  await kysely.destroy()
})
