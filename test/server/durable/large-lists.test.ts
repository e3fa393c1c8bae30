/** What a list of tasks reads from the store, however many tasks there are. */
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { createRequestHandler } from 'a2a-tasks/server'
import { expect, onTestFinished, test } from 'vitest'
import { faultyStore } from '../../support/faulty-store.js'

test.each([{}, { statusTimestampAfter: '2020-01-01T00:00:00Z' }])(
  'a page of ListTasks with %j reads the tasks of that page, and one more',
  async (filter) => {
    const calls: string[] = []
    let rows = 0
    const store = faultyStore(memoryStore(), {
      after: (step, _, result) => {
        calls.push(step)
        if (step === 'list') rows += (result as readonly unknown[]).length
      },
    })
    const tasks = new DurableTaskManager({ store, sweepIntervalMs: false })
    const handler = createRequestHandler({
      card: { name: 'Lister', url: 'https://agent.example' },
      execute: () => 'done',
      anonymous: 'shared',
      tasks,
    })
    onTestFinished(async () => {
      await handler.close()
      await tasks.destroy()
    })
    for (let count = 0; count < 60; count += 1) await tasks.createTask({ skill: 'test' })
    calls.length = 0
    const params = { ...filter, pageSize: 10 }
    const answer = await handler.dispatch({ jsonrpc: '2.0', id: 1, method: 'ListTasks', params })
    expect(answer).toMatchObject({ result: { totalSize: 60, pageSize: 10 } })
    expect(calls.sort()).toEqual(['count', 'list'])
    expect(rows).toBe(11)
  },
)
