/** Processes that wait for a stored task: each ends by itself, with the result. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import Database from 'libsql'
import { openTasks } from 'a2a-tasks/stores/sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ROOT } from '../support/repository.js'

/** A process over a file of tasks. It prints `ready`, and then what `program` prints. */
function start(file: string, program: string) {
  const code = `
import Database from 'libsql'
import { feed } from 'a2a-tasks'
import { createRequestHandler } from 'a2a-tasks/server'
import { openTasks } from 'a2a-tasks/stores/sqlite'
const tasks = await openTasks(new Database(process.argv.at(-2)), { pollIntervalMs: 20, feedSize: 100 })
const id = process.argv.at(-1)
${program}
`
  const options = ['--input-type=module', '--eval', code, file, 'a']
  const child = spawn(process.execPath, options, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines = createInterface(child.stdout)
  const printed: string[] = []
  const ready = new Promise<void>((resolve, reject) => {
    lines.on('line', (line) => (line === 'ready' ? resolve() : printed.push(line)))
    lines.on('close', () => reject(new Error(`The process has ended: ${printed.join()}`)))
  })
  const ended = once(child, 'close').then(([code, signal]: unknown[]) => ({ code: code ?? signal, printed }))
  return { ready, ended }
}

async function open() {
  const folder = mkdtempSync(join(tmpdir(), 'a2a-keep-alive-'))
  const database = new Database(join(folder, 'tasks.db'))
  const tasks = await openTasks(database, { feedSize: 100 })
  onTestFinished(async () => {
    await tasks.destroy()
    database.close()
    rmSync(folder, { recursive: true, force: true })
  })
  await tasks.createTask({ id: 'a', skill: 'test' })
  return { tasks, file: join(folder, 'tasks.db') }
}

describe('a process ends after', () => {
  test.each([
    [
      'waitFor',
      `const end = tasks.waitFor(id); console.log('ready'); console.log((await end).state)`,
      ['completed'],
    ],
    [
      'subscribe',
      `for await (const { type } of tasks.subscribe(id)) console.log(type === 'snapshot' ? 'ready' : type)`,
      ['status', 'status'],
    ],
    [
      'feed',
      `for await (const { event } of feed(tasks)) {
        console.log(event === undefined ? 'ready' : event.type)
        if (event?.to === 'completed') break
      }`,
      ['status', 'status'],
    ],
  ])('%s, and not before', async (_, program, printed) => {
    const { tasks, file } = await open()
    const { ready, ended } = start(file, program)
    await ready
    await tasks.updateTask('a', { state: 'working' })
    await tasks.updateTask('a', { state: 'completed' })
    expect(await ended).toEqual({ code: 0, printed })
  })
})

describe('a process ends while a task is live, when', () => {
  test.each([
    ['its manager is idle', `await tasks.getTask(id); await tasks.events(id)`],
    ['nothing of a subscription is pending', `await tasks.subscribe(id).next()`],
    ['a wait is over', `await tasks.waitFor(id, { timeoutMs: 50 }).catch(({ code }) => console.log(code))`],
    ['its subscription is not to keep it', `void tasks.subscribe(id, { after: 1, keepAlive: false }).next()`],
    [
      'a webhook waits for changes',
      `const { dispatch } = createRequestHandler({
        card: { name: 'A', url: 'https://a.example' }, tasks, execute: (run) => void run.requireInput('More?'),
        push: { allow: ['hook.example'], fetch: async () => new Response() },
      })
      const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] }
      const configuration = { taskPushNotificationConfig: { url: 'https://hook.example' } }
      const params = { message, configuration }
      const { result } = await dispatch({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params })
      console.log(result.task.status.state)`,
    ],
  ])('%s', async (_, program) => {
    const { file } = await open()
    const { ready, ended } = start(file, `${program}\nconsole.log('ready')`)
    await ready
    expect(await ended).toMatchObject({ code: 0 })
  })
})
