/**
 * Room for forks: what request handlers limit.
 *
 * @module
 */
import { portOf, type AddedTask, type ManagerPort } from '../core/port.js'
import type { RequireRoom } from '../core/queries.js'

/** Asks for room before each fork and redrive of these tasks. Returns a function that ends this. */
export function limitForks(tasks: object, requireRoom: RequireRoom): () => void {
  const limits = portOf(tasks)?.limits
  limits?.add(requireRoom)
  return () => void limits?.delete(requireRoom)
}

/** @throws {TypeError} for a manager of another package: no public method adds a task with its log. */
export function requirePort<S extends string>(tasks: object, view: string): ManagerPort<S> {
  const port = portOf<S>(tasks)
  if (port === undefined)
    throw new TypeError(`${view}() needs a TaskManager, a DurableTaskManager or the manager of openTasks()`)
  return port
}

/** @throws {A2AError} as a rejection: what a limit refuses the fork with. */
export async function requireRoomFor<S extends string>(
  { limits }: ManagerPort<S>,
  owner: string | undefined,
  { isWorking }: AddedTask<S>,
): Promise<void> {
  const wanted = { owner: owner ?? null }
  await Promise.all([...limits].map(async (requireRoom) => await requireRoom(wanted, isWorking)))
}
