/**
 * Task store in SQLite, over `node:sqlite`, `better-sqlite3` or `libsql`.
 *
 * @module
 */
export type { SqliteDatabase, SqliteStatement } from './database.js'
export { openTasks, type OpenTasksOptions } from './open-tasks.js'
export type { SqliteStoreOptions } from './options.js'
export { sqliteStore, type SqliteStore } from './sqlite-store.js'
