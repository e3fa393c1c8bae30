/**
 * SQL statements for documents.
 *
 * @module
 */

export type DocumentStatements = ReturnType<typeof documentStatements>

/**
 * The kind as stored in its column. A kind of more than 64 bytes is stored as its hash, because the index entry must
 * have room for the longest task id.
 */
function kindOf(parameter: string): string {
  const given = `${parameter}::text`
  return `CASE WHEN octet_length(${given}) <= 64 THEN ${given} ELSE '~s' || encode(sha256(convert_to(${given}, 'UTF8')), 'hex') END`
}

/** `s` is the quoted schema name. */
export function documentStatements(s: string) {
  const task = `(SELECT task FROM ${s}.tasks WHERE id = $1 AND created_at = $2)`
  const columns = 'task_id, created_at, id, version::text, json'
  return {
    // The lock blocks only the deletion of the task.
    insertDocument: `WITH head AS (
        SELECT task FROM ${s}.tasks WHERE id = $1 AND created_at = $2 FOR KEY SHARE
      )
      INSERT INTO ${s}.documents (task, task_id, created_at, kind, id, version, json)
      SELECT task, $1, $2, ${kindOf('$3')}, $4, 1, $5 FROM head ON CONFLICT DO NOTHING RETURNING id`,
    updateDocument: `UPDATE ${s}.documents SET version = version + 1, json = $5
      WHERE task = ${task} AND kind = ${kindOf('$3')} AND id = $4 AND version = $6 RETURNING id`,
    deleteDocument: `DELETE FROM ${s}.documents WHERE task = ${task} AND kind = ${kindOf('$3')} AND id = $4 RETURNING id`,
    documents: `SELECT ${columns} FROM ${s}.documents WHERE task = ${task} AND kind = ${kindOf('$3')} ORDER BY id`,
    allDocuments: `SELECT ${columns} FROM ${s}.documents WHERE kind = ${kindOf('$1')}
      ORDER BY task_id, created_at, id LIMIT $2::int`,
    allDocumentsAfter: `SELECT ${columns} FROM ${s}.documents WHERE kind = ${kindOf('$1')} AND task_id >= $3
      AND (task_id > $3 OR created_at > $4 OR (created_at = $4 AND id > $5))
      ORDER BY task_id, created_at, id LIMIT $2::int`,
  }
}
