/**
 * JSON objects before their validation.
 *
 * @module
 */

/** A JSON object whose fields are not validated yet. */
export type Unread = Readonly<Record<string, unknown>>

/** Whether `value` is an object and no array. */
export function isRecord(value: unknown): value is Unread {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** `value` if it is an object and no array. */
export function recordOf(value: unknown): Unread | undefined {
  return isRecord(value) ? value : undefined
}
