/**
 * Durable manager over a SQLite file, opened in one call.
 *
 * @module
 */
import type { TaskState } from '../../core/lifecycle.js'
import { DurableTaskManager } from '../../durable/durable-task-manager.js'
import { OPTION_KEYS, type DurableTaskManagerOptions } from '../../durable/options.js'
import { Connection, isLocked, type SqliteDatabase } from './database.js'
import { systemClock } from '../../runtime/clock.js'
import { builtin } from '../../runtime/environment.js'
import { requireKnown, requireObject, requireOneOf } from '../../runtime/options.js'
import { sleep } from '../../runtime/timers.js'
import type { SqliteStoreOptions } from './options.js'
import { sqliteStore } from './sqlite-store.js'

/** Options of {@link openTasks}: those of `DurableTaskManager`, without `store`. */
export interface OpenTasksOptions<S extends string = TaskState>
  extends Omit<DurableTaskManagerOptions<S>, 'store'>, Pick<SqliteStoreOptions, 'prefix' | 'feedSize'> {
  /**
   * With `'full'`, each change is on the disk before it is acknowledged. With `'normal'`, which is several times as
   * fast, a crash of the process loses nothing, but a power failure may lose the latest changes. It never corrupts the
   * file. Default is `'full'`.
   */
  readonly synchronous?: 'full' | 'normal' | undefined
}

/**
 * Opens a manager of the tasks in a SQLite file. Creates the file if it does not exist, and creates or migrates its
 * tables. Other processes may have the file open at the same time. The file is switched to WAL mode, so it cannot be on a
 * network drive.
 *
 * @param database The path of the file, which is closed when the manager is destroyed. It is opened with `node:sqlite`, and
 *   on runtimes without it with the package `libsql`. Or an open database of `node:sqlite`, `libsql` or `better-sqlite3`,
 *   which the caller closes.
 * @throws {TypeError | RangeError} for an invalid option; the message names it. `TypeError` for a value that is not a
 *   database.
 * @throws {A2AError} `STORE_FAILED` for a file whose tables a later release has created.
 * @throws {Error} for a path on a runtime without `node:sqlite` where `libsql` is not installed, and for a file that cannot
 *   be in WAL mode.
 * @example
 * const tasks = await openTasks('tasks.db')
 */
export async function openTasks<S extends string = TaskState>(
  database: string | SqliteDatabase,
  options: OpenTasksOptions<S> = {},
): Promise<DurableTaskManager<S>> {
  if (database === '' || (typeof database === 'string' && database.includes('\0')))
    throw new TypeError('"database" must be the path of a file, or an open database')
  if (typeof database !== 'string') return new DurableTaskManager<S>(await managerOptions(database, options))
  const opened = await open(database)
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
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    // The manager tries the last writes only once, so they wait longer for a lock.
    this.#database.exec(`PRAGMA busy_timeout = ${LAST_BUSY_TIMEOUT_MS}`)
    await super.destroy().finally(() => this.#database.close())
  }
}

async function managerOptions<S extends string>(
  database: SqliteDatabase,
  given: OpenTasksOptions<S>,
): Promise<DurableTaskManagerOptions<S>> {
  requireObject(undefined, given, 'openTasks')
  if ('store' in given) {
    throw new TypeError('openTasks() makes its own "store"; new DurableTaskManager({ store }) takes one')
  }
  requireKnown(given, [...STORE_KEYS, ...OPTION_KEYS], 'openTasks')
  const { synchronous = 'full', prefix, feedSize, ...options } = given
  requireOneOf('synchronous', synchronous, ['full', 'normal'])
  const store = sqliteStore(database, { prefix, feedSize })
  await whenUnlocked(() => enterWal(new Connection(database)))
  database.exec(`PRAGMA synchronous = ${synchronous}`)
  await whenUnlocked(() => store.migrate())
  return { ...options, store }
}

const STORE_KEYS = ['synchronous', 'prefix', 'feedSize']

function enterWal(connection: Connection): void {
  const mode = connection.rows('PRAGMA journal_mode = WAL')[0]?.['journal_mode']
  if (mode === 'wal' || mode === 'memory') return
  throw new Error(
    `The database cannot use WAL mode, and stays in "${String(mode)}": put its file on a local disk`,
  )
}

const LOCKED_MS = 5_000

/**
 * Retries `work` while another process has the file locked. Some statements fail at once then, whatever the busy
 * timeout.
 */
async function whenUnlocked(work: () => void | Promise<void>): Promise<void> {
  for (const deadline = systemClock.now() + LOCKED_MS; ;) {
    try {
      await work()
      return
    } catch (error) {
      if (!isLocked(error) || systemClock.now() >= deadline) throw error
      await sleep(20)
    }
  }
}

/**
 * Waiting for a lock blocks the process. With a short timeout the manager retries, and the process serves other
 * requests in between.
 */
const BUSY_TIMEOUT_MS = 100

const LAST_BUSY_TIMEOUT_MS = 5_000

async function open(path: string): Promise<ClosableDatabase> {
  const database = new (await driver())(path)
  database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
  return database
}

type Driver = new (path: string) => ClosableDatabase

async function driver(): Promise<Driver> {
  // Node 22.13 and later, and Deno have it.
  const sqlite = builtin('node:sqlite') as { readonly DatabaseSync: Driver } | undefined
  if (sqlite !== undefined) return sqlite.DatabaseSync
  try {
    // Bundlers leave it out: most programs need none of it.
    const libsql = (await import(/* webpackIgnore: true */ /* @vite-ignore */ LIBSQL)) as {
      readonly default: Driver
    }
    return libsql.default
  } catch (cause) {
    throw new Error(NO_SQLITE, { cause })
  }
}

const LIBSQL: string = 'libsql'

const NO_SQLITE = `This runtime has no SQLite of its own: use Node 22.13 or later, or run

  npm install libsql`
