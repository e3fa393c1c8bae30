/**
 * The memory that answers take.
 *
 * @module
 */

/** So much of an answer is kept in memory until its end, in bytes. */
export const MAX_WEIGHT = 67_108_864
const VALUE_WEIGHT = 32

/** About the bytes of heap of what models send: texts, bytes, and objects of these. */
export function weightOf(value: unknown): number {
  if (typeof value === 'string') return VALUE_WEIGHT + value.length
  if (value instanceof Uint8Array) return VALUE_WEIGHT + value.byteLength
  if (typeof value !== 'object' || value === null) return 8
  return Object.values(value).reduce<number>((sum, each) => sum + weightOf(each), VALUE_WEIGHT)
}
