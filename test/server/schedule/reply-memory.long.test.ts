/** A server with a small heap that keeps its replies for messages that are sent again. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { afterEach, expect, it } from 'vitest'
import { ROOT } from '../../support/repository.js'
import { user } from '../spec/support/agent.js'

const PROGRAM = `
import { createServer } from 'node:http'
import { createRequestHandler } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
const { fetch } = createRequestHandler({
  card: { name: 'A', url: 'http://a' },
  authenticate: () => ({ id: 'eve' }),
  execute: (run) => run.reply('Yes'),
})
const server = createServer(toNodeListener(fetch))
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
`

const ends: (() => unknown)[] = []
afterEach(() => {
  for (const end of ends.splice(0).reverse()) end()
})

it('replies to messages with many small values fit into a small heap', { timeout: 120_000 }, async () => {
  const flags = ['--max-old-space-size=128', '--input-type=module', '-e', PROGRAM]
  const child = spawn(process.execPath, flags, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] })
  ends.push(() => child.kill('SIGKILL'))
  const [port] = (await once(createInterface(child.stdout), 'line')) as [string]
  const metadata = { values: Array.from({ length: 12_000 }, () => ({})) }
  const send = async (messageId: string): Promise<unknown> => {
    const response = await fetch(`http://127.0.0.1:${port}/message:send`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ message: { ...user('Ready?'), messageId, metadata } }),
    })
    expect(response.status).toBe(200)
    return await response.json()
  }
  for (let count = 0; count < 400; count++) await send(`message ${count}`)
  expect(await send('message 399')).toEqual(await send('message 399'))
})
