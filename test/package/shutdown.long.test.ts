/** The program of docs/operate/deployment.md that ends on SIGTERM, with a client that follows a task until the end. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Consumer } from '../support/consumer.js'
import { programsOf } from '../support/markdown.js'
import { read } from '../support/repository.js'

const PAGE = 'docs/operate/deployment.md'

/** The program, with work that does not end by itself, and a signal that comes from outside. */
function program(where: string): string {
  const [{ code } = { code: '' }] = programsOf(PAGE, read(PAGE))
  const inMemory = code
    .replace("{ DurableTaskManager } from 'a2a-tasks/durable'", "{ TaskManager } from 'a2a-tasks'")
    .replace('new DurableTaskManager({ store })', 'new TaskManager()')
  return (where === 'memory' ? inMemory : code)
    .replace('execute: (run) =>', `execute: async (run) => await once(run.signal, 'abort') &&`)
    .replace('graceMs: 20_000', 'graceMs: 50')
    .replace("process.kill(process.pid, 'SIGTERM')", 'console.log(server.address().port)')
}

describe.each([
  // Another replica continues the task.
  ['a database', /event: error\ndata: .*"UNAVAILABLE".*\n\n$/],
  ['memory', /TASK_STATE_FAILED.*\n\n$/],
])('an agent with tasks in %s', (where, ending) => {
  it('ends streams with what became of their task, before it exits', { timeout: 60_000 }, async () => {
    const consumer = new Consumer()
    onTestFinished(() => consumer.remove())
    consumer.install('@electric-sql')
    const file = consumer.compile(consumer.write('server.ts', program(where)))
    const server = spawn(process.execPath, [file], {
      cwd: consumer.folder,
      env: { ...process.env, PORT: '0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void server.kill('SIGKILL'))
    const exited = once(server, 'exit')
    const [port] = (await once(createInterface(server.stdout), 'line')) as [string]
    const message = { messageId: '1', role: 'ROLE_USER', parts: [{ text: 'Go' }] }
    const response = await fetch(`http://127.0.0.1:${port}/message:stream`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ message }),
    })
    expect(response.status).toBe(200)
    server.kill('SIGTERM')
    expect(await response.text()).toMatch(ending)
    expect(await exited).toEqual([0, null])
  })
})
