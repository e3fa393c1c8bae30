/**
 * Feed of a SQLite store.
 *
 * Triggers write it, so that every process does, also one of an earlier release or without the option. SQLite commits one
 * transaction at a time: the order of the rows is that of the commits.
 *
 * @module
 */
import type { StoredEvent } from '../../durable/stored-events.js'
import type { StoreFeed, StoreFeedEntry, StoreFeedPage } from '../../durable/feed/store-feed.js'
import { systemClock } from '../../runtime/clock.js'
import { yieldToEventLoop } from '../../runtime/timers.js'
import type { Connection, Row } from './database.js'
import { keyOf, numberOf } from './rows.js'
import { fromColumn, fromJson } from './text.js'

/** The most rows that one transaction removes. */
const BATCH = 5_000

/** Starts or ends the feed. `undefined` leaves it as it is. */
export function setUpFeed(connection: Connection, prefix: string, feedSize: number | undefined): void {
  const isSetUp = (): boolean =>
    connection.rows(
      `SELECT 1 FROM sqlite_schema WHERE type = 'trigger' AND name = ? COLLATE NOCASE`,
      `${prefix}feed_event`,
    ).length > 0
  if (feedSize === undefined || isSetUp() === feedSize > 0) return
  const isWanted = feedSize > 0
  connection.write(() => {
    // Another process may have been faster.
    if (isSetUp() !== isWanted) connection.exec(isWanted ? start(prefix) : end(prefix))
  })
}

/**
 * A first row stands for the start. Its position is later than that of an earlier feed, also of one in another file, whose
 * cursors are thereby not known.
 */
function start(prefix: string): string {
  const feed = `${prefix}feed`
  return `
    CREATE TRIGGER ${feed}_event AFTER INSERT ON ${prefix}events BEGIN
      INSERT INTO ${feed} (task, generation) VALUES (NEW.task, NEW.generation);
    END;
    CREATE TRIGGER ${feed}_removal AFTER DELETE ON ${prefix}tasks BEGIN
      INSERT INTO ${feed} (task, removed)
      VALUES (OLD.key, json_array(OLD.id, OLD.created_at, OLD.skill, OLD.context_id, OLD.owner));
    END;
    INSERT INTO ${feed} (position, task)
      VALUES (max(${systemClock.now() * 1_000}, 1 + coalesce((SELECT max(position) FROM ${feed}), 0)), 0);
    DELETE FROM ${feed} WHERE position < (SELECT max(position) FROM ${feed});`
}

/** Keeps the last row, so that positions are not used again. */
function end(prefix: string): string {
  const feed = `${prefix}feed`
  return `
    DROP TRIGGER ${feed}_event;
    DROP TRIGGER ${feed}_removal;
    DELETE FROM ${feed} WHERE position < (SELECT max(position) FROM ${feed});`
}

/** Runs steps of the store, which checks that the tables are there. */
interface Access {
  readonly read: <T>(work: (connection: Connection) => T) => Promise<T>
  readonly write: <T>(work: (connection: Connection) => T) => Promise<T>
}

export class SqliteFeed implements StoreFeed {
  readonly #access: Access
  readonly #size: number
  readonly #queries: ReturnType<typeof queriesFor>

  constructor(prefix: string, size: number, access: Access) {
    this.#access = access
    this.#size = size
    this.#queries = queriesFor(prefix)
  }

  read(after: string | undefined, limit: number): Promise<StoreFeedPage> {
    return this.#access.read((connection) => {
      const isPosition = after !== undefined && /^\d{1,16}$/.test(after)
      // The row of the cursor itself shows that nothing after it was removed.
      const rows = isPosition ? connection.rows(this.#queries.page, Number(after), limit + 1) : []
      if (rows[0] === undefined || positionOf(rows[0]) !== after) {
        return { entries: [], cursor: positionOf(connection.rows(this.#queries.last)[0]), isResync: true }
      }
      return { entries: rows.slice(1).flatMap(toEntry), cursor: positionOf(rows.at(-1)) }
    })
  }

  async trim(): Promise<void> {
    const trimOnce = (): Promise<number> =>
      this.#access.write((connection) => connection.run(this.#queries.trim, this.#size, BATCH - 1))
    while ((await trimOnce()) > 0) await yieldToEventLoop()
  }
}

function queriesFor(prefix: string) {
  const [feed, tasks, events] = [`${prefix}feed`, `${prefix}tasks`, `${prefix}events`]
  return {
    // Keys of removed tasks are used again: an entry before the removal of a task belongs to no later task.
    page: `SELECT feed.position, feed.removed, task.id, task.created_at, task.skill, task.context_id, task.owner, event.json
      FROM ${feed} AS feed
      LEFT JOIN ${tasks} AS task ON task.key = feed.task AND feed.removed IS NULL AND NOT EXISTS (
        SELECT 1 FROM ${feed} AS later
        WHERE later.task = feed.task AND later.removed IS NOT NULL AND later.position > feed.position
      )
      LEFT JOIN ${events} AS event ON event.task = task.key AND event.generation = feed.generation
      WHERE feed.position >= ? ORDER BY feed.position LIMIT ?`,
    last: `SELECT max(position) AS position FROM ${feed}`,
    trim: `DELETE FROM ${feed} WHERE position <=
      min((SELECT max(position) FROM ${feed}) - ?, (SELECT min(position) FROM ${feed}) + ?)`,
  }
}

function positionOf(row: Row | undefined): string {
  return String(numberOf(row, 'position'))
}

/** Nothing for the start of the feed, and for an event of a removed task. */
function toEntry(row: Row): StoreFeedEntry[] {
  const cursor = positionOf(row)
  if (row['removed'] != null) {
    // The trigger wrote it.
    const [id, createdAt, skill, contextId, owner] = fromJson(row['removed']) as unknown as Removed
    return [{ cursor, task: toTask({ id, created_at: createdAt, skill, context_id: contextId, owner }) }]
  }
  if (row['json'] == null) return []
  // The store wrote it as an event.
  return [{ cursor, task: toTask(row), event: fromJson(row['json']) as unknown as StoredEvent }]
}

type Removed = readonly [
  id: string,
  createdAt: string,
  skill: string,
  contextId: string,
  owner: string | null,
]

function toTask(row: Row): StoreFeedEntry['task'] {
  return {
    ...keyOf(row),
    skill: fromColumn(row['skill']),
    contextId: fromColumn(row['context_id']),
    owner: row['owner'] == null ? null : fromColumn(row['owner']),
  }
}
