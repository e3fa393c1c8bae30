/** Tasks in a file, in one line. */
import { openTasks } from 'a2a-tasks/stores/sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { databaseFile, type DatabaseFile } from './sqlite-support.js'

let file: DatabaseFile
beforeEach(() => (file = databaseFile()))
afterEach(() => file.remove())

// The types are those of Node 20.
const { getBuiltinModule } = process as { getBuiltinModule: (id: string) => unknown }
const hasSqlite = getBuiltinModule('node:sqlite') !== undefined

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

  test('keeps the log in a file of its own, and each change on the disk', async () => {
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

  test.each([
    [{ synchronous: 'off' }, `"synchronous" must be 'full' or 'normal'`],
    [{ prefix: 'a-b' }, '"prefix" must be'],
    [{ leaseMs: 0 }, '"leaseMs" must be'],
    [{ color: 'red' }, 'Unknown option "color"'],
  ])('refuses %o', async (options, message) => {
    // Not what the types allow.
    await expect(openTasks(file.connect(), options as object)).rejects.toThrow(message)
  })
})

const WITH_SQLITE = {
  'keeps tasks in the file, and closes it': async () => {
    const tasks = await openTasks(file.path)
    const { id } = await tasks.createTask({ skill: 'echo' })
    await tasks.destroy()
    await tasks.destroy()
    const again = await openTasks(file.path)
    expect(await again.getTask(id)).toMatchObject({ skill: 'echo' })
    await again.destroy()
  },
}

const WITHOUT_SQLITE = {
  'says which packages will do, and how, where there is no node:sqlite': async () => {
    const refusal = openTasks(file.path)
    await expect(refusal).rejects.toThrow('has no "node:sqlite" (Node has it from 22.13 on)')
    await expect(refusal).rejects.toThrow('Install "libsql", or on Node 22 and later "better-sqlite3"')
    await expect(refusal).rejects.toThrow(`
  import Database from 'libsql'
  const tasks = await openTasks(new Database('tasks.db'))`)
  },
}

describe('openTasks() with a path', () => {
  for (const [name, run] of Object.entries(hasSqlite ? WITH_SQLITE : WITHOUT_SQLITE)) test(name, run)
})
