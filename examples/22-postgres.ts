/** Keeps tasks in PostgreSQL at DATABASE_URL. Without this variable, PGlite runs PostgreSQL in this process. */
import assert from 'node:assert/strict'
import { PGlite } from '@electric-sql/pglite'
import { A2AClient } from 'a2a-tasks/client'
import { DurableTaskManager } from 'a2a-tasks/durable'
import { createRequestHandler, textOf } from 'a2a-tasks/server'
import { postgresStore } from 'a2a-tasks/stores/postgres'
import { Pool } from 'pg'

const { DATABASE_URL } = process.env
const database = DATABASE_URL === undefined ? new PGlite() : new Pool({ connectionString: DATABASE_URL })
// Without this listener, an idle connection that breaks ends the process, for example when the server restarts.
if (database instanceof Pool) database.on('error', (error) => console.error(error.message))

// You create and close the pool. The store creates its tables in their own schema.
const store = postgresStore(database)
await store.migrate()

const tasks = new DurableTaskManager({ store, retention: { default: { maxAgeMs: 7 * 86_400_000 } } })
const handler = createRequestHandler({
  card: { name: 'Tailor', url: 'http://localhost:3000' },
  async execute(run) {
    const size = textOf(await run.requireInput('Which size?'))
    for (const step of ['cut', 'sewn', 'pressed']) run.update(`The ${run.text} is ${step}`)
    return `A ${run.text} of size ${size}`
  },
  tasks,
})

const fetch = (url: string, init?: RequestInit): Promise<Response> => handler.fetch(new Request(url, init))
const client = await A2AClient.connect('http://localhost:3000', { fetch })
const first = await client.send('coat')
assert(first.type === 'task')
const { id } = first.task
assert.equal(first.task.state, 'input-required')
const answer = await client.send({ parts: [{ text: '42' }], taskId: id })
assert(answer.type === 'task')
assert.equal(textOf(answer.task.artifacts[0] ?? {}), 'A coat of size 42')

// The tables contain the log of each task, so another process can read it after any event.
const other = new DurableTaskManager({ store })
const seen: string[] = []
for await (const event of other.subscribe(id, { after: 0 })) {
  if (event.type === 'status') seen.push(event.to)
}
assert.deepEqual([...new Set(seen)], ['working', 'input-required', 'completed'])

// Two managers change the same version of a task at once: one of them is refused.
const order = await tasks.createTask({ skill: 'alter' })
const { generation: expectedGeneration } = order
const results = await Promise.allSettled([
  tasks.updateTask(order.id, { state: 'working', expectedGeneration }),
  other.updateTask(order.id, { state: 'rejected', expectedGeneration }),
])
assert.deepEqual(results.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])

console.log(`${await tasks.size()} tasks in PostgreSQL; task ${id} went through ${seen.join(', ')}`)
await handler.close()
await Promise.all([tasks.destroy(), other.destroy()])
await (database instanceof PGlite ? database.close() : database.end())
