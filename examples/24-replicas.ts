/** Two processes serve one agent from one file. One is killed during its work, and the other one fails the task. */
import assert from 'node:assert/strict'
import { fork, type ChildProcess } from 'node:child_process'
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

const [, , file] = process.argv
await (file === undefined ? main() : replica(file))

/** One of the processes: it sends its URL to the parent, and ends when the parent disconnects. */
async function replica(path: string): Promise<void> {
  const tasks = await openTasks(path, {
    leaseMs: 2_000,
    sweepIntervalMs: 200,
    recover: 'fail',
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
  process.once('disconnect', () => process.exit())
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
}

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'replicas-'))
  const start = (): ChildProcess => fork(fileURLToPath(import.meta.url), [join(folder, 'tasks.db')])
  const [first, second] = [start(), start()]
  const [atA, atB] = await Promise.all([clientOf(first), clientOf(second)])

  // The client sends the message to one process, and follows the task at the other.
  const sent = await atA.send('Tick', { returnImmediately: true })
  assert(sent.type === 'task')
  const { id } = sent.task
  let ticks = 0
  for await (const event of atB.subscribe(id)) {
    // The first event of a stream is the current task, which may already have ticks.
    if (event.type === 'task') ticks = event.task.artifacts[0]?.parts.length ?? 0
    if (event.type === 'artifact') ticks += event.artifact.parts.length
    // The other process keeps the stored ticks, and fails the task when the lease expires.
    if (ticks >= 5) first.kill('SIGKILL')
    if (event.type === 'status') console.log(`${event.state}: ${textOf(event.message ?? {})}`)
  }
  const task = await atB.getTask(id)
  assert.equal(task.state, 'failed')
  assert.ok(textOf(task.artifacts[0] ?? {}).startsWith('1 2 3 4 5 '))
  console.log(`${task.artifacts[0]?.parts.length} ticks were kept`)

  // The file is in use until the last process has exited.
  second.kill()
  await once(second, 'exit')
  await rm(folder, { recursive: true })
}

/** Connects to one of the processes. Behind a load balancer, both have the same URL. */
async function clientOf(child: ChildProcess): Promise<A2AClient> {
  const [url] = (await once(child, 'message')) as [string]
  return await A2AClient.connect(url, {
    fetch: (to: string, init?: RequestInit) => fetch(new URL(new URL(to).pathname, url), init),
  })
}
