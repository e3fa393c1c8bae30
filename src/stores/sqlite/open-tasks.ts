/**
 * Durable tasks in a file, in one line.
 *
 * @module
 */
import type { TaskState } from '../../core/lifecycle.js'
import { DurableTaskManager, type DurableTaskManagerOptions } from '../../durable/index.js'
import { Connection, type SqliteDatabase } from './database.js'
import { builtin, now, pause } from './platform.js'
import { sqliteStore, type SqliteStoreOptions } from './sqlite-store.js'

export interface OpenTasksOptions<S extends string = TaskState>
  extends Omit<DurableTaskManagerOptions<S>, 'store'>, Pick<SqliteStoreOptions, 'prefix'> {
  /**
   * `'full'`: each change is on the disk before it is acknowledged. `'normal'`: as long as the machine runs nothing is
   * lost, whatever becomes of the process; a power failure may take the latest changes, and leaves a sound file.
   * Several times as fast. Default is `'full'`.
   */
  readonly synchronous?: 'full' | 'normal' | undefined
}

/**
 * A manager of the tasks in a SQLite file, which is made where there is none, and which other processes may have open,
 * too. The file is in WAL mode from then on: it cannot be on a network drive.
 *
 * @param database The path of the file: opened with `node:sqlite`, and closed when the manager is destroyed. Where the
 *   runtime has no `node:sqlite`, an open database of `libsql` or `better-sqlite3`: it stays open, and the caller's.
 * @throws {TypeError} for an option that is unknown, or has the wrong type.
 * @throws {Error} for a path where there is no `node:sqlite`, and for a file whose tables a later release has made.
 * @example
 * const tasks = await openTasks('tasks.db')
 */
export async function openTasks<S extends string = TaskState>(
  database: string | SqliteDatabase,
  options: OpenTasksOptions<S> = {},
): Promise<DurableTaskManager<S>> {
  if (typeof database !== 'string') return new DurableTaskManager<S>(await managerOptions(database, options))
  const opened = open(database)
  try {
    return new FileTaskManager<S>(await managerOptions(opened, options), opened)
  } catch (error) {
    opened.close()
    throw error
  }
}

interface ClosableDatabase extends SqliteDatabase {
  close(): void
}

class FileTaskManager<S extends string> extends DurableTaskManager<S> {
  readonly #database: ClosableDatabase
  #closed: Promise<void> | undefined

  constructor(options: DurableTaskManagerOptions<S>, database: ClosableDatabase) {
    super(options)
    this.#database = database
  }

  override destroy(): Promise<void> {
    this.#closed ??= super.destroy().finally(() => this.#database.close())
    return this.#closed
  }
}

async function managerOptions<S extends string>(
  database: SqliteDatabase,
  { synchronous = 'full', prefix, ...options }: OpenTasksOptions<S>,
): Promise<DurableTaskManagerOptions<S>> {
  if (!['full', 'normal'].includes(synchronous)) {
    throw new TypeError(`"synchronous" must be 'full' or 'normal'`)
  }
  const store = sqliteStore(database, { prefix })
  await enterWal(new Connection(database))
  database.exec(`PRAGMA synchronous = ${synchronous}`)
  await store.migrate()
  return { ...options, store }
}

const WAL_TIMEOUT_MS = 5_000

/** While another process does the same, this may fail at once, whatever the busy timeout. */
async function enterWal(connection: Connection): Promise<void> {
  for (const deadline = now() + WAL_TIMEOUT_MS; ;) {
    try {
      connection.rows('PRAGMA journal_mode = WAL')
      return
    } catch (error) {
      const isLocked = error instanceof Error && error.message.includes('locked')
      if (!isLocked || now() >= deadline) throw error
      await pause(20)
    }
  }
}

function open(path: string): ClosableDatabase {
  // Node 22.13 and later, and Deno have it.
  const sqlite = builtin('node:sqlite') as
    { DatabaseSync: new (path: string) => ClosableDatabase } | undefined
  if (sqlite === undefined) throw new Error(NO_SQLITE)
  return new sqlite.DatabaseSync(path)
}

const NO_SQLITE = `This runtime has no "node:sqlite" (Node has it from 22.13 on), which opens a path. \
Install "libsql", or on Node 22 and later "better-sqlite3", and pass a database of it:

  import Database from 'libsql'
  const tasks = await openTasks(new Database('tasks.db'))`
