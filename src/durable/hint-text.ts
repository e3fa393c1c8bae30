/**
 * Hints of other processes, as texts that a database carries: JSON lists of `[task id, generation]`.
 *
 * @module
 */
import type { Hint } from './task-store.js'

/** The hints in a text. Other clients may send anything to the channel: what is not a hint is ignored. */
export function toHints(text: string): Hint[] {
  try {
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) ? list.flatMap(toHint) : []
  } catch {
    return []
  }
}

function toHint(pair: unknown): Hint[] {
  // The items can be of any type.
  const [taskId, generation] = (Array.isArray(pair) ? pair : []) as unknown[]
  return typeof taskId === 'string' && typeof generation === 'number' ? [{ taskId, generation }] : []
}
