/** Tasks in a file: a process ends in the middle of its work, and the next one knows what was done and what was not. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { A2AClient } from 'a2a-tasks/client'
import { createRequestHandler } from 'a2a-tasks/server'
import { openTasks, type SqliteDatabase } from 'a2a-tasks/stores/sqlite'
import Database from 'libsql'

const folder = await mkdtemp(join(tmpdir(), 'tasks-'))
const file = join(folder, 'tasks.db')

// Where the runtime has node:sqlite, the path is enough: openTasks(file). Node 20 has not, and opens it by libsql.
const hasSqlite = process.getBuiltinModule('node:sqlite') !== undefined
const open = (): string | SqliteDatabase => (hasSqlite ? file : new Database(file))

// The first process: it translates two pages of three, and is gone.
const before = await openTasks(open(), { retention: false })
const { id } = await before.createTask({ skill: 'translate', input: { pages: 3 } })
await before.updateTask(id, { state: 'working', message: 'Page 1 of 3' })
await before.appendArtifact(id, { artifactId: 'book', parts: [{ text: 'Es war einmal' }] })
await before.appendArtifact(id, { artifactId: 'book', parts: [{ text: ' ein König,' }] })
await before.destroy()

// The second: all of it is there, and it goes on where the first one stopped.
const after = await openTasks(open())
const task = await after.getTask(id)
assert.equal(task?.state, 'working')
assert.equal(task.artifacts[0]?.parts?.length, 2)
await after.appendArtifact(id, { artifactId: 'book', parts: [{ text: ' der hatte drei Söhne.' }] })
await after.updateTask(id, { state: 'completed' })

// Its log has everything, whoever wrote it.
const events = await after.events(id)
assert.deepEqual(
  events.map(({ type }) => type),
  ['created', 'status', 'artifact', 'artifact', 'artifact', 'status'],
)

// An agent over the same file: what it is asked, and what it answers, is in it too.
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
