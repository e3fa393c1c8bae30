/** Delegates tasks of a TaskManager to another agent. The tasks follow its progress, and a cancellation reaches it. */
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { TaskManager } from 'a2a-tasks'
import { A2AClient } from 'a2a-tasks/client'
import { fakeAgent } from 'a2a-tasks/testing'

// The other agent, in memory. A remote agent needs no `fetch`.
const analyst = fakeAgent(async function* (run) {
  const { rows } = run.message.parts[0]?.data as { rows: number }
  for (let row = 1; row <= rows; row++) {
    run.update({ current: row, total: rows })
    await turn()
    run.signal.throwIfAborted()
  }
  yield `${rows} rows: all is well`
})

const tasks = new TaskManager()
const client = new A2AClient({
  taskManager: tasks,
  agents: { analyst: analyst.url },
  fetch: analyst.fetch,
})
tasks.on('task:stateChange', ({ taskId, from, to }) =>
  console.log(`${tasks.peekTask(taskId)?.skill}: ${from} → ${to}`),
)

// The task gets the states and artifacts of the other agent.
const small = tasks.createTask({
  skill: 'small-analysis',
  input: { rows: 3 },
  owner: 'ada',
  metadata: { priority: 'high' },
})
const result = await client.sendTask('analyst', small)
assert(result.ok)
const done = await tasks.waitFor(small.id)
assert.equal(done.state, 'completed')
assert.equal(done.artifacts[0]?.parts?.[0]?.text, '3 rows: all is well')

// The agent receives the input, and the lineage: which task it comes from. The owner and the metadata are not sent.
const received = analyst.tasks.listTasks()[0]?.messages[0]
assert.deepEqual(received?.parts, [{ data: { rows: 3 } }])
assert.equal(received.metadata?.['skill'], 'small-analysis')
assert.equal(received.metadata['priority'], undefined)

// Canceling the task also cancels the task of the other agent.
const large = tasks.createTask({ skill: 'large-analysis', input: { rows: 1_000_000 } })
const sending = client.sendTask('analyst', large)
await tasks.waitFor(large.id, { until: 'working' })
tasks.cancelTask(large.id, { message: 'No longer needed' })
assert.equal((await sending).type, 'canceled')
assert.deepEqual(
  analyst.tasks.listTasks().map(({ state }) => state),
  ['completed', 'canceled'],
)

// If the agent cannot be reached, the task fails.
const lost = tasks.createTask({ skill: 'lost-analysis' })
const nowhere = new A2AClient({
  taskManager: tasks,
  retry: { attempts: 1 },
  fetch: () => Promise.reject(new TypeError('fetch failed')),
})
await assert.rejects(nowhere.sendTask('https://nowhere.example', lost), { code: 'EXTERNAL_SERVICE_ERROR' })
assert.equal(tasks.peekTask(lost.id)?.state, 'failed')
