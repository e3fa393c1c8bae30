/** Managers of every kind, and an agent over one of them. */
import { TaskManager, type JournalRecorded, type Task } from 'a2a-tasks'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import {
  createRequestHandler,
  type ErrorContext,
  type Execute,
  type RequestHandler,
  type RequestHandlerOptions,
} from 'a2a-tasks/server'
import { postgresStore } from 'a2a-tasks/stores/postgres'
import { openTasks } from 'a2a-tasks/stores/sqlite'
import { ManualClock } from 'a2a-tasks/testing'
import Database from 'libsql'
import { setImmediate as turn } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { pass } from '../../durable/support/replicas.js'
import { call, jsonRpc, ORIGIN, taskOf, user } from '../../spec/support/agent.js'
import { databaseFile } from '../../../stores/sqlite/support/sqlite.js'
import { newSchema, sharedPglite } from '../../../support/pglite.js'

export type Tasks = TaskManager | DurableTaskManager
export type Open = (clock: ManualClock) => Tasks | Promise<Tasks>

async function overPostgres(clock: ManualClock): Promise<DurableTaskManager> {
  const store = postgresStore(await sharedPglite(), { schema: newSchema() })
  await store.migrate()
  return new DurableTaskManager({ store, clock })
}

function overSqlite(clock: ManualClock): Promise<DurableTaskManager> {
  const file = databaseFile()
  onTestFinished(() => file.remove())
  return openTasks(new Database(file.path), { synchronous: 'normal', clock })
}

type Named = readonly [string, Open]

/** PostgreSQL in this process. It starts slowly: for what a database decides, such as transactions. */
export const PGLITE: Named = ['PGlite', overPostgres]
export const SQLITE: Named = ['SQLite', overSqlite]

/** Of stores, `test/combinations` and the suite for stores test more. */
export const MANAGERS: readonly Named[] = [
  ['a TaskManager', (clock) => new TaskManager({ clock })],
  [
    'memoryStore',
    (clock) => new DurableTaskManager({ store: memoryStore({ now: () => clock.now() }), clock }),
  ],
  SQLITE,
]

export interface Agent {
  readonly tasks: Tasks
  readonly clock: ManualClock
  readonly handler: RequestHandler
  readonly errors: { readonly error: unknown; readonly context: ErrorContext }[]
  /** Sends a message. Resolves to the id of the task. */
  readonly say: (text: string, taskId?: string) => Promise<string>
  /** The task, once it is in this state; time passes until then. */
  readonly reaches: (id: string, state: string) => Promise<Task>
  readonly kinds: (id: string) => Promise<string[]>
  readonly journal: (id: string) => Promise<JournalRecorded[]>
}

type Options = Partial<Omit<RequestHandlerOptions, 'tasks' | 'execute' | 'clock'>>

export async function agent(open: Open, execute: Execute, options: Options = {}): Promise<Agent> {
  const clock = new ManualClock()
  const tasks = await open(clock)
  const errors: Agent['errors'] = []
  const handler = createRequestHandler({
    card: { name: 'Worker', url: ORIGIN },
    onError: (error, context) => errors.push({ error, context }),
    ...options,
    ...{ tasks, execute, clock },
  }) as unknown as RequestHandler
  onTestFinished(async () => {
    let isClosed = false
    const closed = handler.close({ graceMs: 1 }).finally(() => (isClosed = true))
    await pass(clock, () => isClosed)
    await closed
    await tasks.destroy()
  })
  const journal = async (id: string): Promise<JournalRecorded[]> => await tasks.journal(id)
  return {
    ...{ tasks, clock, handler, errors, journal },
    async say(text, taskId) {
      const message = user(text, taskId === undefined ? {} : { taskId })
      const params = { message, configuration: { returnImmediately: true } }
      return taskOf(await call(jsonRpc, { handler }, 'SendMessage', params)).id
    },
    async reaches(id, state) {
      for (let turns = 0; turns < 5_000; turns += 1) {
        const task = await tasks.getTask(id)
        if (task?.state === state) return task
        clock.advance(20)
        await turn()
      }
      throw new Error(`The task is ${(await tasks.getTask(id))?.state}: ${String(errors.at(-1)?.error)}`)
    },
    kinds: async (id) => (await journal(id)).map(({ entry }) => entry.kind),
  }
}

/** The texts of a task's artifacts. */
export function textsOf({ artifacts }: Task): string[] {
  return artifacts.map(({ parts = [] }) => parts.map((part) => part.text ?? '').join(''))
}
