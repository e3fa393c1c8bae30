/** A server with a small heap, and connections that send many requests behind a stream that does not end. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { expect, it, onTestFinished } from 'vitest'
import { ROOT } from '../../support/repository.js'

const PROGRAM = `
import { createServer } from 'node:http'
import { TaskManager } from 'a2a-tasks'
import { createRequestHandler } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
const tasks = new TaskManager()
tasks.createTask({ id: 'task', skill: 'a' })
const { fetch } = createRequestHandler({ card: { name: 'A', url: 'http://a' }, tasks, execute: () => 'done' })
createServer(toNodeListener(fetch)).listen(0, '127.0.0.1', function () { console.log(this.address().port) })
`
const get = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`

it('40 of them leave the server at work, and it warns of nothing', { timeout: 120_000 }, async () => {
  const flags = ['--max-old-space-size=48', '--input-type=module', '-e', PROGRAM]
  const child = spawn(process.execPath, flags, { cwd: ROOT, stdio: 'pipe' })
  onTestFinished(() => void child.kill('SIGKILL'))
  let warnings = ''
  child.stderr.on('data', (chunk) => (warnings += String(chunk)))
  const [port] = (await once(createInterface(child.stdout), 'line')) as [string]
  for (let count = 0; count < 40; count++) {
    const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined)
    onTestFinished(() => void socket.destroy())
    socket.write(get('/tasks/task:subscribe'))
    await once(socket, 'data')
    socket.write(get('/tasks/task').repeat(1_000))
    // The server has read what came before it.
    const response = await fetch(`http://127.0.0.1:${port}/tasks/task`)
    expect(response.status).toBe(200)
    await response.text()
  }
  expect(child.exitCode).toBeNull()
  expect(warnings).toBe('')
})
