/** A file that another process has locked for seconds while the runs of tasks return. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { createRequestHandler } from 'a2a-tasks/server'
import { openTasks } from 'a2a-tasks/stores/sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { databaseFile, type DatabaseFile } from './support/sqlite.js'

const LOCKED_MS = 3_000
const TASKS = 20

const LOCKER = `
const [, libsql, path, lockedMs] = process.argv
const Database = require(libsql)
const database = new Database(path)
database.exec('BEGIN EXCLUSIVE')
process.stdout.write('locked')
setTimeout(() => database.exec('COMMIT'), Number(lockedMs))
`

let file: DatabaseFile
beforeEach(() => {
  file = databaseFile()
})
afterEach(() => file.remove())

/** Locks the file in another process. Resolves when it is locked, to a promise of the end. */
async function lock(): Promise<{ readonly unlocked: Promise<unknown> }> {
  const libsql = createRequire(import.meta.url).resolve('libsql')
  const args = ['-e', LOCKER, libsql, file.path, String(LOCKED_MS)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const unlocked = once(child, 'close')
  await once(child.stdout, 'data')
  return { unlocked }
}

// The first is the driver's own, and longer than the lock.
test.each([5_000, 100])(
  'tasks whose runs return under a lock are completed, with a busy timeout of %i ms',
  async (busyMs) => {
    const database = file.connect()
    database.pragma(`busy_timeout = ${busyMs}`)
    const tasks = await openTasks(database)
    const errors: unknown[] = []
    let returnAll = (): void => undefined
    const returning = new Promise<void>((resolve) => (returnAll = resolve))
    const handler = createRequestHandler({
      card: { name: 'Test', url: 'http://agent.example' },
      tasks,
      onError: (error) => errors.push(error),
      execute: async (run) => {
        run.start()
        await returning
        return `Answer to ${run.text}`
      },
    })
    const send = (index: number): Promise<unknown> => {
      const message = { messageId: `m-${index}`, role: 'ROLE_USER', parts: [{ text: `${index}` }] }
      const params = { message, configuration: { returnImmediately: true } }
      return Promise.resolve(handler.dispatch({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params }))
    }
    await Promise.all(Array.from({ length: TASKS }, (_, index) => send(index)))
    expect(await tasks.countTasks({ state: 'working' })).toBe(TASKS)
    const { unlocked } = await lock()
    returnAll()
    await unlocked
    const ended = await Promise.all((await tasks.listTasks()).map(({ id }) => tasks.waitFor(id)))
    expect(ended.map(({ state }) => state)).toEqual(Array(TASKS).fill('completed'))
    expect(errors).toEqual([])
    await handler.close()
    await tasks.destroy()
  },
  60_000,
)
