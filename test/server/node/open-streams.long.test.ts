/** A server with a small heap, and many requests that wait: what their bodies were must not stay in memory with them. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request, type IncomingMessage } from 'node:http'
import { createInterface } from 'node:readline'
import { afterEach, expect, it } from 'vitest'
import { ROOT } from '../../support/repository.js'
import { user } from '../spec/support/agent.js'

const PROGRAM = `
import { createServer } from 'node:http'
import { TaskManager } from 'a2a-tasks'
import { createRequestHandler } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
const tasks = new TaskManager()
tasks.createTask({ id: 'task', skill: 'a' })
tasks.updateTask('task', { state: 'working' })
const { fetch } = createRequestHandler({
  card: { name: 'A', url: 'http://a' }, tasks,
  execute: (run) => new Promise((resolve) => run.signal.addEventListener('abort', resolve)),
})
createServer(toNodeListener(fetch)).listen(0, '127.0.0.1', function () { console.log(this.address().port) })
`
const ends: (() => unknown)[] = []
afterEach(() => {
  for (const end of ends.splice(0).reverse()) end()
})

const PAD = 'x'.repeat(4_000_000)
const rpc = (method: string, params: object): object => ({ jsonrpc: '2.0', id: 1, method, params })
const message = (): object => ({ message: user('go') })

const REQUESTS: [string, string, () => object][] = [
  ['SubscribeToTask', '/', () => rpc('SubscribeToTask', { id: 'task', pad: PAD })],
  ['SendStreamingMessage', '/', () => rpc('SendStreamingMessage', { ...message(), pad: PAD })],
  ['SendMessage', '/', () => rpc('SendMessage', { ...message(), pad: PAD })],
  ['subscribe', '/tasks/task:subscribe', () => ({ pad: PAD })],
  ['stream', '/message:stream', () => ({ ...message(), pad: PAD })],
  ['send', '/message:send', () => ({ ...message(), pad: PAD })],
]

it.each(REQUESTS)(
  '80 requests of %s with 4 MB each leave the server at work',
  { timeout: 120_000 },
  async (_, path, body) => {
    const flags = ['--max-old-space-size=128', '--input-type=module', '-e', PROGRAM]
    const child = spawn(process.execPath, flags, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] })
    ends.push(() => child.kill('SIGKILL'))
    const [port] = (await once(createInterface(child.stdout), 'line')) as [string]
    const agent = new Agent()
    ends.push(() => agent.destroy())
    const send = async (given: string): Promise<IncomingMessage | undefined> => {
      const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }
      const asked = request({ port, path, method: 'POST', headers, agent }).on('error', () => undefined)
      const sent = once(asked, 'finish')
      asked.end(given)
      await sent
      // A blocking send answers no sooner than its run ends.
      if (/end$/.test(path) || given.includes('"SendMessage"')) return undefined
      const [answer] = (await once(asked, 'response')) as [IncomingMessage]
      return answer.on('error', () => undefined)
    }
    for (let count = 0; count < 80; count++) {
      const answer = await send(JSON.stringify(body()))
      if (answer !== undefined) expect(answer.statusCode).toBe(200)
      // A small request behind each large one: the server has read it by then.
      expect((await fetch(`http://127.0.0.1:${port}/tasks/task`)).status).toBe(200)
    }
    expect(child.exitCode).toBeNull()
  },
)
