/** Defines a lifecycle with a review step. The guarantees of the manager stay the same. */
import assert from 'node:assert/strict'
import { defineLifecycle, shortestPath, TaskManager, toMermaid } from 'a2a-tasks'

const lifecycle = defineLifecycle({
  submitted: ['working', 'canceled'],
  working: ['review', 'failed', 'canceled'],
  review: ['working', 'completed', 'canceled'],
  completed: [],
  failed: [],
  canceled: [],
})
const tasks = new TaskManager({ lifecycle })

const { id } = tasks.createTask({ skill: 'draft' })
assert.deepEqual(shortestPath('submitted', 'completed', lifecycle), ['working', 'review', 'completed'])
for (const state of shortestPath('submitted', 'review', lifecycle) ?? []) tasks.updateTask(id, { state })

// TypeScript knows the states: `state: 'input-required'` does not compile.
assert.equal(tasks.can(id, 'completed'), true)
assert.equal(tasks.can(id, 'failed'), false)
tasks.updateTask(id, { state: 'completed' })

// A table with a state that cannot be reached is refused.
assert.throws(
  () => defineLifecycle({ open: ['closed'], closed: [], lost: [] }),
  /Nothing leads from "open" to "lost"/,
)
console.log(toMermaid(lifecycle))
