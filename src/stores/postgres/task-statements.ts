/**
 * SQL statements that write and read tasks, one round trip each.
 *
 * Where a change was not made, another statement asks why not: the one that tried it saw all but the row that it waited
 * for as it was when it began. Where it answers null there is no reason any more, and the change is to be tried again.
 *
 * @module
 */

export type TaskStatements = ReturnType<typeof taskStatements>

/** `s` is the schema, quoted. */
export function taskStatements(s: string) {
  const key = 'id = $1 AND created_at = $2'
  return {
    create: create(s),
    whyNotCreated: `SELECT (
        SELECT CASE WHEN c.creation_id = $2 THEN 'true' ELSE 'false' END
        FROM ${s}.tasks t LEFT JOIN ${s}.contents c ON c.task = t.task WHERE t.id = $1
      )`,
    commit: { one: commit(s, ONE, false), many: commit(s, MANY, false) },
    commitWhole: { one: commit(s, ONE, true), many: commit(s, MANY, true) },
    whyNotCommitted: `SELECT CASE
        WHEN e.commit_id = $4 THEN 'committed'
        WHEN t.generation <> $3 THEN 'conflict'
        WHEN $5::text IS NOT NULL AND t.lease_id IS DISTINCT FROM $5 THEN 'lease-lost'
      END
      FROM ${s}.tasks t LEFT JOIN ${s}.events e ON e.task = t.task AND e.generation = $3::int + 1
      WHERE t.id = $1 AND t.created_at = $2`,
    get: `SELECT c.checkpoint, ${tail(s)}
      FROM ${s}.tasks t JOIN ${s}.contents c ON c.task = t.task WHERE t.id = $1`,
    heads: `SELECT id, created_at, generation::text FROM ${s}.tasks WHERE id = ANY($1::text::text[])`,
    events: `SELECT ${joined(
      `SELECT json FROM ${s}.events WHERE task = (SELECT task FROM ${s}.tasks WHERE ${key})
        AND generation > $3::int ORDER BY generation LIMIT $4::int`,
    )}`,
    unended: `SELECT id, created_at FROM ${s}.tasks WHERE NOT ended AND created_at < $1
      ORDER BY created_at LIMIT $2::int`,
    endedBefore: `SELECT id, created_at FROM ${s}.tasks
      WHERE state = $1 AND ended AND updated_second <= left($2, 19) AND updated_at < $2
      ORDER BY updated_second, updated_at LIMIT $3::int`,
    endedBeyond: `SELECT id, created_at FROM ${s}.tasks WHERE state = $1 AND ended
      ORDER BY updated_second DESC, updated_at DESC, id LIMIT $3::int OFFSET $2::int`,
    // Who deletes or renews many at once locks them in one order, so that no two wait for each other.
    delete: `WITH locked AS (
        SELECT t.task FROM ${s}.tasks t
        JOIN unnest($1::text::text[], $2::text::text[]) AS w (id, created_at)
          ON t.id = w.id AND t.created_at = w.created_at
        ORDER BY t.task FOR UPDATE OF t
      )
      DELETE FROM ${s}.tasks t USING locked WHERE t.task = locked.task RETURNING t.id, t.created_at`,
  }
}

/** $1 id, $2 created at, $3 generation, $4 state, $5 ended, $6 updated at, $7 skill, $8 context, $9 owner, … */
function create(s: string): string {
  return `WITH made AS (
      INSERT INTO ${s}.tasks (id, created_at, generation, state, ended, updated_at, updated_second,
        skill, context_id, owner, lease_id, lease_until)
      VALUES ($1, $2, $3, $4, $5, $6, left($6, 19), $7, $8, $9, $10, ${NOW('$12')} + $11::bigint)
      ON CONFLICT (id) DO NOTHING RETURNING task
    ), kept AS (
      INSERT INTO ${s}.contents (task, generation, checkpoint, lease_note, creation_id)
      SELECT task, $3, $13, $14, $15 FROM made
    ), logged AS (
      INSERT INTO ${s}.events (task, generation, json)
      SELECT made.task, e.n, e.json FROM made, unnest($16::text::text[]) WITH ORDINALITY AS e (json, n)
    )
    SELECT 'true' FROM made`
}

/** What the events of a commit are: their generations, the id of the commit beside the first, and their JSON. */
const ONE = 'SELECT task, $4::int, $9, $10::text FROM moved'
const MANY = `SELECT moved.task, $3 + e.n, CASE e.n WHEN 1 THEN $9 END, e.json
      FROM moved, unnest($10::text::text[]) WITH ORDINALITY AS e (json, n)`

/** Gives no rows, which takes much of what a commit takes. $1 id, $2 created at, $3 expected generation, $4 generation, $5 state, $6 ended, $7 updated at, $8 lease, … */
function commit(s: string, events: string, isWhole: boolean): string {
  const kept = `, kept AS (
      UPDATE ${s}.contents SET generation = $4, checkpoint = $11 FROM moved WHERE contents.task = moved.task
    )`
  return `WITH moved AS (
      UPDATE ${s}.tasks SET generation = $4, state = $5, ended = $6, updated_at = $7, updated_second = left($7, 19),
        lease_id = CASE WHEN $6 THEN NULL ELSE lease_id END,
        lease_until = CASE WHEN $6 THEN NULL ELSE lease_until END
      WHERE id = $1 AND created_at = $2 AND generation = $3 AND ($8::text IS NULL OR lease_id = $8)
      RETURNING task
    )${isWhole ? kept : ''}
    INSERT INTO ${s}.events (task, generation, commit_id, json) ${events}`
}

/** The time in ms: what a parameter gives, or, where it is null, the database's. */
export function NOW(parameter: string): string {
  return `coalesce(${parameter}::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)`
}

/** The events after the checkpoint `c`. */
export function tail(s: string): string {
  return joined(
    `SELECT json FROM ${s}.events WHERE task = c.task AND generation > c.generation ORDER BY generation`,
  )
}

/** As one list of JSON: null where there are none. */
function joined(events: string): string {
  return `(SELECT '[' || string_agg(json, ',') || ']' FROM (${events}) e)`
}
