/**
 * Tasks in PostgreSQL, by the client that the application has.
 *
 * @module
 */
export type {
  Parameter,
  PgClient,
  PgliteDatabase,
  PgNotification,
  PgPool,
  PgQuery,
  PostgresClient,
  PostgresJsSql,
} from './clients.js'
export type { PostgresStoreOptions } from './options.js'
export { postgresStore, type PostgresStore } from './postgres-store.js'
