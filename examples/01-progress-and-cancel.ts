/** A worker that hears of a cancel at once, and a caller that waits with a time limit. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { A2AError, TaskManager } from 'a2a-tasks'

const tasks = new TaskManager()

async function count(id: string): Promise<void> {
  const signal = tasks.signalOf(id)
  tasks.updateTask(id, { state: 'working' })
  for (let n = 1; !signal.aborted; n++) {
    tasks.updateTask(id, { message: `Counted to ${n}` })
    await sleep(5)
  }
}

const { id } = tasks.createTask({ skill: 'count' })
const counting = count(id)

// Waiting gives up; the task goes on.
const impatient = await tasks.waitFor(id, { timeoutMs: 20 }).catch((error: unknown) => error)
assert(A2AError.is(impatient, 'WAIT_TIMED_OUT'))
assert.equal(tasks.getTask(id)?.state, 'working')

// A cancel ends it, and aborts the worker's signal.
tasks.cancelTask(id, { message: 'That is enough' })
await counting
assert.equal((await tasks.waitFor(id)).state, 'canceled')

// What has ended stays as it is.
assert.throws(
  () => tasks.updateTask(id, { state: 'working' }),
  (error) => A2AError.is(error, 'TASK_TERMINAL') && error.data.state === 'canceled',
)
console.log(
  tasks
    .getTask(id)
    ?.history.map(({ state }) => state)
    .join(' → '),
)
