/** Two readers of one task: one follows it live, one loses the connection and goes on where it was. */
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

/** Folds what a subscription yields into the task, from a cursor on; leaves early when told to. */
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

// The generation is the cursor: nothing is missed, nothing comes twice.
const resumed = await follow(interrupted)
await writing
assert.deepEqual(resumed, tasks.peekTask(id))
assert.deepEqual(await live, resumed)
console.log(resumed.artifacts[0]?.parts?.map(({ text }) => text).join(' '))
