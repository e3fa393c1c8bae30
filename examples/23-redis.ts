/** Keeps tasks in Redis: two managers, as in two processes, follow and cancel the same task. Needs REDIS_URL. */
import assert from 'node:assert/strict'
import { DurableTaskManager } from 'a2a-tasks/durable'
import { redisStore } from 'a2a-tasks/stores/redis'
import { Redis } from 'ioredis'

const { REDIS_URL } = process.env
if (REDIS_URL === undefined) {
  console.log('Set REDIS_URL to run this example: REDIS_URL=redis://127.0.0.1:6379')
  process.exit()
}

const redis = new Redis(REDIS_URL)
// The client reconnects by itself. Without this listener, a client of the package "redis" ends the process on errors.
redis.on('error', (error) => console.error(error.message))
const store = redisStore(redis, { prefix: 'a2a-tasks-example' })
await store.migrate()
const here = new DurableTaskManager({ store })
const there = new DurableTaskManager({ store })

// One manager works on the task until it is canceled.
const { id } = await here.createTask({ skill: 'count', input: { to: 1_000_000 } })
await here.updateTask(id, { state: 'working' })
const signal = await here.signalOf(id)
const work = (async () => {
  let number = 0
  while (!signal.aborted) {
    number += 1
    await here.patchTask(id, { message: `At ${number}` }).catch(() => undefined)
  }
  return number
})()

// The other manager follows the task, and cancels it after ten updates.
let progress = 0
for await (const event of there.subscribe(id)) {
  if (event.type !== 'status' || event.from !== event.to) continue
  progress += 1
  if (progress === 10) await there.cancelTask(id, { message: 'Ten is enough' })
}

const reached = await work
assert.ok(reached >= 10)
const task = await here.getTask(id)
assert.equal(task?.state, 'canceled')
assert.equal(task.message, 'Ten is enough')

console.log(`Canceled at ${reached} by the other manager`)
await Promise.all([here.destroy(), there.destroy()])
redis.disconnect()
