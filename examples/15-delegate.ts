/** Tasks of ours that another agent does: followed in our own TaskManager, canceled from there. */
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { TaskManager } from 'a2a-tasks'
import { A2AClient } from 'a2a-tasks/client'
import { fakeAgent } from 'a2a-tasks/testing'

// The other agent. In life it is somewhere else, and `fetch` is not needed.
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

// Whoever watches the task sees what the other agent tells, as it comes.
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

// The agent got the input, and nothing else: owner and metadata are ours.
const asked = analyst.tasks.listTasks()[0]?.messages[0]
assert.deepEqual(asked?.parts, [{ data: { rows: 3 } }])
assert.deepEqual(asked.metadata, { skill: 'small-analysis' })

// Canceling our task cancels the other one.
const large = tasks.createTask({ skill: 'large-analysis', input: { rows: 1_000_000 } })
const sending = client.sendTask('analyst', large)
await tasks.waitFor(large.id, { until: 'working' })
tasks.cancelTask(large.id, { message: 'Nobody needs it any more' })
assert.equal((await sending).type, 'canceled')
assert.deepEqual(
  analyst.tasks.listTasks().map(({ state }) => state),
  ['completed', 'canceled'],
)

// Where there is no agent, the task says so.
const lost = tasks.createTask({ skill: 'lost-analysis' })
const nowhere = new A2AClient({
  taskManager: tasks,
  retry: { attempts: 1 },
  fetch: () => Promise.reject(new TypeError('fetch failed')),
})
await assert.rejects(nowhere.sendTask('https://nowhere.example', lost), { code: 'EXTERNAL_SERVICE_ERROR' })
assert.equal(tasks.peekTask(lost.id)?.state, 'failed')
