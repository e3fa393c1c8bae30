/** The names of processes in the history of a task: one for each lease under which something was recorded. */
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { createRequestHandler } from 'a2a-tasks/server'
import { expect, it, onTestFinished } from 'vitest'

const CARD = { name: 'Named', url: 'http://agent.test' }

it('the history names each process that has worked on a task, once for each lease', async () => {
  const store = memoryStore()
  const open = (replica: string | undefined) => {
    const tasks = new DurableTaskManager({ store, replica, sweepIntervalMs: 20, leaseMs: 300 })
    const handler = createRequestHandler({
      card: CARD,
      tasks,
      async execute(run) {
        await run.step('one', () => 1)
        await run.step('two', () => 2)
        // Only B gets further.
        await run.step('three', () => (replica === 'B' ? 3 : new Promise<number>(() => {})))
        return 'done'
      },
    })
    const close = async (): Promise<void> => {
      await handler.close({ graceMs: 0 })
      await tasks.destroy()
    }
    onTestFinished(close)
    return { tasks, handler, close }
  }
  const a = open('A')
  const message = { messageId: '1', role: 'ROLE_USER', parts: [{ text: 'go' }] }
  const params = { message, configuration: { returnImmediately: true } }
  await a.handler.dispatch({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params })
  const [task] = await a.tasks.listTasks()
  const id = task?.id ?? ''
  const names = async (): Promise<unknown[]> =>
    (await b.tasks.history(id)).map(({ entry }) => [entry.kind, entry.by])
  const b = open('B')
  await expect.poll(names).toEqual([
    ['turn', 'A'],
    ['step', undefined],
    ['step', undefined],
  ])
  await a.close()
  await b.tasks.waitFor(id)
  expect((await names()).slice(3)).toEqual([['step', 'B']])
  const response = await b.handler.dispatch({ jsonrpc: '2.0', id: 2, method: 'GetTask', params: { id } })
  expect(JSON.stringify(response)).not.toMatch(/"by"|"A"|"B"/)
})

it.each([
  ['', '"replica" must not be empty'],
  ['x'.repeat(129), '"replica" must have at most 128 characters, got 129'],
  [1, '"replica" must be a string, got'],
])('a name %j is refused', (replica, text) => {
  // What JavaScript lets pass.
  const options = { store: memoryStore(), replica: replica as string }
  expect(() => new DurableTaskManager(options)).toThrow(text)
})
