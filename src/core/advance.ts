/**
 * Paths through the lifecycle for peers that skip states.
 *
 * @module
 */
import { A2A_LIFECYCLE, shortestPath, type Lifecycle, type TaskState } from './lifecycle.js'

/**
 * The states that a task enters on the shortest legal path from `from` to `to`; empty if both are the same. Without a
 * legal path: `[to]`, for which the manager throws the fitting error.
 */
export function stepsTo(
  from: TaskState,
  to: TaskState,
  lifecycle: Lifecycle = A2A_LIFECYCLE,
): readonly TaskState[] {
  // A lifecycle with more states leads through them only from one of them.
  return shortestPath(from, to) ?? shortestPath(from, to, lifecycle) ?? [to]
}
