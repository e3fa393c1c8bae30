/**
 * Tables and their migrations.
 *
 * @module
 */
import type { Connection } from './database.js'
import { failure } from './failures.js'

/**
 * Migration steps from each version of the tables to the next. The first creates version 1. Steps are only ever
 * appended, and must not break the statements of earlier releases, whose processes continue to use the migrated tables.
 */
export type Steps = readonly ((prefix: string) => string)[]

export const STEPS: Steps = [
  // SQLite rewrites a row as a whole, so columns that each change writes are small, and large ones are in other tables.
  // An index on a changing column is rewritten too. For this reason lists are ordered by the second of `updated_at`,
  // and only within a second by the time itself.
  (prefix) => `
    CREATE TABLE ${prefix}tasks (
      key INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      created_at TEXT NOT NULL,
      generation INTEGER NOT NULL,
      state TEXT NOT NULL,
      ended INTEGER NOT NULL,
      updated_at TEXT NOT NULL,
      updated_second TEXT NOT NULL,
      skill TEXT NOT NULL,
      context_id TEXT NOT NULL,
      owner TEXT,
      creation_id TEXT NOT NULL
    );
    CREATE INDEX ${prefix}tasks_by_time ON ${prefix}tasks (updated_second);
    CREATE INDEX ${prefix}tasks_by_state ON ${prefix}tasks (state, updated_second);
    CREATE INDEX ${prefix}tasks_by_skill ON ${prefix}tasks (skill, updated_second);
    CREATE INDEX ${prefix}tasks_by_context ON ${prefix}tasks (context_id, updated_second);
    CREATE INDEX ${prefix}tasks_by_owner ON ${prefix}tasks (owner, updated_second);
    CREATE INDEX ${prefix}tasks_unended ON ${prefix}tasks (created_at, id) WHERE ended = 0;
    CREATE INDEX ${prefix}tasks_ended ON ${prefix}tasks (state, updated_at, id, created_at) WHERE ended = 1;
    CREATE TABLE ${prefix}events (
      task INTEGER NOT NULL,
      generation INTEGER NOT NULL,
      json TEXT NOT NULL,
      commit_id TEXT,
      PRIMARY KEY (task, generation)
    ) WITHOUT ROWID;
    CREATE TABLE ${prefix}checkpoints (
      task INTEGER PRIMARY KEY,
      generation INTEGER NOT NULL,
      json TEXT NOT NULL
    );
    CREATE TABLE ${prefix}leases (
      task INTEGER PRIMARY KEY,
      id TEXT NOT NULL,
      ends_at INTEGER NOT NULL,
      note TEXT
    );
    CREATE INDEX ${prefix}leases_by_end ON ${prefix}leases (ends_at);
    CREATE TABLE ${prefix}documents (
      kind TEXT NOT NULL,
      task_id TEXT NOT NULL,
      created_at TEXT NOT NULL,
      id TEXT NOT NULL,
      version INTEGER NOT NULL,
      json TEXT NOT NULL,
      PRIMARY KEY (kind, task_id, created_at, id)
    ) WITHOUT ROWID;
    CREATE INDEX ${prefix}documents_by_task ON ${prefix}documents (task_id, created_at);`,
  // Empty until a feed is wanted.
  (prefix) => `
    CREATE TABLE ${prefix}feed (
      position INTEGER PRIMARY KEY,
      task INTEGER NOT NULL,
      generation INTEGER,
      removed TEXT
    );
    CREATE INDEX ${prefix}feed_removals ON ${prefix}feed (task, position) WHERE removed IS NOT NULL;`,
]

/** Applies the missing steps, all or none. Concurrent migrations wait, and then find the work done. */
export function migrate(connection: Connection, prefix: string, steps: Steps = STEPS): void {
  const versionNow = (): number => versionOf(connection, prefix, steps, 'migrate')
  if (versionNow() === steps.length) return
  connection.write(() => {
    const version = versionNow()
    if (version === 0) connection.exec(`CREATE TABLE ${prefix}schema (version INTEGER NOT NULL)`)
    for (const step of steps.slice(version)) connection.exec(step(prefix))
    connection.exec(
      `DELETE FROM ${prefix}schema; INSERT INTO ${prefix}schema (version) VALUES (${steps.length})`,
    )
  })
}

/** @throws {A2AError} `STORE_FAILED`, naming `operation`, when the tables do not have this version. */
export function requireMigrated(connection: Connection, prefix: string, operation: string): void {
  const version = versionOf(connection, prefix, STEPS, operation)
  if (version === STEPS.length) return
  const found = version === 0 ? 'there are none' : `they have version ${version} of ${STEPS.length}`
  throw failure(
    operation,
    `The tables of "a2a-tasks" (${prefix}…) are not set up: ${found}. Call migrate() first`,
  )
}

/** 0 when there are no tables. */
function versionOf(connection: Connection, prefix: string, steps: Steps, operation: string): number {
  // SQLite compares table names without regard to case.
  const tables = connection.rows(
    `SELECT name FROM sqlite_schema WHERE type = 'table' AND name = ? COLLATE NOCASE`,
    `${prefix}schema`,
  )
  if (tables.length === 0) return 0
  const version = Number(connection.rows(`SELECT version FROM ${prefix}schema`)[0]?.['version'])
  if (version <= steps.length) return version
  throw failure(
    operation,
    `The tables of "a2a-tasks" (${prefix}…) have version ${version}, ` +
      `and this release knows them up to ${steps.length}: they were migrated by a later one`,
  )
}
