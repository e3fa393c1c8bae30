/**
 * How many calls of the store one message costs.
 */
import { expect, test } from 'vitest'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { createRequestHandler } from 'a2a-tasks/server'
import { faultyStore } from '../../support/faulty-store.js'

test('a message whose work has three steps costs one creation, four commits and no read', async () => {
  const calls: Record<string, number> = {}
  const count = (step: string): void => void (calls[step] = (calls[step] ?? 0) + 1)
  // Polls would be calls, too.
  const tasks = new DurableTaskManager({
    store: faultyStore(memoryStore(), { before: count }),
    pollIntervalMs: 60_000,
    sweepIntervalMs: 60_000,
  })
  const handler = createRequestHandler({
    card: { name: 'Steps', url: 'http://localhost/' },
    tasks,
    async execute(run) {
      const outputs: string[] = []
      for (const name of ['reserve', 'pay', 'confirm']) outputs.push(await run.step(name, () => name))
      return outputs.join(', ')
    },
  })
  const message = { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'go' }] }
  const body = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }

  const response = await handler.dispatch(body)
  expect(response).toMatchObject({ result: { task: { status: { state: 'TASK_STATE_COMPLETED' } } } })
  const { create, commit, heads = 0, get = 0, events = 0 } = calls
  expect({ create, commit, heads, get, events }).toEqual({
    create: 1,
    commit: 4,
    heads: 0,
    get: 0,
    events: 0,
  })

  await handler.close()
  await tasks.destroy()
})
