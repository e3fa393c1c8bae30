/** Keeps tasks in a SQLite file: a process ends during its work, and the next one continues. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { A2AClient } from 'a2a-tasks/client'
import { createRequestHandler } from 'a2a-tasks/server'
import { openTasks } from 'a2a-tasks/stores/sqlite'

const folder = await mkdtemp(join(tmpdir(), 'tasks-'))
const file = join(folder, 'tasks.db')

// The first process translates a part of the book, and ends.
const before = await openTasks(file, { retention: false })
const { id } = await before.createTask({ skill: 'translate', input: { pages: 3 } })
await before.updateTask(id, { state: 'working', message: 'Page 1 of 3' })
await before.appendArtifact(id, { artifactId: 'book', parts: [{ text: 'Es war einmal' }] })
await before.appendArtifact(id, { artifactId: 'book', parts: [{ text: ' ein König,' }] })
await before.destroy()

// The second process finds the task, and continues where the first one stopped.
const after = await openTasks(file)
const task = await after.getTask(id)
assert.equal(task?.state, 'working')
assert.equal(task.artifacts[0]?.parts?.[0]?.text, 'Es war einmal ein König,')
await after.appendArtifact(id, { artifactId: 'book', parts: [{ text: ' der hatte drei Söhne.' }] })
await after.updateTask(id, { state: 'completed' })

// The log contains the events of both processes.
const events = await after.events(id)
assert.deepEqual(
  events.map(({ type }) => type),
  ['created', 'status', 'artifact', 'artifact', 'artifact', 'status'],
)

// An agent can keep its tasks in the same file.
const handler = createRequestHandler({
  card: { name: 'Greeter', url: 'http://localhost:3000' },
  execute: (run) => `Hello ${run.text}`,
  tasks: after,
})
const fetch = (url: string, init?: RequestInit): Promise<Response> => handler.fetch(new Request(url, init))
const client = await A2AClient.connect('http://localhost:3000', { fetch })
const answer = await client.send('Ada')
assert(answer.type === 'task')
assert.equal(answer.task.state, 'completed')
assert.equal(await after.size(), 2)

console.log(`${await after.size()} tasks in ${file}`)
await handler.close()
await after.destroy()
await rm(folder, { recursive: true })
