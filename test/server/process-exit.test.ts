import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { ROOT } from '../support/repository.js'

/** Fails twice, and pauses after each time. */
const retrying = (execute: string, options: string): string => `
import { createRequestHandler } from 'a2a-tasks/server'
let calls = 0
const fail = () => {
  if (++calls < 3) throw new Error('Not yet')
  return String(calls)
}
const handler = createRequestHandler({
  card: { name: 'Retrying', url: 'https://retrying.example' },
  execute: ${execute},
  onError: () => {},
  ${options}
})
const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] }
const { result } = await handler.dispatch({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } })
console.log(result.task.artifacts[0].parts[0].text)
`

const RETRY = `retry: { attempts: 3, backoff: { initialMs: 20, maxMs: 20 } }`

const PROGRAM = `
import { createRequestHandler } from 'a2a-tasks/server'
const handler = createRequestHandler({
  card: { name: 'Busy', url: 'https://busy.example' },
  execute: () => new Promise(() => {}),
  onError: () => {},
})
const configuration = { returnImmediately: true }
for (const messageId of ['a', 'b']) {
  const message = { messageId, role: 'ROLE_USER', parts: [{ text: 'go' }] }
  await handler.dispatch({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message, configuration } })
}
await handler.close({ graceMs: 20 })
console.log(handler.tasks.listTasks().map(({ state }) => state).join())
`

test('a process that only waits for its tasks to begin, and for close(), ends after it', async () => {
  expect(await run(PROGRAM)).toBe('failed,failed\n')
})

test.each([
  ['pauses before a run is tried again', retrying('fail', RETRY), '3'],
  ['pauses before a step is tried again', retrying(`(run) => run.step('work', fail, { ${RETRY} })`, ''), '3'],
  ['sleep of a run', retrying(`(run) => run.sleep('pause', { ms: 50 }).then(() => 'Awake')`, ''), 'Awake'],
])('a process lives through the %s', async (_, program, printed) => {
  expect(await run(program)).toBe(`${printed}\n`)
})

async function run(program: string): Promise<string> {
  const options = ['--input-type=module', '--eval', program]
  return (await promisify(execFile)(process.execPath, options, { cwd: ROOT })).stdout
}
