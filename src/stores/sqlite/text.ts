/**
 * Column forms of names and JSON.
 *
 * @module
 */
import type { JsonValue } from '../../core/json-types.js'
import type { Row } from './database.js'

/**
 * Escapes U+0000, at which some drivers (libsql, and `node:sqlite` of Node 22) cut off a text that they read. The order
 * of names stays the same.
 */
export function toColumn(name: string): string {
  return name.replace(/[\0\u0001]/g, (character) => (character === '\0' ? '\u0001\u0001' : '\u0001\u0002'))
}

/** The inverse of {@link toColumn}. */
export function fromColumn(column: Row[string] | undefined): string {
  return String(column).replace(/\u0001[\u0001\u0002]/g, (pair) =>
    pair === '\u0001\u0001' ? '\0' : '\u0001',
  )
}

export function toJson(value: unknown): string {
  return JSON.stringify(value)
}

/** Parses a column written by {@link toJson}. The caller knows its type. */
export function fromJson(column: Row[string] | undefined): JsonValue {
  return JSON.parse(String(column)) as JsonValue
}
