/** Two processes serve one agent from one file. The one that works is killed, and its client hears of it by the other. */
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { A2AClient } from 'a2a-tasks/client'
import { createRequestHandler, textOf } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import { openTasks } from 'a2a-tasks/stores/sqlite'
import Database from 'libsql'

const [, , file] = process.argv
await (file === undefined ? main() : replica(file))

/** One of the processes: it says where it listens, and works until it is told to end. */
async function replica(path: string): Promise<void> {
  const tasks = await openTasks(new Database(path), {
    leaseMs: 1_000,
    sweepIntervalMs: 200,
    pollIntervalMs: 50,
  })
  const handler = createRequestHandler({
    card: { name: 'Clock', url: 'http://127.0.0.1', capabilities: { streaming: true } },
    async execute(run) {
      for (let tick = 1; ; tick += 1) {
        run.artifact({ artifactId: 'ticks', parts: [{ text: `${tick} ` }] })
        await delay(20, undefined, { signal: run.signal })
      }
    },
    tasks,
  })
  const server = createServer(toNodeListener(handler.fetch)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
}

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'replicas-'))
  const program = fileURLToPath(import.meta.url)
  const children = [0, 1].map(() => fork(program, [join(folder, 'tasks.db')]))
  const [a = '', b = ''] = await Promise.all(
    children.map(async (child) => String((await once(child, 'message'))[0])),
  )
  const [atA, atB] = await Promise.all([a, b].map((url) => clientOf(url)))
  assert(atA && atB)

  // Sent to one, followed at the other.
  const sent = await atA.send('Tick', { returnImmediately: true })
  assert(sent.type === 'task')
  const { id } = sent.task
  let last = ''
  for await (const event of atB.subscribe(id)) {
    if (event.type === 'artifact') last = textOf(event.artifact)
    // What was stored stays, and nobody waits for ever for the rest.
    if (last === '5 ') children[0]?.kill('SIGKILL')
    if (event.type === 'status') console.log(`${event.state}: ${textOf(event.message ?? {})}`)
  }
  const task = await atB.getTask(id)
  assert.equal(task.state, 'failed')
  assert.ok(textOf(task.artifacts[0] ?? {}).startsWith('1 2 3 4 5 '))
  console.log(`${task.artifacts[0]?.parts.length} ticks were kept`)

  children[1]?.kill()
  await rm(folder, { recursive: true })
}

/** Behind a load balancer both have one URL. Here the client is told which one it speaks to. */
async function clientOf(url: string): Promise<A2AClient> {
  return await A2AClient.connect(url, {
    fetch: (to: string, init?: RequestInit) => fetch(new URL(new URL(to).pathname, url), init),
  })
}
