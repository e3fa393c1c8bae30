/**
 * One interface to SQLite over all supported drivers.
 *
 * @module
 */
import { describe } from '../../runtime/describe.js'
import { hasMethods } from '../../runtime/options.js'
import { sleep } from '../../runtime/timers.js'

/**
 * The used part of a prepared statement. Its methods are called with texts, numbers and `null`, which every driver binds.
 * The drivers' own types of the parameters differ, so any are accepted.
 */
export interface SqliteStatement {
  run(...parameters: never[]): { readonly changes: number | bigint }
  all(...parameters: never[]): readonly unknown[]
}

/**
 * The used part of a connection: a `DatabaseSync` of `node:sqlite`, or a `Database` of `better-sqlite3`, `libsql` or
 * `bun:sqlite`.
 */
export interface SqliteDatabase {
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
}

type Parameter = string | number | null

/** A row by column name. Some drivers add their own property. */
export type Row = Readonly<Record<string, string | number | bigint | null>>

/** How long a statement waits for another process's lock when the driver would not wait at all. */
const BUSY_TIMEOUT_MS = 5_000

/** How long writes fail at once after one has waited for the lock in vain. */
const LOCK_COOLDOWN_MS = 25

/** Prepared statements and transactions. Each step is synchronous, so nothing else in this process runs in between. */
export class Connection {
  /** As the application opened it. */
  readonly database: SqliteDatabase
  readonly #statements = new Map<string, SqliteStatement>()
  /** The error of a write that has just found the file locked by another process. */
  #locked: Error | undefined

  /** @throws {TypeError} when it is no database, or a driver whose methods return promises or take callbacks. */
  constructor(database: SqliteDatabase) {
    requireDatabase(database)
    this.database = database
    requireSynchronous(this.#statement('PRAGMA busy_timeout'))
    const [row] = this.rows('PRAGMA busy_timeout')
    requireObjects(row)
    if (Number(row?.['timeout']) === 0) database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
  }

  exec(sql: string): void {
    this.database.exec(sql)
  }

  /** Always reads all rows: after `get`, a statement of libsql stays open and keeps its lock. */
  rows(sql: string, ...parameters: Parameter[]): readonly Row[] {
    // The statement selects only these types, and every driver binds these parameters.
    return this.#statement(sql).all(...(parameters as never[])) as readonly Row[]
  }

  /** Returns the number of rows changed. */
  run(sql: string, ...parameters: Parameter[]): number {
    // Every driver binds these parameters.
    return Number(this.#statement(sql).run(...(parameters as never[])).changes)
  }

  /**
   * Runs `work` in an exclusive write transaction, all or nothing. While another process has the file locked, one write
   * waits for the lock, which blocks this process, and writes that follow within 25 ms fail with the same error.
   */
  write<T>(work: () => T): T {
    if (this.#locked !== undefined) throw this.#locked
    try {
      return this.#transaction('BEGIN IMMEDIATE', work)
    } catch (error) {
      if (isLocked(error)) {
        this.#locked = error
        void sleep(LOCK_COOLDOWN_MS).then(() => (this.#locked = undefined))
      }
      throw error
    }
  }

  /** Runs `work` on one consistent snapshot. */
  read<T>(work: () => T): T {
    return this.#transaction('BEGIN', work)
  }

  #transaction<T>(begin: string, work: () => T): T {
    // BEGIN stays outside the `try`: inside the caller's own transaction it fails, and that transaction must not be
    // rolled back. It is not prepared either, because a prepared statement of libsql that fails stays open and prevents
    // every later commit.
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
      statement = this.database.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }
}

/** Returns whether another process has the file locked. All drivers have the same message. */
export function isLocked(error: unknown): error is Error {
  return error instanceof Error && error.message.includes('locked')
}

const WANTED = '"database" must be an open database of node:sqlite, libsql or better-sqlite3'

/** Callers without types may pass any value. */
function requireDatabase(database: unknown): void {
  if (hasMethods(database, 'exec', 'prepare')) return
  const isPromise = hasMethods(database, 'then')
  const got = isPromise ? 'a promise: await it' : describe(database)
  throw new TypeError(`${WANTED}, or for openTasks() the path of a file; got ${got}`)
}

/** Applications may set how all statements of a database give rows. */
function requireObjects(row: unknown): void {
  if (typeof row === 'object' && row !== null && 'timeout' in row) return
  throw new TypeError(
    '"database" must give rows as objects: leave out "returnArrays", raw(), pluck() and expand()',
  )
}

function requireSynchronous(statement: unknown): void {
  if (hasMethods(statement, 'all', 'run') && Array.isArray(statement.all())) return
  throw new TypeError(`${WANTED}, which are synchronous: this one is asynchronous, as "libsql/promise" is`)
}
