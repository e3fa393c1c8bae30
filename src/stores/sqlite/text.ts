/**
 * Column forms of names and JSON.
 *
 * @module
 */
import type { JsonValue } from '../../core/json-types.js'
import type { Row } from './database.js'

/**
 * A name without U+0000, at which some drivers (libsql, that of Node 22) end a text that they read. Names in this form
 * sort as they did.
 */
export function toColumn(name: string): string {
  return name.replace(/[\0\u0001]/g, (character) => (character === '\0' ? '\u0001\u0001' : '\u0001\u0002'))
}

/** What {@link toColumn} was given. */
export function fromColumn(column: Row[string] | undefined): string {
  return String(column).replace(/\u0001[\u0001\u0002]/g, (pair) =>
    pair === '\u0001\u0001' ? '\0' : '\u0001',
  )
}

export function toJson(value: unknown): string {
  return JSON.stringify(value)
}

/** What {@link toJson} was given, of which the caller knows the type. */
export function fromJson(column: Row[string] | undefined): JsonValue {
  return JSON.parse(String(column)) as JsonValue
}
