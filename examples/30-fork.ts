/** A task that went wrong continues from an earlier point, with another answer, and with another result of a step. */
import assert from 'node:assert/strict'
import { TaskManager } from 'a2a-tasks'
import { SendMessageResponseSchema } from 'a2a-tasks/schemas'
import { createRequestHandler, textOf } from 'a2a-tasks/server'

const tasks = new TaskManager()
const done: string[] = []

/** Replaces your services. */
function work<T>(name: string, result: T): () => T {
  return () => {
    done.push(name)
    return result
  }
}

const handler = createRequestHandler({
  card: { name: 'Travel agent', url: 'http://localhost/' },
  tasks,
  onError: (error) => done.push(String(error)),
  async execute(run) {
    const days = await run.step('free days', work('free days', 3))
    const city = textOf(await run.requireInput('Which city?'))
    const price = await run.step('price', work(`price of ${city}`, city === 'Rome' ? 900 : 150))
    if (price > 500) throw new Error(`${city} is too expensive`)
    return `${days} days in ${city} for ${price}`
  },
})

async function send(text: string, taskId?: string): Promise<string> {
  const message = { role: 'ROLE_USER', messageId: crypto.randomUUID(), parts: [{ text }], taskId }
  const params = { message, configuration: { returnImmediately: true } }
  const response = await handler.dispatch({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params })
  assert(!(Symbol.asyncIterator in response), 'SendMessage does not stream')
  const { task } = SendMessageResponseSchema.parse(response['result'])
  assert(task)
  return task.id
}

async function resultOf(taskId: string): Promise<string> {
  const { state, artifacts } = await tasks.waitFor(taskId)
  return artifacts[0]?.parts?.[0]?.text ?? state
}

const id = await send('Book a holiday')
await tasks.waitFor(id, { until: 'input-required' })
await send('Rome', id)
assert.equal(await resultOf(id), 'failed')
for (const { generation, entry } of tasks.journal(id)) console.log(generation, entry)

// What if the user had said Oslo? The step before the question does not run again.
const oslo = await tasks.fork(id, { answers: { 'input-required#1': 'Oslo' } })
assert.equal(await resultOf(oslo.id), '3 days in Oslo for 150')

// What if Rome were cheap? No step runs again.
const cheap = await tasks.fork(id, { steps: { 'price#1': 400 } })
assert.equal(await resultOf(cheap.id), '3 days in Rome for 400')

assert.deepEqual(done, ['free days', 'price of Rome', 'Error: Rome is too expensive', 'price of Oslo'])
assert.equal(tasks.getTask(id)?.state, 'failed')
await handler.close()
tasks.destroy()
