/**
 * Predictable ids for tests.
 *
 * @module
 */
import type { GenerateId } from '../runtime/ids.js'

/** Returns a generator of `task-1`, `task-2` and so on. */
export function sequentialIds(prefix = 'task'): GenerateId {
  let count = 0
  return () => `${prefix}-${++count}`
}
