/**
 * SQL statements that write and read tasks, one round trip each.
 *
 * When a change was not made, a second statement finds the reason. The first one cannot: its snapshot predates its wait
 * for a row lock. When the second statement returns null, the reason is gone and the change is to be retried.
 *
 * @module
 */
import { UNHELD } from '../../durable/leases/lease-note.js'

/** Stands for every generation of a task that is to be deleted. */
export const ANY_GENERATION = 0
/** The first row of `whyNotTransacted` where the server takes no changes. */
export const READS_ONLY = 'reads-only'

export type TaskStatements = ReturnType<typeof taskStatements>

/** `s` is the quoted schema name. */
export function taskStatements(s: string) {
  const key = 'id = $1 AND created_at = $2'
  const whyNotCommitted = `SELECT CASE
        WHEN e.commit_id = $4 THEN 'committed'
        WHEN t.generation <> $3 THEN 'conflict'
        WHEN $5::text IS NOT NULL AND t.lease_id IS DISTINCT FROM $5 THEN 'lease-lost'
      END
      FROM ${s}.tasks t LEFT JOIN ${s}.events e ON e.task = t.task AND e.generation = $3::int + 1
      WHERE t.id = $1 AND t.created_at = $2`
  return {
    create: create(s),
    whyNotCreated: `SELECT (
        SELECT CASE WHEN c.creation_id = $2 THEN 'true' ELSE 'false' END
        FROM ${s}.tasks t LEFT JOIN ${s}.contents c ON c.task = t.task WHERE t.id = $1
      )`,
    commit: { one: commit(s, ONE, false), many: commit(s, MANY, false) },
    commitWhole: { one: commit(s, ONE, true), many: commit(s, MANY, true) },
    commitGroup: commitGroup(s, false),
    commitGroupWhole: commitGroup(s, true),
    whyNotCommitted,
    // The other rows are those of a standby, which may be behind.
    whyNotTransacted: `SELECT '${READS_ONLY}' WHERE current_setting('transaction_read_only')::boolean
      UNION ALL ${whyNotCommitted}`,
    get: `SELECT c.checkpoint, ${tail(s)}
      FROM ${s}.tasks t JOIN ${s}.contents c ON c.task = t.task WHERE t.id = $1`,
    heads: `SELECT id, created_at, generation::text FROM ${s}.tasks WHERE id = ANY($1::text::text[])`,
    events: `SELECT ${jsonArray(
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
    // Statements that delete or renew many tasks lock their rows in one order, which avoids deadlocks.
    delete: `WITH locked AS (
        SELECT t.task FROM ${s}.tasks t
        JOIN unnest($1::text::text[], $2::text::text[], $3::text::int[]) AS w (id, created_at, generation)
          ON t.id = w.id AND t.created_at = w.created_at
            AND (w.generation = ${ANY_GENERATION} OR w.generation = t.generation)
        ORDER BY t.task FOR UPDATE OF t
      )
      DELETE FROM ${s}.tasks t USING locked WHERE t.task = locked.task RETURNING t.id, t.created_at`,
  }
}

/** $1 id, $2 created at, $3 generation, $4 state, $5 ended, $6 updated at, $7 skill, $8 context, $9 owner, … */
function create(s: string): string {
  return `WITH made AS (
      INSERT INTO ${s}.tasks (id, created_at, generation, state, ended, updated_at, updated_second,
        skill, context_id, owner, lease_id, lease_until, parked_until)
      VALUES ($1, $2, $3, $4, $5, $6, left($6, 19), $7, $8, $9, $10, ${NOW('$12')} + $11::bigint,
        CASE WHEN ${isUnheld('$10::text')} THEN ${NOW('$12')} + $11::bigint END)
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

/** The events of a commit: their generations, the id of the commit (on the first event only), and their JSON. */
const ONE = 'SELECT task, $4::int, $9, $10::text FROM moved'
const MANY = `SELECT moved.task, $3 + e.n, CASE e.n WHEN 1 THEN $9 END, e.json
      FROM moved, unnest($10::text::text[]) WITH ORDINALITY AS e (json, n)`

/**
 * Returns no rows, because returning some takes much of the time of a commit. $1 id, $2 created at, $3 expected
 * generation, $4 generation, $5 state, $6 ended, $7 updated at, $8 lease, … $11 the lease that expires, …
 */
function commit(s: string, events: string, isWhole: boolean): string {
  const kept = `, kept AS (
      UPDATE ${s}.contents SET generation = $4, checkpoint = $12 FROM moved WHERE contents.task = moved.task
    )`
  return `WITH moved AS (
      UPDATE ${s}.tasks t SET generation = $4, state = $5, ended = $6, updated_at = $7, updated_second = left($7, 19),
        ${leaseAfter('$6', '$11::text')}
      WHERE id = $1 AND created_at = $2 AND generation = $3 AND ($8::text IS NULL OR lease_id = $8)
      RETURNING task
    )${isWhole ? kept : ''}
    INSERT INTO ${s}.events (task, generation, commit_id, json) ${events}`
}

/**
 * Carries out commits of different tasks, and returns the numbers of those that it has carried out. It leaves out a task whose row
 * another transaction has locked: a group waits for nobody, and so takes part in no deadlock.
 *
 * $1 the number of commits; by number: $2 id, … $11 the lease that expires, as above, and $12 the first event. Of all commits: $13
 * to $15 number, generation and JSON of each further event, $16 and $17 number and JSON of each checkpoint.
 */
function commitGroup(s: string, isWhole: boolean): string {
  const kept = `, kept AS (
      UPDATE ${s}.contents c SET generation = m.generation, checkpoint = w.json
      FROM moved m JOIN unnest($16::text::int[], $17::text::text[]) AS w (n, json) ON w.n = m.n WHERE c.task = m.task
    )`
  // With the limit, PostgreSQL expects few rows and finds each task by its index, also where the table was empty when it made the
  // plan.
  return `WITH given AS (
      SELECT * FROM unnest($2::text::text[], $3::text::text[], $4::text::int[], $5::text::int[], $6::text::text[],
        $7::text::boolean[], $8::text::text[], $9::text::text[], $10::text::text[], $11::text::text[], $12::text::text[])
        WITH ORDINALITY AS g (id, created_at, expected, generation, state, ended, updated_at, lease, commit_id, expires, json, n)
      LIMIT $1::int
    ), free AS (
      SELECT t.task, g.* FROM given g JOIN ${s}.tasks t ON t.id = g.id AND t.created_at = g.created_at
        AND t.generation = g.expected AND (g.lease IS NULL OR t.lease_id = g.lease)
      FOR NO KEY UPDATE OF t SKIP LOCKED
    ), moved AS (
      UPDATE ${s}.tasks t SET generation = f.generation, state = f.state, ended = f.ended, updated_at = f.updated_at,
        updated_second = left(f.updated_at, 19), ${leaseAfter('f.ended', 'f.expires')}
      FROM free f WHERE t.task = f.task
      RETURNING f.n, t.task, f.expected, f.generation, f.commit_id, f.json
    )${isWhole ? kept : ''}, logged AS (
      INSERT INTO ${s}.events (task, generation, commit_id, json)
      SELECT task, expected + 1, commit_id, json FROM moved
      UNION ALL SELECT m.task, e.generation, NULL, e.json
      FROM moved m JOIN unnest($13::text::int[], $14::text::int[], $15::text::text[]) AS e (n, generation, json) ON e.n = m.n
    )
    SELECT n::text FROM moved`
}

/** What a commit changes of the lease of a task. */
function leaseAfter(ended: string, expires: string): string {
  return `lease_id = CASE WHEN ${ended} THEN NULL ELSE t.lease_id END,
        lease_until = CASE WHEN ${ended} THEN NULL WHEN t.lease_id = ${expires} THEN 0 ELSE t.lease_until END,
        parked_until = CASE WHEN ${ended} THEN NULL
          WHEN t.lease_id = ${expires} AND t.parked_until IS NOT NULL THEN 0 ELSE t.parked_until END`
}

/** Whether no process holds the lease with this id. */
export function isUnheld(leaseId: string): string {
  return `${leaseId} IN (${UNHELD.map((id) => `'${id}'`).join(', ')})`
}

/** The time in ms: the parameter, or the time of the database where the parameter is null. */
export function NOW(parameter: string): string {
  return `coalesce(${parameter}::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)`
}

/** The events after the checkpoint `c`. */
export function tail(s: string): string {
  return jsonArray(
    `SELECT json FROM ${s}.events WHERE task = c.task AND generation > c.generation ORDER BY generation`,
  )
}

/** Aggregates the events into one JSON array, or null when there are none. */
function jsonArray(events: string): string {
  return `(SELECT '[' || string_agg(json, ',') || ']' FROM (${events}) e)`
}
