/** Every manager of tasks, over every store: the rows of the table in docs/reference/combinations.md. */
import { createRequire } from 'node:module'
import { PGlite } from '@electric-sql/pglite'
import { TaskManager, type Lifecycle, type TaskState } from 'a2a-tasks'
import { DurableTaskManager, memoryStore, type TaskStore } from 'a2a-tasks/durable'
import { postgresStore, type PostgresClient } from 'a2a-tasks/stores/postgres'
import { redisStore, type IoRedisClient } from 'a2a-tasks/stores/redis'
import { sqliteStore, type SqliteDatabase } from 'a2a-tasks/stores/sqlite'
import { onTestFinished } from 'vitest'
import { databaseFile } from '../../stores/sqlite/support/sqlite.js'

export type Manager<S extends string = TaskState> = TaskManager<S> | DurableTaskManager<S>

/** The columns of the table that a row belongs to. */
export type Heading = 'TaskManager' | 'memoryStore' | 'SQLite' | 'PostgreSQL' | 'Redis'

export interface Row {
  readonly name: string
  readonly heading: Heading
  /** A manager over its own store. It is destroyed when the test ends. */
  readonly open: <S extends string = TaskState>(lifecycle?: Lifecycle<S>) => Promise<Manager<S>>
  /** Its own store, which is closed when the test ends. Absent where tasks are in memory. */
  readonly openStore?: () => Promise<TaskStore>
}

export const HEADINGS: readonly Heading[] = ['TaskManager', 'memoryStore', 'SQLite', 'PostgreSQL', 'Redis']

/** A row of a durable manager. `openStore` registers what closes the store. */
export function durableRow(name: string, heading: Heading, openStore: () => Promise<TaskStore>): Row {
  return {
    name,
    heading,
    openStore,
    async open(lifecycle) {
      const tasks = new DurableTaskManager({ store: await openStore(), lifecycle, pollIntervalMs: 20 })
      onTestFinished(() => tasks.destroy())
      return tasks
    },
  }
}

let stores = 0

/** A store in its own schema. */
export async function postgresIn(client: PostgresClient): Promise<TaskStore> {
  const store = postgresStore(client, { schema: `combination_${(stores += 1)}` })
  await store.migrate()
  return store
}

/** A store under its own prefix. */
export async function redisIn(client: IoRedisClient): Promise<TaskStore> {
  const store = redisStore(client, { prefix: `combination ${(stores += 1)}` })
  await store.migrate()
  return store
}

let pglite: Promise<PGlite> | undefined

/** The rows that need no server. */
export const FAST_ROWS: readonly Row[] = [
  {
    name: 'TaskManager',
    heading: 'TaskManager',
    open(lifecycle) {
      const tasks = new TaskManager({ lifecycle })
      onTestFinished(() => tasks.destroy())
      return Promise.resolve(tasks)
    },
  },
  durableRow('memoryStore', 'memoryStore', () => Promise.resolve(memoryStore())),
  durableRow('libsql', 'SQLite', async () => {
    const file = databaseFile()
    onTestFinished(() => file.remove())
    return await file.open()
  }),
  ...betterSqlite(),
  durableRow('PGlite', 'PostgreSQL', async () => postgresIn(await (pglite ??= PGlite.create()))),
]

export async function closeFastRows(): Promise<void> {
  await (await pglite)?.close()
  pglite = undefined
}

/** `better-sqlite3` runs on Node 22 and later, so it is not installed everywhere. */
function betterSqlite(): Row[] {
  try {
    // The package has no types here; its database is what the store takes.
    const Database = createRequire(import.meta.url)('better-sqlite3') as new (
      path: string,
    ) => SqliteDatabase & { close(): void }
    new Database(':memory:').close()
    return [
      durableRow('better-sqlite3', 'SQLite', async () => {
        const database = new Database(':memory:')
        onTestFinished(() => database.close())
        const store = sqliteStore(database)
        await store.migrate()
        return store
      }),
    ]
  } catch {
    return []
  }
}
