/**
 * A connection to SQLite, whichever driver made it.
 *
 * @module
 */

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

/** Statements that are prepared once, and transactions. Each step is synchronous: nothing comes in between. */
export class Connection {
  readonly #database: SqliteDatabase
  readonly #statements = new Map<string, SqliteStatement>()

  constructor(database: SqliteDatabase) {
    this.#database = database
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

  /** All or nothing, and nobody else writes meanwhile. */
  write<T>(work: () => T): T {
    return this.#transaction('BEGIN IMMEDIATE', work)
  }

  /** All that is read in it is of one moment. */
  read<T>(work: () => T): T {
    return this.#transaction('BEGIN', work)
  }

  #transaction<T>(begin: string, work: () => T): T {
    // Outside of what rolls back: where the caller's own transaction is open, it fails, and that one stays.
    this.run(begin)
    try {
      const result = work()
      this.run('COMMIT')
      return result
    } catch (error) {
      this.#rollback()
      throw error
    }
  }

  #rollback(): void {
    try {
      this.run('ROLLBACK')
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
