/**
 * Waiting for a stored task, whichever process changes it.
 *
 * @module
 */
import { taskNotFound } from '../core/errors.js'
import type { TaskRecord } from '../core/task-record.js'
import type { Task } from '../core/task.js'
import { waitFor, type WaitOptions } from '../core/wait.js'
import { keepAlive } from '../runtime/timers.js'
import type { DurableContext } from './context.js'

/**
 * Keeps the process alive until it settles: the timer of polls does not.
 *
 * @param isHeld - Whether this process has the lease of the task. Then it has made the changes that others wait for, and reads
 *   none of them from the store.
 */
export async function waitForStored<S extends string>(
  { cache, timeline, watcher, settings }: DurableContext<S>,
  taskId: string,
  options: WaitOptions<S>,
  isHeld: boolean,
): Promise<Task<S>> {
  const find = (found: (record: TaskRecord<S>) => void): Promise<void> =>
    cache.use(taskId, !isHeld, async (cached) => {
      // The condition is for the task with the changes that this process is storing.
      if (isHeld && cached.isBusy) await cached.settle(false)
      if (isHeld && cached.stalledBy !== undefined) throw cached.stalledBy
      if (cached.isGone) throw taskNotFound(taskId)
      watcher.begin()
      found(cached.record)
    })
  const letGo = keepAlive()
  try {
    return await waitFor(taskId, find, timeline, settings.lifecycle, options)
  } finally {
    letGo()
  }
}
