/**
 * Task store in PostgreSQL, over the application's own client.
 *
 * @module
 */
export type {
  Parameter,
  PgClient,
  PgliteDatabase,
  PgliteTransaction,
  PgNotification,
  PgPool,
  PgQuery,
  PostgresClient,
  PostgresJsSql,
  PostgresJsReserved,
  PostgresJsStatements,
} from './clients.js'
export type { PostgresStoreOptions } from './options.js'
export { postgresStore, type PostgresStore } from './postgres-store.js'
