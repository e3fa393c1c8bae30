/**
 * Waiting for a stored task, whichever process changes it.
 *
 * @module
 */
import type { TaskRecord } from '../core/task-record.js'
import type { Task } from '../core/task.js'
import { waitFor, type WaitOptions } from '../core/wait.js'
import { keepAlive } from '../runtime/timers.js'
import type { DurableContext } from './context.js'

/** Keeps the process alive until it settles: the timer of polls does not. */
export async function waitForStored<S extends string>(
  { cache, timeline, watcher, settings }: DurableContext<S>,
  taskId: string,
  options: WaitOptions<S>,
): Promise<Task<S>> {
  const find = (found: (record: TaskRecord<S>) => void): Promise<void> =>
    cache.use(taskId, true, ({ record }) => {
      watcher.begin()
      found(record)
    })
  const letGo = keepAlive()
  try {
    return await waitFor(taskId, find, timeline, settings.lifecycle, options)
  } finally {
    letGo()
  }
}
