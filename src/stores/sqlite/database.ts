/**
 * One interface to SQLite over all supported drivers.
 *
 * @module
 */
import { sleep } from '../../runtime/timers.js'

/** What this store asks of a statement. */
export interface SqliteStatement {
  run(...parameters: (string | number | null)[]): { readonly changes: number | bigint }
  all(...parameters: (string | number | null)[]): readonly unknown[]
}

/**
 * What this store asks of a connection: `DatabaseSync` of `node:sqlite`, `Database` of `better-sqlite3`, of `libsql`
 * and of `bun:sqlite` have it.
 */
export interface SqliteDatabase {
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
}

type Parameter = string | number | null

/** A row, by the names of its columns. Some drivers add a property of their own. */
export type Row = Readonly<Record<string, string | number | bigint | null>>

/** How long to wait for what another process has locked, where the driver would not wait at all. */
const BUSY_TIMEOUT_MS = 5_000

/** How long nothing waits for it after something has, in vain. */
const RESPITE_MS = 25

/** Statements that are prepared once, and transactions. Each step is synchronous: nothing comes in between. */
export class Connection {
  readonly #database: SqliteDatabase
  readonly #statements = new Map<string, SqliteStatement>()
  /** What was just thrown because another process has the file locked. */
  #locked: Error | undefined

  /** @throws {TypeError} when it is no database, or one that answers with promises or callbacks. */
  constructor(database: SqliteDatabase) {
    requireDatabase(database)
    this.#database = database
    requireSynchronous(this.#statement('PRAGMA busy_timeout'))
    const [row] = this.rows('PRAGMA busy_timeout')
    if (Number(row?.['timeout']) === 0) database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
  }

  exec(sql: string): void {
    this.#database.exec(sql)
  }

  /** Always all rows: after `get`, a statement of libsql is not over, and what it has locked stays locked. */
  rows(sql: string, ...parameters: Parameter[]): readonly Row[] {
    // What the statement selects.
    return this.#statement(sql).all(...parameters) as readonly Row[]
  }

  /** How many rows it changed. */
  run(sql: string, ...parameters: Parameter[]): number {
    return Number(this.#statement(sql).run(...parameters).changes)
  }

  /**
   * All or nothing, and nobody else writes meanwhile. Of many that are asked for while the file is locked one waits,
   * which holds up the process, and the others fail with it.
   */
  write<T>(work: () => T): T {
    if (this.#locked !== undefined) throw this.#locked
    try {
      return this.#transaction('BEGIN IMMEDIATE', work)
    } catch (error) {
      if (isLocked(error)) {
        this.#locked = error
        void sleep(RESPITE_MS).then(() => (this.#locked = undefined))
      }
      throw error
    }
  }

  /** All that is read in it is of one moment. */
  read<T>(work: () => T): T {
    return this.#transaction('BEGIN', work)
  }

  #transaction<T>(begin: string, work: () => T): T {
    // Outside of what rolls back: where the caller's own transaction is open, it fails, and that one stays. Not as a
    // statement: where it fails, one of libsql is not over, and no transaction could be committed.
    this.exec(begin)
    try {
      const result = work()
      this.exec('COMMIT')
      return result
    } catch (error) {
      this.#rollback()
      throw error
    }
  }

  #rollback(): void {
    try {
      this.exec('ROLLBACK')
    } catch {
      // After some errors (a full disk) SQLite has rolled back by itself.
    }
  }

  #statement(sql: string): SqliteStatement {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.#database.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }
}

/** Whether another process has locked what was asked for, by the message, which is the same by every driver. */
export function isLocked(error: unknown): error is Error {
  return error instanceof Error && error.message.includes('locked')
}

const WANTED = '"database" must be an open database of node:sqlite, libsql or better-sqlite3'

/** What comes from JavaScript may be anything. */
function requireDatabase(database: unknown): void {
  if (hasMethods(database, 'exec', 'prepare')) return
  const isPromise = hasMethods(database, 'then')
  const got = isPromise ? 'a promise: await it' : database === null ? 'null' : typeof database
  throw new TypeError(`${WANTED}, or for openTasks() the path of a file; got ${got}`)
}

function requireSynchronous(statement: unknown): void {
  if (hasMethods(statement, 'all', 'run') && Array.isArray(statement.all())) return
  throw new TypeError(`${WANTED}, which answer at once: this one is asynchronous, as "libsql/promise" is`)
}

function hasMethods<M extends string>(
  value: unknown,
  ...names: readonly M[]
): value is Record<M, () => unknown> {
  if (typeof value !== 'object' || value === null) return false
  return names.every((name) => typeof Reflect.get(value, name) === 'function')
}
