/**
 * Conversion of rows to keys, events and documents.
 *
 * @module
 */
import type { TaskKey } from '../../core/task.js'
import type { JsonValue } from '../../core/json-types.js'
import type { TaskDocument } from '../../core/managers.js'
import type { Row } from './database.js'
import { fromColumn, fromJson, toColumn } from './text.js'

/** Drivers return BigInt when the application has configured them so. */
export function numberOf(row: Row | undefined, column: string): number {
  return Number(row?.[column])
}

export function keyOf(row: Row): TaskKey {
  return { id: fromColumn(row['id']), createdAt: String(row['created_at']) }
}

/** The note of a lease, if it has one. */
export function noteOf(row: Row | undefined): JsonValue | undefined {
  return row?.['note'] == null ? undefined : fromJson(row['note'])
}

export function documentsKeyOf(kind: string, { id, createdAt }: TaskKey): [string, string, string] {
  return [toColumn(kind), toColumn(id), createdAt]
}

export function documentOf(kind: string, row: Row): TaskDocument {
  return {
    key: { id: fromColumn(row['task_id']), createdAt: String(row['created_at']) },
    kind,
    id: fromColumn(row['id']),
    value: fromJson(row['json']),
    version: numberOf(row, 'version'),
  }
}
