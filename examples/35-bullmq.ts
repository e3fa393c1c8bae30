/** Some processes answer requests, others work, and BullMQ is between them. Uses the Redis at REDIS_URL, or starts one. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { on, once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { A2AClient } from 'a2a-tasks/client'
import { DurableTaskManager } from 'a2a-tasks/durable'
import { createRequestHandler, createWorker, textOf, type Run, type Turn } from 'a2a-tasks/server'
import { redisStore } from 'a2a-tasks/stores/redis'
import { Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'

const { address, stop } = await startRedis()
const connection = address.startsWith('/') ? { path: address } : { url: address }
const redis = new Redis(address)
redis.on('error', (error) => console.error(error.message))
const store = redisStore(redis, { prefix: 'a2a-tasks-example' })
await store.migrate()
const card = { name: 'Travel agent', url: 'https://agent.example', capabilities: { streaming: true } }

// A process that answers requests. It runs nothing: it puts each turn into the queue.
const accepted = new DurableTaskManager({ store })
const queue = new Queue<Turn>('a2a-tasks-example', { connection })
const dispatch = (turn: Turn) =>
  queue.add('turn', turn, { jobId: turn.id, attempts: 5, removeOnComplete: true, removeOnFail: true })
const handler = createRequestHandler({ card, tasks: accepted, dispatch })

// Two processes that work.
const execute = async (run: Run, name: string): Promise<string> => {
  const asked = await run.step('ask', () => `asked by ${name}`)
  const city = textOf(await run.requireInput('Which city?'))
  return await run.step('book', () => `A hotel in ${city}, ${asked}, booked by ${name}`)
}
const closeWorkers = ['worker 1', 'worker 2'].map((name) => {
  const tasks = new DurableTaskManager({ store })
  const worker = createWorker({ card, tasks, execute: (run) => execute(run, name) })
  const options = { connection, concurrency: 2 }
  const consumer = new Worker<Turn>(queue.name, ({ data }) => worker.run(data), options)
  return async () => {
    await Promise.all([consumer.close(), worker.close()])
    await tasks.destroy()
  }
})

// A client sees one agent.
const fetch = (url: string, init?: RequestInit): Promise<Response> => handler.fetch(new Request(url, init))
const client = new A2AClient({ card: handler.card, fetch })
const cities = ['Lisbon', 'Oslo', 'Rome', 'Vienna', 'Ghent', 'Porto']
const visit = (city: string) => client.run('A weekend', { onInputRequired: () => city })
for (const [index, { text }] of (await Promise.all(cities.map(visit))).entries()) {
  console.log(text)
  assert.match(text, new RegExp(`^A hotel in ${cities[index]}, asked by worker [12], booked by worker [12]$`))
}

await Promise.all([handler.close(), ...closeWorkers.map((close) => close())])
await Promise.all([queue.close(), accepted.destroy()])
redis.disconnect()
await stop()

/** The Redis at REDIS_URL, or a server of its own that listens to a socket in a folder. */
async function startRedis(): Promise<{ address: string; stop: () => Promise<void> }> {
  const { REDIS_URL } = process.env
  if (REDIS_URL !== undefined) return { address: REDIS_URL, stop: () => Promise.resolve() }
  const folder = await mkdtemp(join(tmpdir(), 'bullmq-'))
  const address = join(folder, 'redis.sock')
  const server = spawn('redis-server', ['--port', '0', '--unixsocket', address, '--dir', folder])
  server.once('error', () => {
    console.log('Install redis-server to run this example, or set REDIS_URL=redis://127.0.0.1:6379')
    process.exit()
  })
  for await (const [line] of on(server.stdout, 'data')) if (/ready to accept/i.test(String(line))) break
  const stop = async (): Promise<void> => {
    server.kill()
    await once(server, 'exit')
    await rm(folder, { recursive: true })
  }
  return { address, stop }
}
