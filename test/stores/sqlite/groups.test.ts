/** Commits to a SQLite store that are requested together. */
import { sqliteStore, type SqliteDatabase } from 'a2a-tasks/stores/sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { change, put } from '../../../src/testing/task-store-suite/samples.js'
import { databaseFile, type DatabaseFile } from './support/sqlite.js'

let file: DatabaseFile
beforeEach(() => (file = databaseFile()))
afterEach(() => file.remove())

const IDS = ['a', 'b', 'c', 'd', 'e']

test('commits of one turn are one transaction', async () => {
  const database = file.connect()
  const transactions: string[] = []
  const counting: SqliteDatabase = {
    prepare: (sql) => database.prepare(sql),
    exec: (sql) => {
      if (/^(COMMIT|ROLLBACK)/.test(sql)) transactions.push(sql)
      database.exec(sql)
    },
  }
  const store = sqliteStore(counting)
  await store.migrate()
  const made = await Promise.all(IDS.map((id) => put(store, id)))
  transactions.length = 0
  const answers = await Promise.all(made.map(({ task }) => store.commit(change(task))))
  expect(answers).toEqual(IDS.map(() => 'committed'))
  expect(transactions).toEqual(['COMMIT'])
})

test('of several commits, one that the database refuses fails alone', async () => {
  const database = file.connect()
  const store = sqliteStore(database)
  await store.migrate()
  const made = await Promise.all(IDS.map((id) => put(store, id)))
  database.exec(`CREATE TRIGGER refuse BEFORE INSERT ON a2a_events WHEN NEW.json LIKE '%wrong%' BEGIN
    SELECT RAISE(ABORT, 'refused'); END`)
  const commits = made.map(({ task }) => change(task, { outputs: [task.id === 'c' ? 'wrong' : 'right'] }))
  const results = await Promise.allSettled(commits.map((commit) => store.commit(commit)))
  expect(results.map(({ status }) => status)).toEqual(
    IDS.map((id) => (id === 'c' ? 'rejected' : 'fulfilled')),
  )
  const heads = await store.heads(IDS)
  expect(Object.fromEntries(heads.map(({ id, generation }) => [id, generation]))).toEqual({
    ...{ a: 2, b: 2, c: 1, d: 2, e: 2 },
  })
})
