/** Stores keep entries of a journal under the type of version 0.1, and managers show them under theirs. */
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { createRequestHandler } from 'a2a-tasks/server'
import { expect, onTestFinished, test } from 'vitest'
import { call, jsonRpc, taskOf, user } from '../server/spec/support/agent.js'

test('a store holds the form of 0.1, and a manager reads it', async () => {
  const store = memoryStore()
  const tasks = new DurableTaskManager({ store })
  const handler = createRequestHandler({
    card: { name: 'Worker', url: 'http://localhost' },
    tasks,
    execute: async (run) => await run.step('work', () => 'done'),
  })
  onTestFinished(async () => {
    await handler.close()
    await tasks.destroy()
  })
  const { id } = taskOf(await call(jsonRpc, { handler }, 'SendMessage', { message: user('go') }))
  const task = await tasks.getTask(id)
  if (task === null) throw new Error('There is no task')
  const types = (events: readonly { readonly type: string }[]): string[] =>
    events.map(({ type }) => type).filter((type) => ['history', 'journal'].includes(type))
  expect(types(await store.events(task, 0, 1_000))).toEqual(['history', 'history'])
  expect(types(await tasks.events(id))).toEqual(['journal', 'journal'])
  expect(await tasks.journal(id)).toMatchObject([
    { type: 'journal', entry: { kind: 'turn' } },
    { type: 'journal', entry: { kind: 'step', name: 'work#1', output: 'done' } },
  ])
})
