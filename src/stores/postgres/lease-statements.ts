/**
 * SQL statements for leases.
 *
 * @module
 */
import { isUnheld, NOW } from './task-statements.js'

export type LeaseStatements = ReturnType<typeof leaseStatements>

/** `s` is the quoted schema name. */
export function leaseStatements(s: string) {
  const key = 'id = $1 AND created_at = $2'
  const isFree = (now: string): string => `(lease_id IS NULL OR lease_id = $3 OR lease_until <= ${NOW(now)})`
  return {
    // After waiting for a row lock, a statement sees the present version of only the rows that it locks. It therefore
    // locks the row of the note too, in the same order as all other statements. A released lease may leave its note
    // behind. The last column is null unless the lease replaces an expired one.
    acquire: `WITH held AS (
        SELECT task, lease_id FROM ${s}.tasks
        WHERE ${key} AND NOT ended AND ${isFree('$5')} FOR NO KEY UPDATE
      ), present AS (
        SELECT c.task, c.lease_note FROM ${s}.contents c JOIN held ON c.task = held.task FOR NO KEY UPDATE OF c
      ), granted AS (
        UPDATE ${s}.tasks t SET lease_id = $3, lease_until = ${NOW('$5')} + $4::bigint, parked_until = NULL
        FROM held WHERE t.task = held.task RETURNING t.task, t.generation, held.lease_id AS replaced
      ), noted AS (
        UPDATE ${s}.contents c SET lease_note = $6 FROM present WHERE c.task = present.task
      )
      SELECT $3::text, generation::text, CASE WHEN replaced <> $3 THEN coalesce(lease_note, '') END
      FROM granted LEFT JOIN present ON present.task = granted.task`,
    whyNotAcquired: `SELECT CASE WHEN NOT ${isFree('$4')} THEN lease_id END, generation::text
      FROM ${s}.tasks WHERE ${key} AND NOT ended`,
    renew: `WITH locked AS (
        SELECT t.task FROM ${s}.tasks t
        JOIN unnest($1::text::text[], $2::text::text[], $3::text::text[]) AS w (id, created_at, lease_id)
          ON t.id = w.id AND t.created_at = w.created_at AND t.lease_id = w.lease_id
        ORDER BY t.task FOR NO KEY UPDATE OF t
      )
      UPDATE ${s}.tasks t SET lease_until = ${NOW('$5')} + $4::bigint,
        parked_until = CASE WHEN ${isUnheld('t.lease_id')} THEN ${NOW('$5')} + $4::bigint END
      FROM locked WHERE t.task = locked.task RETURNING t.lease_id`,
    release: `UPDATE ${s}.tasks SET lease_id = NULL, lease_until = NULL, parked_until = NULL
      WHERE ${key} AND lease_id = $3 AND ($4::int IS NULL OR generation = $4::int) RETURNING 'true'`,
    replace: `WITH replaced AS (
        UPDATE ${s}.tasks SET lease_id = $5, lease_until = ${NOW('$8')} + $6::bigint,
          parked_until = CASE WHEN ${isUnheld('$5')} THEN ${NOW('$8')} + $6::bigint END
        WHERE ${key} AND lease_id = $3 AND ($4::int IS NULL OR generation = $4::int) RETURNING task
      ), noted AS (
        UPDATE ${s}.contents c SET lease_note = $7 FROM replaced WHERE c.task = replaced.task
      )
      SELECT 'true' FROM replaced`,
    whyNotReleased: `SELECT CASE WHEN generation <> $4::int THEN 'false' END
      FROM ${s}.tasks WHERE ${key} AND lease_id = $3`,
    // Scans the index of held leases completely: each renewal would have to update an index by expiry. Of the others it reads
    // those that have expired. The time is a subquery, since an index is not searched for what may change during the scan.
    orphans: `SELECT t.id, t.created_at, t.lease_id, c.lease_note
      FROM (
        (SELECT task, id, created_at, lease_id, lease_until FROM ${s}.tasks
          WHERE lease_id IS NOT NULL AND parked_until IS NULL AND lease_until <= ${NOW('$1')}
          ORDER BY lease_until LIMIT $2::int)
        UNION ALL
        (SELECT task, id, created_at, lease_id, lease_until FROM ${s}.tasks
          WHERE parked_until <= (SELECT ${NOW('$1')}) AND lease_until <= ${NOW('$1')}
          ORDER BY parked_until LIMIT $2::int)
        ORDER BY lease_until LIMIT $2::int
      ) t JOIN ${s}.contents c ON c.task = t.task ORDER BY t.lease_until`,
    // As `orphans`, it scans the index of held leases. The first ends are those of commits, which are 0.
    leaseCounts: `WITH time AS MATERIALIZED (SELECT ${NOW('$1')} AS now),
      held AS MATERIALIZED (
        SELECT lease_id, lease_until FROM ${s}.tasks WHERE lease_id IS NOT NULL AND parked_until IS NULL
      ),
      parked AS MATERIALIZED (
        SELECT lease_until FROM ${s}.tasks
        WHERE parked_until <= (SELECT now FROM time) AND lease_until <= (SELECT now FROM time)
        ORDER BY parked_until LIMIT $2::int
      )
      SELECT
        least($2::int, (SELECT count(*) FROM held, time WHERE lease_until <= now) + (SELECT count(*) FROM parked))::text,
        coalesce((SELECT now FROM time) - least(
          (SELECT min(lease_until) FROM held WHERE lease_until > 0 AND lease_until <= (SELECT now FROM time)),
          (SELECT lease_until FROM ${s}.tasks
            WHERE parked_until > 0 AND parked_until <= (SELECT now FROM time)
              AND lease_until > 0 AND lease_until <= (SELECT now FROM time)
            ORDER BY parked_until LIMIT 1)), 0)::text,
        least($2::int, (SELECT count(*) FROM held, time
          WHERE lease_until > now AND NOT ${isUnheld('lease_id')}))::text`,
  }
}
