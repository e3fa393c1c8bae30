/** The tables: made once, brought up to date, and left alone where a later release has made them. */
import { sqliteStore } from 'a2a-tasks/stores/sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Connection } from '../../../src/stores/sqlite/database.js'
import { migrate, STEPS } from '../../../src/stores/sqlite/schema.js'
import { commitOf, creationOf, readLog } from './support/sqlite-log.js'
import { databaseFile, type DatabaseFile } from './support/sqlite.js'

let file: DatabaseFile
beforeEach(() => (file = databaseFile()))
afterEach(() => file.remove())

const ownTables = 'SELECT name, sql FROM sqlite_schema ORDER BY name'

describe('migrate()', () => {
  test('does nothing the second time', async () => {
    const store = await file.open()
    const before = file.connect().prepare(ownTables).all()
    await store.create(creationOf('task'))
    await store.migrate()
    expect(file.connect().prepare(ownTables).all()).toEqual(before)
    expect(await store.get('task')).toBeDefined()
  })

  test('leaves the tables and the version of the application alone', async () => {
    const database = file.connect()
    database.exec('PRAGMA user_version = 7; CREATE TABLE tasks (id TEXT); INSERT INTO tasks VALUES (1)')
    await file.open()
    expect(database.pragma('user_version')).toMatchObject([{ user_version: 7 }])
    expect(database.prepare('SELECT id FROM tasks').all()).toEqual([{ id: '1' }])
  })

  test('brings tables of an older version up to date, keeping their tasks', async () => {
    const store = await file.open()
    const { head } = creationOf('task')
    await store.create(creationOf('task'))
    await store.commit(commitOf({ id: 'task', createdAt: head.createdAt }, 1, 'a', 1))
    const kept = await store.get('task')

    const connection = new Connection(file.connect())
    const steps = [...STEPS, (prefix: string) => `ALTER TABLE ${prefix}tasks ADD COLUMN color TEXT`]
    migrate(connection, 'a2a_', steps)
    migrate(connection, 'a2a_', steps)

    expect(connection.rows('SELECT version FROM a2a_schema')).toEqual([{ version: STEPS.length + 1 }])
    expect(connection.rows('SELECT id, color FROM a2a_tasks')).toEqual([{ id: 'task', color: null }])
    // Opened before, and not informed.
    expect(await store.get('task')).toEqual(kept)
    expect(await readLog(store, 'task')).toHaveLength(2)
  })

  test('changes nothing when a step fails', () => {
    const connection = new Connection(file.connect())
    const steps = [...STEPS, () => 'CREATE TABLE left_over (id TEXT); SELECT no_such_function()']
    expect(() => migrate(connection, 'a2a_', steps)).toThrow('no_such_function')
    expect(connection.rows('SELECT name FROM sqlite_schema')).toEqual([])
  })

  test('refuses tables that a later release has made, and so does every other method', async () => {
    const connection = new Connection(file.connect())
    migrate(connection, 'a2a_', [...STEPS, () => 'SELECT 1'])
    const store = sqliteStore(file.connect())
    const refusal = `have version ${STEPS.length + 1}, and this release knows them up to ${STEPS.length}`
    await expect(store.migrate()).rejects.toThrow(refusal)
    await expect(store.get('task')).rejects.toThrow(refusal)
  })
})

test('a store whose tables are not there says so, and works once they are', async () => {
  const store = sqliteStore(file.connect())
  await expect(store.create(creationOf('task'))).rejects.toThrow('Call migrate() first')
  await expect(store.list({ limit: 1 })).rejects.toThrow('there are none')
  await file.open()
  expect(await store.create(creationOf('task'))).toBe(true)
})

test('stores of different prefixes share a file without meeting', async () => {
  const one = await file.open({ prefix: 'one_' })
  const two = await file.open({ prefix: 'two_' })
  await one.create(creationOf('task'))
  expect(await two.count({})).toBe(0)
})

describe('the options', () => {
  test.each([
    [{ prefix: 'a-b' }, '"prefix" must be'],
    [{ prefix: '' }, '"prefix" must be'],
    [{ prefix: 'a; DROP TABLE x; --' }, '"prefix" must be'],
    [{ prefix: 'sqlite_tasks' }, '"prefix" must be'],
    [{ now: 1 }, '"now" must be a function'],
    [{ feedSize: -1 }, '"feedSize" must be an integer from 0, got -1'],
    [{ feedSize: '9' }, '"feedSize" must be an integer from 0, got "9"'],
    [
      { prefx: 'a' },
      'Unknown option "prefx" of sqliteStore, did you mean "prefix"?; known are now, prefix, feedSize',
    ],
  ])('%o are refused', (options, message) => {
    const database = file.connect()
    // Not what the types allow.
    expect(() => sqliteStore(database, options as object)).toThrow(message)
  })
})
