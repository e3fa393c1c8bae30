/**
 * Databases for the tests of the SQLite store, by the driver that all of our Nodes can load.
 *
 * @module
 */
import { sqliteStore, type SqliteStore, type SqliteStoreOptions } from 'a2a-tasks/stores/sqlite'
import type { StoreCounter } from 'a2a-tasks/testing'
import Database from 'libsql'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

export interface DatabaseFile {
  readonly path: string
  /** Another connection. */
  connect(): Database.Database
  /** A store over its own connection, with its tables. */
  open(options?: SqliteStoreOptions): Promise<SqliteStore>
  /** Closes all connections, and removes the file. */
  remove(): void
}

/** A counter in its own table. */
export function counterIn(database: Database.Database): StoreCounter {
  database.exec('CREATE TABLE counter (n INTEGER NOT NULL); INSERT INTO counter VALUES (0)')
  return {
    add: (client) => {
      // The store passes on the database that it was opened with.
      ;(client as Database.Database).exec('UPDATE counter SET n = n + 1')
    },
    read: () => {
      const [row] = database.prepare('SELECT n FROM counter').all() as { readonly n: number }[]
      return Promise.resolve(row?.n ?? NaN)
    },
  }
}

/** Its own file, in WAL mode. */
export function databaseFile(): DatabaseFile {
  const folder = mkdtempSync(join(tmpdir(), 'a2a-tasks-sqlite-'))
  const path = join(folder, 'tasks.db')
  const opened: Database.Database[] = []
  const connect = (): Database.Database => {
    const database = new Database(path)
    // No test pulls the plug.
    database.exec('PRAGMA synchronous = OFF')
    opened.push(database)
    return database
  }
  connect().pragma('journal_mode = WAL')
  return {
    path,
    connect,
    async open(options) {
      const store = sqliteStore(connect(), options)
      await store.migrate()
      return store
    },
    remove() {
      for (const database of opened) database.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A store over its own file, which the test removes. */
export async function openForTest(options?: SqliteStoreOptions): Promise<SqliteStore> {
  const file = databaseFile()
  onTestFinished(() => file.remove())
  return await file.open(options)
}
