/** Pauses of runs over a manager in memory: a program that awaits the answer lives until it has it. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { ROOT } from '../../support/repository.js'

const run = promisify(execFile)

const program = (execute: string): string => `
import { createRequestHandler } from './src/server/index.ts'
const { dispatch, tasks } = createRequestHandler({
  card: { name: 'A', url: 'https://a.example' },
  retry: { attempts: 2, backoff: { initialMs: 50, maxMs: 50, factor: 1 } },
  onError() {},
  execute: ${execute},
})
const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] }
const { result } = await dispatch({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } })
console.log(result.task.status.state)
`

test.each([
  ['a sleep', `async (run) => { await run.sleep('pause', { ms: 50 }) }`],
  ['a sleep until a time', `async (run) => { await run.sleep('pause', { until: Date.now() + 50 }) }`],
  ['the time before another attempt', `(run) => { if (run.attempt === 1) throw new Error('busy') }`],
])('%s keeps the process alive', async (_, execute) => {
  const options = ['--import', 'tsx', '--input-type=module', '--eval', program(execute)]
  const { stdout } = await run(process.execPath, options, { cwd: ROOT })
  expect(stdout).toBe('TASK_STATE_COMPLETED\n')
})
