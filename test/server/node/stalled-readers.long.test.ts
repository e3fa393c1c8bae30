/** A server with a small heap, many clients that request a large task, and none of them reads. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { afterEach, expect, it } from 'vitest'
import { ROOT } from '../../support/repository.js'

const PROGRAM = `
import { createServer } from 'node:http'
import { TaskManager } from 'a2a-tasks'
import { createRequestHandler } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
const tasks = new TaskManager()
for (const [id, size] of [['large', 8_000_000], ['small', 10]]) {
  tasks.createTask({ id, skill: 'a' })
  tasks.updateTask(id, { state: 'working' })
  tasks.appendArtifact(id, { artifactId: 'a', parts: [{ text: 'x'.repeat(size) }] })
}
const { fetch } = createRequestHandler({ card: { name: 'A', url: 'http://a' }, tasks, execute: () => 'done' })
const server = createServer(toNodeListener(fetch)).listen(0, '127.0.0.1', () => console.log(server.address().port))
`

const ends: (() => unknown)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
})

const get = (path: string): string => `GET /tasks/${path} HTTP/1.1\r\nhost: a\r\n\r\n`

it.each([
  ['100 readers of a task', 100, get('large')],
  ['100 readers of its events', 100, get('large:subscribe')],
  // No more requests than may wait in such a heap: waiting-requests.long.test.ts sends more.
  ['10 connections with 700 requests each', 10, get('large').repeat(700)],
])(
  '%s leave the server at work',
  async (_, count, request) => {
    const child = spawn(
      process.execPath,
      ['--max-old-space-size=128', '--input-type=module', '-e', PROGRAM],
      { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] },
    )
    ends.push(() => child.kill('SIGKILL'))
    const [port] = (await once(createInterface(child.stdout), 'line')) as [string]
    const readers: Socket[] = []
    for (let reader = 0; reader < count; reader++) {
      const socket = connect(Number(port), '127.0.0.1')
      ends.push(() => socket.destroy())
      socket.on('error', () => undefined).write(request)
      readers.push(socket)
      await once(socket, 'readable')
    }
    for (let turn = 0; turn < 20; turn++) {
      const response = await fetch(`http://127.0.0.1:${port}/tasks/small`)
      expect(response.status).toBe(200)
      await response.text()
    }
    expect(readers.filter(({ destroyed }) => destroyed)).toHaveLength(0)
    expect(child.exitCode).toBeNull()
  },
  120_000,
)
