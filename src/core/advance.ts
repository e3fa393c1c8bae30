/**
 * Paths for peers that skip states of the lifecycle.
 *
 * @module
 */
import { shortestPath, type TaskState } from './lifecycle.js'

/**
 * The states that a task enters on the shortest legal way from one state to another: none if they are the same. Without
 * such a way it is `to` alone, for which the manager throws the error that fits.
 */
export function stepsTo(from: TaskState, to: TaskState): readonly TaskState[] {
  return shortestPath(from, to) ?? [to]
}
