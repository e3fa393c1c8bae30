/**
 * @module
 */
import type { GenerateId } from '../runtime/ids.js'

/** Ids in order: `task-1`, `task-2`, … */
export function sequentialIds(prefix = 'task'): GenerateId {
  let count = 0
  return () => `${prefix}-${++count}`
}
