/** Tasks in a file, in one line. */
import { memoryStore } from 'a2a-tasks/durable'
import { openTasks, type SqliteDatabase } from 'a2a-tasks/stores/sqlite'
import Database from 'libsql'
import { writeFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { databaseFile, type DatabaseFile } from './support/sqlite.js'

let file: DatabaseFile
beforeEach(() => (file = databaseFile()))
afterEach(() => file.remove())

// The types are those of Node 20.
const { getBuiltinModule } = process as { getBuiltinModule: (id: string) => unknown }
const sqlite = getBuiltinModule('node:sqlite') as
  { DatabaseSync: new (path: string) => SqliteDatabase & { close(): void } } | undefined

describe('openTasks() with an open database', () => {
  test('makes a manager whose tasks another one finds again', async () => {
    const tasks = await openTasks(file.connect())
    const { id } = await tasks.createTask({ skill: 'echo', input: 'kept' })
    await tasks.updateTask(id, { state: 'working' })
    await tasks.destroy()

    const again = await openTasks(file.connect())
    expect(await again.getTask(id)).toMatchObject({ state: 'working', input: 'kept' })
    await again.destroy()
  })

  test('keeps the log in its own file, and each change on the disk', async () => {
    const database = file.connect()
    database.pragma('journal_mode = DELETE')
    const tasks = await openTasks(database)
    expect(database.pragma('journal_mode')).toMatchObject([{ journal_mode: 'wal' }])
    expect(database.pragma('synchronous')).toMatchObject([{ synchronous: 2 }])
    await tasks.destroy()
  })

  test('leaves the disk to the system where that is asked for', async () => {
    const database = file.connect()
    const tasks = await openTasks(database, { synchronous: 'normal' })
    expect(database.pragma('synchronous')).toMatchObject([{ synchronous: 1 }])
    await tasks.destroy()
  })

  test('leaves the database open', async () => {
    const database = file.connect()
    await (await openTasks(database)).destroy()
    expect(database.prepare('SELECT 1 AS one').all()).toEqual([{ one: 1 }])
  })

  test('hands its options on', async () => {
    const database = file.connect()
    const tasks = await openTasks(database, { prefix: 'own_', generateId: () => 'my-id' })
    expect(await tasks.createTask({ skill: 'echo' })).toMatchObject({ id: 'my-id' })
    expect(database.prepare('SELECT id FROM own_tasks').all()).toEqual([{ id: 'my-id' }])
    await tasks.destroy()
  })

  test('waits for a file that another process has locked', async () => {
    const database = file.connect()
    database.pragma('busy_timeout = 1')
    const other = file.connect()
    other.exec('BEGIN IMMEDIATE')
    const opening = openTasks(database)
    other.exec('COMMIT')
    await (await opening).destroy()
  })

  test('takes one in memory', async () => {
    const tasks = await openTasks(new Database(':memory:'))
    await tasks.createTask({ skill: 'echo' })
    expect(await tasks.size()).toBe(1)
    await tasks.destroy()
  })

  test('refuses one that cannot be in WAL mode', async () => {
    const database = file.connect()
    // As a file system that lacks what it takes: SQLite says which mode it is in all the same.
    const stubborn: SqliteDatabase = {
      exec: (sql) => database.exec(sql),
      prepare: (sql) =>
        database.prepare(sql.replace('PRAGMA journal_mode = WAL', 'PRAGMA journal_mode = DELETE')),
    }
    await expect(openTasks(stubborn)).rejects.toThrow('cannot use WAL mode, and stays in "delete"')
  })

  test.each([
    [{ synchronous: 'off' }, '"synchronous" must be one of "full", "normal", got "off"'],
    [{ prefix: 'a-b' }, '"prefix" must be'],
    [{ leaseMs: 0 }, '"leaseMs" must be'],
    [
      { color: 'red' },
      'Unknown option "color" of openTasks; known are synchronous, prefix, feedSize, retention, ',
    ],
    [
      { feedsize: 1 },
      'Unknown option "feedsize" of openTasks, did you mean "feedSize"?; known are synchronous',
    ],
    [
      { store: memoryStore() },
      'openTasks() makes its own "store"; new DurableTaskManager({ store }) takes one',
    ],
  ])('refuses %o', async (options, message) => {
    // Not what the types allow.
    await expect(openTasks(file.connect(), options as never)).rejects.toThrow(message)
  })
})

describe('openTasks() with a path', () => {
  test('keeps tasks in the file, and closes it', async () => {
    const tasks = await openTasks(file.path)
    const { id } = await tasks.createTask({ skill: 'echo' })
    await tasks.destroy()
    await tasks.destroy()
    const again = await openTasks(file.path)
    expect(await again.getTask(id)).toMatchObject({ skill: 'echo' })
    await again.destroy()
  })

  test('goes on with the rest while another process has the file locked', async () => {
    const tasks = await openTasks(file.path)
    const other = new (sqlite?.DatabaseSync ?? Database)(file.path)
    other.exec('BEGIN IMMEDIATE')
    const creating = tasks.createTask({ skill: 'echo' })
    // Could not be ended if the process were blocked until then.
    setImmediate(() => other.exec('COMMIT'))
    expect(await creating).toMatchObject({ skill: 'echo' })
    other.close()
    await tasks.destroy()
  })

  test.each(['', 'a\0b.db'])('refuses the path %j', async (path) => {
    await expect(openTasks(path)).rejects.toThrow('"database" must be the path of a file')
  })

  test('refuses a file that is no database', async () => {
    writeFileSync(`${file.path}-other`, 'text'.repeat(1_000))
    await expect(openTasks(`${file.path}-other`)).rejects.toThrow('file is not a database')
  })
})
