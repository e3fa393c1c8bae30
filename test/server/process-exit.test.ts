import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const PROGRAM = `
import { createRequestHandler } from './src/server/index.ts'
const handler = createRequestHandler({
  card: { name: 'Busy', url: 'https://busy.example' },
  execute: () => new Promise(() => {}),
  onError: () => {},
})
const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] }
const configuration = { returnImmediately: true }
const server = setInterval(() => {}, 1000)
await handler.dispatch({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message, configuration } })
clearInterval(server)
await handler.close({ graceMs: 20 })
console.log(handler.tasks.listTasks()[0].state)
`

test('a process that only waits for close() ends after it, and not before', async () => {
  const options = ['--import', 'tsx', '--input-type=module', '--eval', PROGRAM]
  const { stdout } = await promisify(execFile)(process.execPath, options)
  expect(stdout).toBe('failed\n')
})
