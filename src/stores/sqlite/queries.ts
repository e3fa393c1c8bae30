/**
 * SQL statements of the store. Each statement that reads many rows follows the order of an index.
 *
 * @module
 */
import { UNHELD } from '../../durable/leases/lease-note.js'
import type { StoreFilter, StoreQuery } from '../../durable/task-store.js'
import { toColumn } from './text.js'

export type Queries = ReturnType<typeof queriesFor>

/** All statements that do not depend on a filter, for tables with this prefix. */
export function queriesFor(prefix: string) {
  return { ...taskQueries(prefix), ...leaseQueries(prefix), ...documentQueries(prefix) }
}

function taskQueries(prefix: string) {
  const tasks = `${prefix}tasks`
  const events = `${prefix}events`
  const checkpoints = `${prefix}checkpoints`
  return {
    taskOf: `SELECT key, generation, state, ended, updated_second FROM ${tasks}
      WHERE id = ? AND created_at = ?`,
    taskById: `SELECT key FROM ${tasks} WHERE id = ?`,
    isCreation: `SELECT 1 FROM ${tasks} WHERE key = ? AND creation_id = ?`,
    heads: `SELECT id, created_at, generation FROM ${tasks} WHERE id IN (SELECT value FROM json_each(?))`,
    unended: `SELECT id, created_at FROM ${tasks} WHERE ended = 0 AND created_at < ?
      ORDER BY created_at, id LIMIT ?`,
    endedBefore: `SELECT id, created_at FROM ${tasks} WHERE ended = 1 AND state = ? AND updated_at < ?
      ORDER BY updated_at, id LIMIT ?`,
    endedBeyond: `SELECT id, created_at FROM ${tasks} WHERE ended = 1 AND state = ?
      ORDER BY updated_at DESC, id DESC LIMIT ? OFFSET ?`,
    insertTask: `INSERT INTO ${tasks}
      (id, created_at, generation, state, ended, updated_at, updated_second, skill, context_id, owner, creation_id)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    updateGeneration: `UPDATE ${tasks} SET generation = ?, updated_at = ? WHERE key = ?`,
    updateHead: `UPDATE ${tasks} SET generation = ?, updated_at = ?, updated_second = ?, state = ?, ended = ?
      WHERE key = ?`,
    deleteTask: `DELETE FROM ${tasks} WHERE key = ?`,

    events: `SELECT json FROM ${events} WHERE task = ? AND generation > ? ORDER BY generation LIMIT ?`,
    isCommit: `SELECT 1 FROM ${events} WHERE task = ? AND generation = ? AND commit_id = ?`,
    insertEvent: `INSERT INTO ${events} (task, generation, json, commit_id) VALUES (?, ?, ?, ?)`,
    deleteEvents: `DELETE FROM ${events} WHERE task = ?`,

    checkpoint: `SELECT generation, json FROM ${checkpoints} WHERE task = ?`,
    putCheckpoint: `INSERT OR REPLACE INTO ${checkpoints} (task, generation, json) VALUES (?, ?, ?)`,
    deleteCheckpoint: `DELETE FROM ${checkpoints} WHERE task = ?`,
  }
}

function leaseQueries(prefix: string) {
  const leases = `${prefix}leases`
  const tasks = `${prefix}tasks`
  return {
    lease: `SELECT id, ends_at FROM ${leases} WHERE task = ?`,
    leaseNote: `SELECT note FROM ${leases} WHERE task = ?`,
    putLease: `INSERT OR REPLACE INTO ${leases} (task, id, ends_at, note) VALUES (?, ?, ?, ?)`,
    renewLease: `UPDATE ${leases} SET ends_at = ?
      WHERE task = (SELECT key FROM ${tasks} WHERE id = ? AND created_at = ?) AND id = ?`,
    expireLease: `UPDATE ${leases} SET ends_at = 0 WHERE task = ? AND id = ?`,
    deleteLease: `DELETE FROM ${leases} WHERE task = ?`,
    orphans: `SELECT task.id, task.created_at, lease.id AS lease_id, lease.note
      FROM ${leases} AS lease CROSS JOIN ${tasks} AS task ON task.key = lease.task
      WHERE lease.ends_at <= ? ORDER BY lease.ends_at LIMIT ?`,
    expiredCount: `SELECT COUNT(*) AS count FROM (SELECT 1 FROM ${leases} WHERE ends_at <= ? LIMIT ?)`,
    // Commits make leases end at 0.
    firstEnd: `SELECT ends_at FROM ${leases} WHERE ends_at > 0 AND ends_at <= ? ORDER BY ends_at LIMIT 1`,
    heldCount: `SELECT COUNT(*) AS count FROM (SELECT id FROM ${leases} WHERE ends_at > ? ORDER BY ends_at LIMIT ?)
      WHERE id NOT IN (${UNHELD.map((id) => `'${id}'`).join(', ')})`,
  }
}

function documentQueries(prefix: string) {
  const documents = `${prefix}documents`
  const columns = 'task_id, created_at, id, version, json'
  const isOfTask = 'kind = ? AND task_id = ? AND created_at = ?'
  return {
    insertDocument: `INSERT OR IGNORE INTO ${documents} (kind, ${columns}) VALUES (?, ?, ?, ?, 1, ?)`,
    updateDocument: `UPDATE ${documents} SET version = version + 1, json = ?
      WHERE ${isOfTask} AND id = ? AND version = ?`,
    deleteDocument: `DELETE FROM ${documents} WHERE ${isOfTask} AND id = ?`,
    deleteDocuments: `DELETE FROM ${documents} WHERE task_id = ? AND created_at = ?`,
    documents: `SELECT ${columns} FROM ${documents} WHERE ${isOfTask} ORDER BY id`,
    firstDocuments: `SELECT ${columns} FROM ${documents} WHERE kind = ?
      ORDER BY task_id, created_at, id LIMIT ?`,
    nextDocuments: `SELECT ${columns} FROM ${documents}
      WHERE kind = ? AND (task_id, created_at, id) > (?, ?, ?) ORDER BY task_id, created_at, id LIMIT ?`,
  }
}

/** A statement and its parameters. */
export interface BoundStatement {
  readonly sql: string
  readonly parameters: readonly (string | number)[]
}

/** The part of `2026-01-02T03:04:05.678Z` before the point. */
export function secondOf(timestamp: string): string {
  return timestamp.slice(0, 19)
}

/**
 * Selects the keys of one page. With several conditions, the statement reads the index of the property that the fewest
 * tasks are likely to share.
 */
export function listQuery(prefix: string, { after, limit, ...filter }: StoreQuery): BoundStatement {
  const { from, conditions, parameters } = select(prefix, filter)
  if (after !== undefined) {
    conditions.push('updated_second <= ?', '(updated_at, id) < (?, ?)')
    parameters.push(secondOf(after.updatedAt), after.updatedAt, toColumn(after.id))
  }
  return {
    sql: `SELECT key FROM ${from}${where(conditions)}
      ORDER BY updated_second DESC, updated_at DESC, id DESC LIMIT ?`,
    parameters: [...parameters, limit],
  }
}

export function countQuery(prefix: string, filter: StoreFilter): BoundStatement {
  const { from, conditions, parameters } = select(prefix, filter)
  return { sql: `SELECT COUNT(*) AS count FROM ${from}${where(conditions)}`, parameters }
}

function select(prefix: string, filter: StoreFilter) {
  const { state, skill, contextId, owner, updatedSince } = filter
  const conditions: string[] = []
  const parameters: (string | number)[] = []
  const add = (condition: string, parameter: string): void => {
    conditions.push(condition)
    parameters.push(parameter)
  }
  if (contextId !== undefined) add('context_id = ?', toColumn(contextId))
  if (owner === null) conditions.push('owner IS NULL')
  else if (owner !== undefined) add('owner = ?', toColumn(owner))
  if (skill !== undefined) add('skill = ?', toColumn(skill))
  if (state !== undefined) add('state = ?', toColumn(state))
  if (updatedSince !== undefined) {
    add('updated_second >= ?', secondOf(updatedSince))
    add('updated_at >= ?', updatedSince)
  }
  // The index is explicit: without statistics SQLite cannot choose well, and with statistics its choice may change from
  // day to day.
  const from = `${prefix}tasks INDEXED BY ${prefix}tasks_by_${indexFor(filter)}`
  return { from, conditions, parameters }
}

function indexFor({ contextId, owner, skill, state }: StoreFilter): string {
  if (contextId !== undefined) return 'context'
  if (typeof owner === 'string') return 'owner'
  if (skill !== undefined) return 'skill'
  if (state !== undefined) return 'state'
  return owner === null ? 'owner' : 'time'
}

function where(conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`
}
