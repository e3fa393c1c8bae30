/**
 * Ids of requests, and tokens of progress.
 *
 * @module
 */
export type RequestId = string | number

const MAX_LENGTH = 256

export function isId(value: unknown): value is RequestId {
  return typeof value === 'string' ? value.length <= MAX_LENGTH : Number.isSafeInteger(value)
}
