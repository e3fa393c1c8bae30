/** Tests timeouts and expiry without waiting, with a clock that the test sets. */
import assert from 'node:assert/strict'
import { TaskManager } from 'a2a-tasks'
import { ManualClock, sequentialIds } from 'a2a-tasks/testing'

const clock = new ManualClock('2026-01-01T00:00:00Z')
const hour = 3_600_000
const tasks = new TaskManager({
  clock,
  generateId: sequentialIds('task'),
  taskTimeoutMs: hour,
  expiryMs: 24 * hour,
  pruneIntervalMs: hour,
})

const { id } = tasks.createTask({ skill: 'slow' })
assert.equal(id, 'task-1')
tasks.updateTask(id, { state: 'working' })

clock.advance(hour)
assert.equal(tasks.getTask(id)?.state, 'failed')
assert.equal(tasks.getTask(id)?.updatedAt, '2026-01-01T01:00:00.000Z')

const expired: string[] = []
tasks.on('task:expired', (task) => expired.push(task.id))
clock.advance(24 * hour)
assert.deepEqual(expired, ['task-1'])
assert.equal(clock.pending, 0)
console.log('25 hours passed on the clock')
