/** A server with a small heap, and clients that register as many webhooks as they may. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { ROOT } from '../../support/repository.js'
import { user } from '../spec/support/agent.js'

const program = (tasks: string): string => `
import { createServer } from 'node:http'
import { TaskManager } from 'a2a-tasks'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { createRequestHandler } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
const { fetch } = createRequestHandler({
  card: { name: 'A', url: 'http://a' }, tasks: ${tasks}, anonymous: 'shared',
  execute: (run) => run.requireInput('More?'),
  push: { allow: ['hook.example'], fetch: () => new Promise(() => {}), timeoutMs: 600_000 },
})
createServer(toNodeListener(fetch)).listen(0, '127.0.0.1', function () { console.log(this.address().port) })
`

/** The longest that a client may register. */
const LONG = {
  url: `https://hook.example/${'u'.repeat(2_000)}`,
  token: 't'.repeat(4_096),
  authentication: { scheme: 'Bearer', credentials: 'c'.repeat(8_192) },
}

test.each([
  ['a TaskManager', 'new TaskManager()'],
  ['a DurableTaskManager', 'new DurableTaskManager({ store: memoryStore() })'],
])(
  '8,000 long webhooks over %s leave the server at work, and room for short ones',
  { timeout: 120_000 },
  async (_, tasks) => {
    const flags = ['--max-old-space-size=128', '--input-type=module', '-e', program(tasks)]
    const child = spawn(process.execPath, flags, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    const [port] = (await once(createInterface(child.stdout), 'line')) as [string]
    const post = async (path: string, body: object): Promise<{ status: number; id?: string | undefined }> => {
      const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }
      const init = { method: 'POST', headers, body: JSON.stringify(body) }
      const response = await fetch(`http://127.0.0.1:${port}${path}`, init)
      const { task } = (await response.json()) as { task?: { id: string } }
      return { status: response.status, id: task?.id }
    }
    const statuses = new Set<number>()
    let id: string | undefined
    for (let count = 0; count < 800; count += 1) {
      id = (await post('/message:send', { message: user('go') })).id
      const path = `/tasks/${id}/pushNotificationConfigs`
      const all = Array.from({ length: 10 }, (_, index) => post(path, { ...LONG, id: `${index}` }))
      for (const { status } of await Promise.all(all)) statuses.add(status)
    }
    expect([...statuses].sort()).toEqual([200, 503])
    const last = await post('/message:send', { message: user('go') })
    const short = await post(`/tasks/${last.id}/pushNotificationConfigs`, { url: 'https://hook.example/' })
    expect(short.status).toBe(200)
    expect(child.exitCode).toBeNull()
  },
)
