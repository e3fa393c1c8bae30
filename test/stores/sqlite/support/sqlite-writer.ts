/**
 * A process that appends to the log of one task, and says which generations have been acknowledged, one a line.
 * Arguments: the path of the file, the task's id, the name of this writer, how many commits (0: without end).
 */
import type { TaskKey } from 'a2a-tasks/durable'
import { sqliteStore } from 'a2a-tasks/stores/sqlite'
import Database from 'libsql'
import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { creationOf, commitOf } from './sqlite-log.js'

const [path = '', taskId = '', writer = '', count = '0'] = process.argv.slice(2)
const say = (line: string | number): number => writeSync(1, `${line}\n`)

say('ready')
await once(process.stdin, 'data')

const store = sqliteStore(new Database(path))
await store.migrate()
await store.create(creationOf(taskId))
const [head] = await store.heads([taskId])
if (head === undefined) throw new Error('The task is not there')
const key: TaskKey = { id: head.id, createdAt: head.createdAt }

let { generation } = head
for (let written = 0; count === '0' || written < Number(count);) {
  const commit = commitOf(key, generation, writer, written)
  const result = await store.commit(commit)
  if (result === 'committed') {
    written += 1
    generation = commit.head.generation
    say(generation)
  } else {
    generation = (await store.heads([taskId]))[0]?.generation ?? 0
  }
}
process.stdin.destroy()
