import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

/** Fails twice, and pauses after each time. */
const retrying = (execute: string, options: string): string => `
import { createRequestHandler } from './src/server/index.ts'
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
import { createRequestHandler } from './src/server/index.ts'
const handler = createRequestHandler({
  card: { name: 'Busy', url: 'https://busy.example' },
  execute: () => new Promise(() => {}),
  onError: () => {},
})
const configuration = { returnImmediately: true }
// The loader of TypeScript keeps the process alive during the first.
for (const messageId of ['a', 'b']) {
  const message = { messageId, role: 'ROLE_USER', parts: [{ text: 'go' }] }
  await handler.dispatch({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message, configuration } })
}
await handler.close({ graceMs: 20 })
console.log(handler.tasks.listTasks().map(({ state }) => state).join())
`

test('a process that only waits for its tasks to begin, and for close(), ends after it', async () => {
  const options = ['--import', 'tsx', '--input-type=module', '--eval', PROGRAM]
  const { stdout } = await promisify(execFile)(process.execPath, options)
  expect(stdout).toBe('failed,failed\n')
})

test.each([
  ['pauses before a run is tried again', retrying('fail', RETRY), '3'],
  ['pauses before a step is tried again', retrying(`(run) => run.step('work', fail, { ${RETRY} })`, ''), '3'],
  ['sleep of a run', retrying(`(run) => run.sleep('pause', { ms: 50 }).then(() => 'Awake')`, ''), 'Awake'],
])('a process lives through the %s', async (_, program, printed) => {
  const options = ['--import', 'tsx', '--input-type=module', '--eval', program]
  const { stdout } = await promisify(execFile)(process.execPath, options)
  expect(stdout).toBe(`${printed}\n`)
})
