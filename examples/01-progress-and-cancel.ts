/** A worker reports progress and stops when the task is canceled; a caller waits for it with a time limit. */
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

// The wait times out; the task continues.
const impatient = await tasks.waitFor(id, { timeoutMs: 20 }).catch((error: unknown) => error)
assert(A2AError.is(impatient, 'WAIT_TIMED_OUT'))
assert.equal(tasks.getTask(id)?.state, 'working')

// A cancellation ends the task, and aborts the signal of the worker.
tasks.cancelTask(id, { message: 'That is enough' })
await counting
assert.equal((await tasks.waitFor(id)).state, 'canceled')

// A canceled task cannot change.
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
