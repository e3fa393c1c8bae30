/**
 * Paths through the lifecycle for peers that skip states.
 *
 * @module
 */
import { shortestPath, type TaskState } from './lifecycle.js'

/**
 * The states that a task enters on the shortest legal path from `from` to `to`; empty if both are the same. Without a
 * legal path: `[to]`, for which the manager throws the fitting error.
 */
export function stepsTo(from: TaskState, to: TaskState): readonly TaskState[] {
  return shortestPath(from, to) ?? [to]
}
