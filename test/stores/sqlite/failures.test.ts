/** Permanent errors: thrown at once, with a text that names the remedy. */
import { A2AError } from 'a2a-tasks'
import { DurableTaskManager } from 'a2a-tasks/durable'
import { openTasks, sqliteStore, type SqliteDatabase } from 'a2a-tasks/stores/sqlite'
import { ManualClock } from 'a2a-tasks/testing'
import Database from 'libsql'
import { createRequire } from 'node:module'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { creationOf } from './support/sqlite-log.js'
import { databaseFile, type DatabaseFile } from './support/sqlite.js'

let file: DatabaseFile
beforeEach(() => (file = databaseFile()))
afterEach(() => file.remove())

describe('a store rejects with its own failure', () => {
  test('when its tables are not there', async () => {
    const error = await rejection(sqliteStore(file.connect()).create(creationOf('task')))
    expect(error).toMatchObject({ code: 'STORE_FAILED', data: { operation: 'create' } })
    expect(error.message).toBe(
      'The tables of "a2a-tasks" (a2a_…) are not set up: there are none. Call migrate() first',
    )
  })

  test('when a later release has made them', async () => {
    const store = await file.open()
    await store.create(creationOf('task'))
    file.connect().exec('UPDATE a2a_schema SET version = 99')
    const late = sqliteStore(file.connect())
    const failures = [await rejection(late.get('task')), await rejection(late.migrate())]
    expect(failures).toMatchObject([{ data: { operation: 'get' } }, { data: { operation: 'migrate' } }])
    // Opened before: the statements of a release do with the tables of the ones after it.
    expect(await store.get('task')).toBeDefined()
  })

  test('when nothing may be written', async () => {
    await file.open()
    const database = file.connect()
    database.exec('PRAGMA query_only = ON')
    const error = await rejection(sqliteStore(database).create(creationOf('task')))
    expect(error.message).toBe(
      'The database of the tasks cannot be used: attempt to write a readonly database',
    )
    expect(error.cause).toMatchObject({ code: 'SQLITE_READONLY' })
  })

  test('when a table or an index is gone', async () => {
    const store = await file.open()
    file.connect().exec('DROP INDEX a2a_tasks_by_time; DROP TABLE a2a_leases')
    expect((await rejection(store.count({}))).message).toContain('no such index: a2a_tasks_by_time')
    expect((await rejection(store.orphans(1))).message).toContain('no such table: a2a_leases')
  })

  test('when the connection is closed', async () => {
    const database = file.connect()
    const store = sqliteStore(database)
    database.close()
    expect((await rejection(store.get('task'))).message).toContain('is not open')
  })
})

test('a file that is locked is not such a failure: it passes', async () => {
  await file.open()
  const database = file.connect()
  database.exec('PRAGMA busy_timeout = 1')
  const other = file.connect()
  other.exec('BEGIN IMMEDIATE')
  const attempt = sqliteStore(database).create(creationOf('task'))
  expect(A2AError.is(await attempt.catch((error: unknown) => error))).toBe(false)
})

test('a forgotten migrate() is reported at once, before any time has passed', async () => {
  const clock = new ManualClock()
  const tasks = new DurableTaskManager({ store: sqliteStore(file.connect()), clock })
  await expect(tasks.createTask({ skill: 'echo' })).rejects.toThrow('Call migrate() first')
  await expect(tasks.getTask('task')).rejects.toThrow('Call migrate() first')
  await tasks.destroy()
})

describe('what is no database is refused:', () => {
  const WANTED = '"database" must be an open database of node:sqlite, libsql or better-sqlite3'
  const Asynchronous = createRequire(import.meta.url)('libsql/promise') as new (path: string) => unknown

  test.each([
    ['nothing', undefined, `${WANTED}, or for openTasks() the path of a file; got undefined`],
    ['null', null, 'got null'],
    ['a URL', new URL('file:///tasks.db'), 'the path of a file; got an instance of URL'],
    ['a promise', Promise.resolve(), 'got a promise: await it'],
    ['libsql/promise', new Asynchronous(':memory:'), 'this one is asynchronous, as "libsql/promise" is'],
  ])('%s', async (_name, database, message) => {
    // Not what the types allow.
    const given = database as SqliteDatabase
    expect(() => sqliteStore(given)).toThrow(TypeError)
    expect(() => sqliteStore(given)).toThrow(message)
    await expect(openTasks(given)).rejects.toThrow(message)
  })

  test('a path, which openTasks() opens as a database', () => {
    // Not what the types allow.
    const path = 'tasks.db' as unknown as SqliteDatabase
    expect(() => sqliteStore(path)).toThrow(`${WANTED}, or for openTasks() the path of a file; got a string`)
  })

  type Statement = ReturnType<Database.Database['prepare']>
  test.each<[string, (statement: Statement) => unknown]>([
    ['arrays, as "returnArrays" of node:sqlite says', (statement) => statement.raw()],
    ['bare values', (statement) => statement.pluck()],
  ])('one whose statements give %s', (_, change) => {
    const database = file.connect()
    const changed = {
      exec: database.exec.bind(database),
      prepare: (sql: string) => change(database.prepare(sql)),
    }
    // Not what the types say of what `change` returns.
    expect(() => sqliteStore(changed as SqliteDatabase)).toThrow(
      'must give rows as objects: leave out "returnArrays", raw(), pluck() and expand()',
    )
  })

  test('one whose statements give rows to a callback', () => {
    const statement = { run: () => statement, all: () => statement }
    const database = { exec: () => undefined, prepare: () => statement }
    // Not what the types allow.
    expect(() => sqliteStore(database as unknown as SqliteDatabase)).toThrow('asynchronous')
  })
})

test('prefixes that differ in case alone are the same to SQLite, and to the store', async () => {
  const database = new Database(':memory:')
  const [lower, upper] = [sqliteStore(database), sqliteStore(database, { prefix: 'A2A_' })]
  await lower.migrate()
  await upper.migrate()
  await lower.create(creationOf('task'))
  expect(await upper.count({})).toBe(1)
})

async function rejection(promise: Promise<unknown>): Promise<A2AError> {
  const error: unknown = await promise.catch((thrown: unknown) => thrown)
  if (A2AError.is(error, 'STORE_FAILED')) return error
  throw new Error('It did not reject with STORE_FAILED', { cause: error })
}
