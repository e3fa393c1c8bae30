/**
 * Tasks without work, whose documents keep what belongs to no other task.
 *
 * @module
 */
import type { SharedTasks } from '../core/managers.js'
import { keyOf, type TaskKey } from '../core/task.js'
import { keptId } from './chosen-ids.js'
import { derivedId } from './idempotency.js'

/**
 * The task of an agent that keeps documents. No client sees it, or can choose its id.
 *
 * @param skill - Of this task only.
 * @throws {A2AError} As a rejection: `STORE_FAILED`.
 */
export async function keeperOf(tasks: SharedTasks, agent: string, skill: string): Promise<TaskKey> {
  // Of no client: neither a principal nor a tenant can lead to it.
  const owner = `\n\n${skill}`
  const id = keptId({ owner }, derivedId(0, agent, owner))
  const known = await tasks.peekTask(id)
  if (known !== null) return keyOf(known)
  try {
    return keyOf(await tasks.createTask({ id, skill, owner }))
  } catch (error) {
    const other = await tasks.peekTask(id)
    if (other === null) throw error
    return keyOf(other)
  }
}

/** @throws {TypeError} for a manager that would end the task of {@link keeperOf}. */
export function requireKeeping({ taskTimeoutMs }: SharedTasks, what: string, kept: string): void {
  if (taskTimeoutMs === undefined || taskTimeoutMs === Infinity) return
  throw new TypeError(`"tasks" of ${what} must have no "taskTimeoutMs", which would end its ${kept}`)
}
