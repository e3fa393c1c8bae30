/** Histories at their bounds, in processes with a small heap. */
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { ROOT } from '../support/repository.js'

const MAIN = `
import Database from 'libsql'
import { TaskManager } from 'a2a-tasks'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { createRequestHandler } from 'a2a-tasks/server'
import { openTasks } from 'a2a-tasks/stores/sqlite'
const managers = {
  memory: () => new TaskManager(),
  memoryStore: () => new DurableTaskManager({ store: memoryStore() }),
  SQLite: () => openTasks(new Database(':memory:')),
}
const tasks = await managers[process.argv[1]]()
const handler = createRequestHandler({
  card: { name: 'A', url: 'http://a' },
  tasks,
  retry: { backoff: { initialMs: 1 } },
  onError: () => undefined,
  execute,
})
const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] }
const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ message }) }
const answer = await (await handler.fetch(new Request('http://a/message:send', init))).json()
console.log(answer.task.status.state, answer.task.artifacts?.[0]?.parts[0].text)
await handler.close()
await tasks.destroy()
`

const PARALLEL = `
async function execute(run) {
  const all = await Promise.all(Array.from({ length: 10_000 }, (_, n) => run.step('s', async () => n)))
  if (run.attempt === 1) throw new Error('Again')
  return String(all.length)
}
`

const LARGE = `
async function execute(run) {
  let bytes = 0
  for (let n = 0; n < 63; n += 1) bytes += (await run.step('s', () => 'x'.repeat(1_048_000))).length
  if (run.attempt === 1) throw new Error('Again')
  return String(bytes)
}
`

test.each([
  ['memory', '10,000 parallel steps', 256, PARALLEL, '10000'],
  ['memoryStore', '10,000 parallel steps', 256, PARALLEL, '10000'],
  ['SQLite', '10,000 parallel steps', 256, PARALLEL, '10000'],
  ['memory', '63 outputs of 1 MB', 256, LARGE, '66024000'],
  // The next attempt reads the history from the database.
  ['SQLite', '63 outputs of 1 MB', 512, LARGE, '66024000'],
])('over %s, %s are recorded and replayed with %i MB of heap', async (manager, _, heap, execute, result) => {
  const flags = [`--max-old-space-size=${heap}`, '--input-type=module', '-e']
  const child = spawn(process.execPath, [...flags, execute + MAIN, manager], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  expect(await text(child.stdout)).toBe(`TASK_STATE_COMPLETED ${result}\n`)
})
