/** An inspector with a small heap, and a message that arrives in chunks of one byte. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { ROOT } from '../support/repository.js'

const PROGRAM = `
import { TaskManager } from 'a2a-tasks'
import { createInspector } from 'a2a-tasks/inspector'
import { createRequestHandler } from 'a2a-tasks/server'
const tasks = new TaskManager()
const handler = createRequestHandler({ card: { name: 'A', url: 'http://a' }, tasks, execute: () => 'done' })
const { fetch } = createInspector({ tasks, handler, actions: ['send'], authorize: () => ({}) })
const chunk = new TextEncoder().encode('x')
let left = 3_000_000
const body = new ReadableStream({
  pull(controller) {
    if (left-- > 0) controller.enqueue(chunk)
    else controller.close()
  },
})
const headers = { 'x-a2a-inspector': '1', 'content-type': 'application/json' }
const url = 'http://localhost/api/messages'
const response = await fetch(new Request(url, { method: 'POST', body, headers, duplex: 'half' }))
console.log(response.status)
process.exit()
`

it('takes no more memory than another', { timeout: 300_000 }, async () => {
  const flags = ['--max-old-space-size=48', '--input-type=module', '--eval', PROGRAM]
  const { stdout } = await promisify(execFile)(process.execPath, flags, { cwd: ROOT })
  // It is no JSON.
  expect(stdout).toBe('400\n')
})
