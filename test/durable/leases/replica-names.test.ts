/** The names of processes in the history of a task: one for each lease under which something was recorded. */
import { DurableTaskManager, memoryStore, type TaskStore } from 'a2a-tasks/durable'
import { createRequestHandler, type Run } from 'a2a-tasks/server'
import { sqliteStore } from 'a2a-tasks/stores/sqlite'
import Database from 'libsql'
import { expect, it, onTestFinished } from 'vitest'

const CARD = { name: 'Named', url: 'http://agent.test' }

const never = (): Promise<number> => new Promise(() => {})

it.each([
  ['a step', () => memoryStore(), (run: Run) => run.step('three', () => 3)],
  ['a transaction', openSqlite, (run: Run) => run.transaction('three', () => 3)],
])(
  'the history names each process, once for each lease, where one begins with %s',
  async (_, makeStore, three) => {
    const store = await makeStore()
    const open = (replica: string | undefined) => {
      const tasks = new DurableTaskManager({ store, replica, sweepIntervalMs: 20, leaseMs: 300 })
      const handler = createRequestHandler({
        card: CARD,
        tasks,
        async execute(run) {
          await run.step('one', () => 1)
          await run.step('two', () => 2)
          // Only B gets further.
          await (replica === 'B' ? three(run) : run.step('three', never))
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
      (await b.tasks.journal(id)).map(({ entry }) => [entry.kind, entry.by])
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
  },
)

async function openSqlite(): Promise<TaskStore> {
  const database = new Database(':memory:')
  onTestFinished(() => void database.close())
  const store = sqliteStore(database)
  await store.migrate()
  return store
}

it.each([
  ['', '"replica" must not be empty'],
  ['x'.repeat(129), '"replica" must have at most 128 characters, got 129'],
  [1, '"replica" must be a string, got'],
])('a name %j is refused', (replica, text) => {
  // What JavaScript lets pass.
  const options = { store: memoryStore(), replica: replica as string }
  expect(() => new DurableTaskManager(options)).toThrow(text)
})
