/** One replica of an agent on PostgreSQL. As a program, it begins a task, prints its id, and waits to be killed. */
import { pathToFileURL } from 'node:url'
import { DurableTaskManager } from 'a2a-tasks/durable'
import { createRequestHandler, type RequestHandler } from 'a2a-tasks/server'
import { postgresStore } from 'a2a-tasks/stores/postgres'
import pg from 'pg'

export interface Replica {
  readonly tasks: DurableTaskManager
  readonly handler: RequestHandler<{ id: string }, DurableTaskManager>
  readonly close: () => Promise<void>
}

/** Steps return the name of the replica that did them. Only `B` gets to the end of the second one. */
export async function replica(name: 'A' | 'B', url: string): Promise<Replica> {
  const pool = new pg.Pool({ connectionString: url, max: 5 })
  pool.on('error', () => undefined)
  const store = postgresStore(pool)
  await store.migrate()
  const tasks = new DurableTaskManager({
    store,
    replica: name,
    leaseMs: 1_000,
    sweepIntervalMs: 200,
    pollIntervalMs: 50,
  })
  const handler = createRequestHandler<{ id: string }, DurableTaskManager>({
    card: { name: 'Replicated', url: 'http://agent.test' },
    tasks,
    anonymous: 'shared',
    async execute(run) {
      const first = await run.step('search', () => `searched by ${name}`)
      const second = await run.step('book', () =>
        name === 'B' ? `booked by ${name}` : new Promise<string>(() => {}),
      )
      return `${first}, ${second}`
    },
  })
  const close = async (): Promise<void> => {
    await handler.close({ graceMs: 0 })
    await tasks.destroy()
    await pool.end()
  }
  return { tasks, handler, close }
}

if (pathToFileURL(process.argv[1] ?? '').href === import.meta.url) {
  const { handler } = await replica('A', process.argv[2] ?? '')
  const message = { messageId: '1', role: 'ROLE_USER', parts: [{ text: 'travel' }] }
  const params = { message, configuration: { returnImmediately: true } }
  const response = await handler.dispatch({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params })
  console.log(JSON.stringify(response))
}
