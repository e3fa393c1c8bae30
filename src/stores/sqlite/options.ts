/**
 * Options of a SQLite store.
 *
 * @module
 */
import { systemClock } from '../../runtime/clock.js'
import { requireFunctions, requireKnown, requireWhole } from '../../runtime/options.js'

/** Options of `sqliteStore`. */
export interface SqliteStoreOptions {
  /** The clock by which leases expire, in ms since 1970. Default is the system clock, which all processes of a file share. */
  readonly now?: (() => number) | undefined
  /** Prefix of the table names: a letter or `_`, then letters, digits and `_`. Default is `'a2a_'`. */
  readonly prefix?: string | undefined
  /**
   * Number of latest entries, at least, from which `feed` continues. `migrate()` starts the feed for all processes of the
   * database, and ends it with `0`. Default is to leave the feed as it is; then `feed` of this process is refused.
   */
  readonly feedSize?: number | undefined
}

/** @throws {TypeError | RangeError} naming the invalid option. */
export function validated(options: SqliteStoreOptions) {
  requireKnown(options, ['now', 'prefix', 'feedSize'], 'sqliteStore')
  const { now = () => systemClock.now(), prefix = 'a2a_', feedSize } = options
  requireFunctions(options, ['now'])
  if (typeof prefix !== 'string' || !/^[a-z_][a-z0-9_]{0,50}$/i.test(prefix) || /^sqlite_/i.test(prefix)) {
    throw new TypeError(
      '"prefix" must begin with a letter or _, contain only letters, digits and _, and not begin with sqlite_',
    )
  }
  if (feedSize !== undefined) requireWhole('feedSize', feedSize, 0)
  return { now, prefix, feedSize }
}
