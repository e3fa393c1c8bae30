/** Two readers follow one task. One of them stops, and resumes after the last event that it has seen. */
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { evolve, TaskManager, type TaskSnapshot } from 'a2a-tasks'

const tasks = new TaskManager()
const { id } = tasks.createTask({ skill: 'write' })

async function write(text: string): Promise<void> {
  tasks.updateTask(id, { state: 'working' })
  for (const word of text.split(' ')) {
    tasks.appendArtifact(id, { artifactId: 'text', parts: [{ text: word }] })
    await turn()
  }
  tasks.updateTask(id, { state: 'completed' })
}

/** Builds the task from its events, after a cursor. Stops early at the generation `until`. */
async function follow(from?: TaskSnapshot, until = Infinity): Promise<TaskSnapshot | undefined> {
  let task = from
  for await (const event of tasks.subscribe(id, { after: from?.generation })) {
    task = evolve(task, event)
    if (task.generation >= until) break
  }
  return task
}

const writing = write('The quick brown fox jumps over the lazy dog')
const live = follow()
const interrupted = await follow(undefined, 5)
assert.equal(interrupted?.generation, 5)

// The generation of the task is the cursor: no event is missed or repeated.
const resumed = await follow(interrupted)
await writing
assert.deepEqual(resumed, tasks.peekTask(id))
assert.deepEqual(await live, resumed)
console.log(resumed.artifacts[0]?.parts?.map(({ text }) => text).join(' '))
