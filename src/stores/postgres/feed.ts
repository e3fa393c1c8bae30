/**
 * Feed of a PostgreSQL store.
 *
 * Triggers write it, so that every process does, also one of an earlier release or without the option. A number from a
 * sequence would leave gaps that are filled later, since transactions commit in another order than they take numbers. Entries
 * are therefore ordered by the id of their transaction, and shown once every transaction with a lower id has ended.
 *
 * @module
 */
import type { StoreFeed, StoreFeedEntry, StoreFeedPage } from '../../durable/feed/store-feed.js'
import type { StoredEvent } from '../../durable/stored-events.js'
import type { Parameter } from './clients.js'
import type { Row } from './statements.js'
import { fromColumn, fromJson } from './text.js'

/** Statements of `migrate` that start or end the feed; none for `undefined`. `s` is the quoted schema name. */
export function feedSetUp(s: string, feedSize: number | undefined): string {
  if (feedSize === undefined) return ''
  const isSetUp = `EXISTS (SELECT 1 FROM pg_trigger
    WHERE tgname = 'feed_event' AND tgrelid = to_regclass('${s}.events'))`
  // The first entry stands for the start. Its random number makes the cursors of an earlier feed unknown.
  const begin = `INSERT INTO ${s}.feed (xid, task, generation) VALUES (0, 0, floor(random() * 1000000000)::int);`
  if (feedSize === 0) {
    return `IF ${isSetUp} THEN
      DROP TRIGGER feed_event ON ${s}.events;
      DROP TRIGGER feed_removal ON ${s}.tasks;
      DELETE FROM ${s}.feed;
      ${begin}
    END IF;`
  }
  // In a database that was restored from a dump, the numbers of transactions begin again.
  return `IF NOT ${isSetUp} THEN
      CREATE TRIGGER feed_event AFTER INSERT ON ${s}.events FOR EACH ROW EXECUTE FUNCTION ${s}.feed_event();
      CREATE TRIGGER feed_removal AFTER DELETE ON ${s}.tasks FOR EACH ROW EXECUTE FUNCTION ${s}.feed_removal();
      DELETE FROM ${s}.feed;
    END IF;
    IF EXISTS (SELECT 1 FROM ${s}.feed WHERE xid >= txid_snapshot_xmax(txid_current_snapshot())) THEN
      DELETE FROM ${s}.feed;
    END IF;
    IF NOT EXISTS (SELECT 1 FROM ${s}.feed) THEN
      ${begin}
    END IF;`
}

/** The functions of the triggers. */
export function feedFunctions(s: string): string {
  return `
    CREATE FUNCTION ${s}.feed_event() RETURNS trigger LANGUAGE plpgsql AS $feed$
    BEGIN
      INSERT INTO ${s}.feed (task, generation) VALUES (NEW.task, NEW.generation);
      RETURN NULL;
    END $feed$;
    CREATE FUNCTION ${s}.feed_removal() RETURNS trigger LANGUAGE plpgsql AS $feed$
    BEGIN
      INSERT INTO ${s}.feed (task, generation, removed) VALUES (OLD.task, 0,
        json_build_array(OLD.id, OLD.created_at, OLD.skill, OLD.context_id, OLD.owner)::text);
      RETURN NULL;
    END $feed$;`
}

export class PostgresFeed implements StoreFeed {
  readonly #rows: (text: string, parameters: readonly Parameter[]) => Promise<readonly Row[]>
  readonly #size: number
  readonly #sql: ReturnType<typeof statements>

  /** @param schema - The quoted name. */
  constructor(
    schema: string,
    size: number,
    rows: (text: string, parameters: readonly Parameter[]) => Promise<readonly Row[]>,
  ) {
    this.#rows = rows
    this.#size = size
    this.#sql = statements(schema)
  }

  async read(after: string | undefined, limit: number): Promise<StoreFeedPage> {
    const position = /^(\d{1,18})-(\d{1,18})-(\d{1,9})$/.exec(after ?? '')?.slice(1)
    // The entry of the cursor itself shows that nothing after it was removed.
    const rows = position ? await this.#rows(this.#sql.page, [...position, limit + 1]) : []
    if (rows[0] === undefined || cursorOf(rows[0]) !== after) {
      const [last] = await this.#rows(this.#sql.last, [])
      if (last === undefined)
        throw new Error('The feed belongs to another database: call migrate() after you restore a dump')
      return { entries: [], cursor: cursorOf(last), isResync: true }
    }
    const last = rows.at(-1) ?? rows[0]
    const isBehind = rows.length <= limit && last[1] === 'true'
    return { entries: rows.slice(1).flatMap(toEntry), cursor: cursorOf(last), isBehind }
  }

  async trim(): Promise<void> {
    await this.#rows(this.#sql.trim, [this.#size - 1])
  }
}

function statements(s: string) {
  // As a subquery it is evaluated once, before the index is searched.
  const xmin = `(SELECT txid_snapshot_xmin(txid_current_snapshot()))`
  const cursor = `feed.xid || '-' || feed.task || '-' || feed.generation`
  const isBehind = `((SELECT max(xid) FROM ${s}.feed) >= ${xmin})::text`
  return {
    page: `SELECT ${cursor}, ${isBehind}, feed.removed, t.id, t.created_at, t.skill, t.context_id, t.owner, e.json
      FROM (
        SELECT * FROM ${s}.feed
        WHERE (xid, task, generation) >= ($1::bigint, $2::bigint, $3::int) AND xid < ${xmin}
        ORDER BY xid, task, generation LIMIT $4::int
      ) feed
      LEFT JOIN ${s}.tasks t ON t.task = feed.task
      LEFT JOIN ${s}.events e ON e.task = feed.task AND e.generation = feed.generation
      ORDER BY feed.xid, feed.task, feed.generation`,
    last: `SELECT ${cursor} FROM ${s}.feed WHERE xid < ${xmin}
      ORDER BY xid DESC, task DESC, generation DESC LIMIT 1`,
    // Counts only what readers see, so that there is always a last entry for them.
    trim: `DELETE FROM ${s}.feed WHERE (xid, task, generation) < (
        SELECT xid, task, generation FROM ${s}.feed WHERE xid < ${xmin}
        ORDER BY xid DESC, task DESC, generation DESC OFFSET $1::int LIMIT 1
      )`,
  }
}

function cursorOf([cursor]: Row): string {
  return cursor ?? ''
}

/** Nothing for the start of the feed, and for an event of a removed task. */
function toEntry(row: Row): StoreFeedEntry[] {
  const [cursor, , removed, ...task] = row
  const json = task[5]
  if (removed != null) {
    // The trigger wrote it.
    return [{ cursor: cursor ?? '', task: toTask(fromJson(removed) as unknown as Row) }]
  }
  if (json == null) return []
  // The store wrote it as an event.
  return [{ cursor: cursor ?? '', task: toTask(task), event: fromJson(json) as unknown as StoredEvent }]
}

function toTask([id, createdAt, skill, contextId, owner]: Row): StoreFeedEntry['task'] {
  return {
    id: fromColumn(id ?? ''),
    createdAt: createdAt ?? '',
    skill: fromColumn(skill ?? ''),
    contextId: fromColumn(contextId ?? ''),
    owner: owner == null || owner === '' ? null : fromColumn(owner),
  }
}
