/**
 * Options of a PostgreSQL store.
 *
 * @module
 */
import { requireBoolean, requireFunctions, requireKnown, requireWhole } from '../../runtime/options.js'
import type { PostgresClient } from './clients.js'

/** Options of `postgresStore`. */
export interface PostgresStoreOptions {
  /**
   * The schema of the tables: lower-case letters, digits and `_`, and no name that PostgreSQL reserves. Default is
   * `a2a_tasks`.
   */
  readonly schema?: string | undefined
  /** The clock by which leases expire, in ms since 1970. Default is the clock of the database. */
  readonly now?: (() => number) | undefined
  /**
   * Whether statements are prepared, which saves planning them on every call. Pass `false` behind a pooler that sends each
   * statement to another connection and does not track prepared statements. Default is `true`.
   */
  readonly prepare?: boolean | undefined
  /**
   * The client that listens for hints. While tasks are followed, LISTEN occupies one connection, which all stores of the process
   * over this client share. `false` disables hints, and managers only poll. Default is the client of the store, which then must
   * not be a `Pool` of one connection.
   */
  readonly listen?: PostgresClient | false | undefined
  /**
   * Number of latest entries, at least, from which `feed` continues. `migrate()` starts the feed for all processes of the
   * schema, and ends it with `0`. Default is to leave the feed as it is; then `feed` of this process is refused.
   */
  readonly feedSize?: number | undefined
  /**
   * Whether the store only reads, as over a read replica: what changes tasks, and `migrate()`, is refused with `STORE_FAILED` at
   * once. It has no hints, so managers poll; give them `sweepIntervalMs: false`. Default is `false`.
   */
  readonly readOnly?: boolean | undefined
}

/** Leaves room for suffixes: PostgreSQL truncates names to 63 bytes. */
const SCHEMA = /^(?!pg_|information_schema$)[a-z_][a-z0-9_]{0,49}$/

/** The largest integer of the database. */
const MAX_INTEGER = 2_147_483_647

/** @throws {TypeError | RangeError} naming the invalid option. */
export function validated(options: PostgresStoreOptions) {
  requireKnown(options, ['schema', 'now', 'prepare', 'listen', 'feedSize', 'readOnly'], 'postgresStore')
  const { schema = 'a2a_tasks', now, prepare = true, feedSize, readOnly = false } = options
  const { listen = readOnly ? false : undefined } = options
  if (typeof schema !== 'string' || !SCHEMA.test(schema)) {
    throw new RangeError(
      '"schema" must be 1 to 50 lower-case letters, digits and "_", ' +
        `and not a name that the database reserves, got ${JSON.stringify(schema)}`,
    )
  }
  requireFunctions(options, ['now'])
  if (typeof prepare !== 'boolean') throw new TypeError('"prepare" must be true or false')
  requireBoolean('readOnly', readOnly)
  if (readOnly && listen !== false)
    throw new TypeError(
      '"readOnly" and "listen" exclude each other: hints can come before a replica has the change',
    )
  if (feedSize !== undefined) requireWhole('feedSize', feedSize, 0, MAX_INTEGER)
  return { schema, now, prepare, listen, feedSize, readOnly }
}

/** @throws {RangeError} when listening would occupy the only connection of the pool. */
export function requireRoom(client: PostgresClient): void {
  if (!('totalCount' in client) || client.options?.max !== 1) return
  throw new RangeError(
    'Hints occupy one connection of the Pool, and this Pool has no other (max: 1): ' +
      'raise "max", or set "listen" to false, or to another Pool',
  )
}
