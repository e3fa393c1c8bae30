/** Every manager of tasks, over every store: the rows of the table in docs/reference/combinations.md. */
import { createRequire } from 'node:module'
import { TaskManager, type Lifecycle, type TaskState } from 'a2a-tasks'
import { DurableTaskManager, memoryStore, type TaskStore } from 'a2a-tasks/durable'
import { postgresStore, type PostgresClient } from 'a2a-tasks/stores/postgres'
import { redisStore, type IoRedisClient } from 'a2a-tasks/stores/redis'
import { sqliteStore, type SqliteDatabase } from 'a2a-tasks/stores/sqlite'
import { onTestFinished } from 'vitest'
import { databaseFile } from '../../stores/sqlite/support/sqlite.js'
import { newSchema } from '../../support/pglite.js'

export type Manager<S extends string = TaskState> = TaskManager<S> | DurableTaskManager<S>

/** The columns of the table that a row belongs to. */
export type Heading = 'TaskManager' | 'memoryStore' | 'SQLite' | 'PostgreSQL' | 'Redis'

export interface Row {
  readonly name: string
  readonly heading: Heading
  /** A manager over its own store. It is destroyed when the test ends. */
  readonly open: <S extends string = TaskState>(
    lifecycle?: Lifecycle<S>,
    options?: FeedOptions,
  ) => Promise<Manager<S>>
  /** Its own store, which is closed when the test ends. Absent where tasks are in memory. */
  readonly openStore?: OpenStore
}

interface FeedOptions {
  readonly feedSize?: number
}

type OpenStore = (options?: FeedOptions) => Promise<TaskStore>

export const HEADINGS: readonly Heading[] = ['TaskManager', 'memoryStore', 'SQLite', 'PostgreSQL', 'Redis']

/** A row of a durable manager. `openStore` registers what closes the store. */
export function durableRow(name: string, heading: Heading, openStore: OpenStore): Row {
  return {
    name,
    heading,
    openStore,
    async open(lifecycle, options) {
      const store = await openStore(options)
      const tasks = new DurableTaskManager({ store, lifecycle, pollIntervalMs: 20 })
      onTestFinished(() => tasks.destroy())
      return tasks
    },
  }
}

let stores = 0

/** A store in its own schema. */
export async function postgresIn(client: PostgresClient, options?: FeedOptions): Promise<TaskStore> {
  const store = postgresStore(client, { ...options, schema: newSchema() })
  await store.migrate()
  return store
}

/** A store under its own prefix. */
export async function redisIn(client: IoRedisClient, options?: FeedOptions): Promise<TaskStore> {
  const store = redisStore(client, { ...options, prefix: `combination ${(stores += 1)}` })
  await store.migrate()
  return store
}

/** The kinds of all documents that the parts have written over `memoryStore`. */
export const WRITTEN_KINDS = new Set<string>()

function recorded(store: TaskStore): TaskStore {
  const putDocument: TaskStore['putDocument'] = (document, version) => {
    WRITTEN_KINDS.add(document.kind)
    return store.putDocument(document, version)
  }
  return new Proxy(store, {
    get(target, name) {
      if (name === 'putDocument') return putDocument
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? (member.bind(target) as unknown) : member
    },
  })
}

/** The rows that need no server. */
export const FAST_ROWS: readonly Row[] = [
  {
    name: 'TaskManager',
    heading: 'TaskManager',
    open(lifecycle, options) {
      const tasks = new TaskManager({ ...options, lifecycle })
      onTestFinished(() => tasks.destroy())
      return Promise.resolve(tasks)
    },
  },
  durableRow('memoryStore', 'memoryStore', (options) => Promise.resolve(recorded(memoryStore(options)))),
  durableRow('libsql', 'SQLite', async (options) => {
    const file = databaseFile()
    onTestFinished(() => file.remove())
    return await file.open(options)
  }),
  ...betterSqlite(),
]

/** `better-sqlite3` runs on Node 22 and later, so it is not installed everywhere. */
function betterSqlite(): Row[] {
  try {
    // The package has no types here; its database is what the store takes.
    const Database = createRequire(import.meta.url)('better-sqlite3') as new (
      path: string,
    ) => SqliteDatabase & { close(): void }
    new Database(':memory:').close()
    return [
      durableRow('better-sqlite3', 'SQLite', async (options) => {
        const database = new Database(':memory:')
        onTestFinished(() => database.close())
        const store = sqliteStore(database, options)
        await store.migrate()
        return store
      }),
    ]
  } catch {
    return []
  }
}
