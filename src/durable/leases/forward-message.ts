/**
 * Messages to a task that are stored under the lease of its holder.
 *
 * @module
 */
import { toMessage, toUpdate, type UpdateCommand } from '../../core/commands.js'
import { requireGeneration } from '../../core/decide.js'
import { A2AError } from '../../core/errors.js'
import { isInterrupted } from '../../core/lifecycle.js'
import type { MessageInput } from '../../core/params.js'
import { TaskRecord } from '../../core/task-record.js'
import type { TaskSnapshot } from '../../core/task.js'
import { fold } from '../cache/checkpoint.js'
import type { CachedTask } from '../cache/cached-task.js'
import type { Decide } from '../cache/change.js'
import type { DurableContext } from '../context.js'

/**
 * Implements `send` of `LeasedTasks`.
 *
 * @param held - The task, if this process holds the lease: then the message is decided before this returns. `onLost` is called
 *   when the store refuses the message because the task does not have the lease any more.
 */
export async function forwardMessage<S extends string>(
  { settings, cache, decideFor }: DurableContext<S>,
  seen: TaskSnapshot<S>,
  leaseId: string,
  message: MessageInput,
  held?: { readonly cached: CachedTask<S>; readonly onLost: () => Promise<void> },
): Promise<boolean> {
  const { generation } = seen
  const add = toMessage(message, {}, settings)
  const resume = toUpdate<S>({ message: null }, settings)
  const decideAdd = decideFor(add)
  const decide: Decide<S> = (record) => {
    const { task } = record
    requireGeneration(task, generation)
    const events = decideAdd(record)
    if (!isInterrupted(task.state, settings.lifecycle)) return events
    const after = new TaskRecord(fold(task, events), record.created, record.usage)
    const command: UpdateCommand<S> = {
      ...resume,
      // Handlers serve the protocol's own lifecycle only, which has this state.
      state: 'working' as S,
      message: task.message === undefined ? undefined : null,
    }
    return [...events, ...decideFor(command)(after)]
  }
  try {
    if (held !== undefined) return await held.cached.execute(decide, () => true, { leaseId }).stored
    return await cache.use(seen.id, false, async (cached) => {
      if (cached.record.task.generation < generation) await cached.refresh()
      return await cached.execute(decide, () => true, { leaseId }).stored
    })
  } catch (error) {
    if (A2AError.is(error, 'TASK_GENERATION_MISMATCH')) return false
    if (!A2AError.is(error, 'LEASE_LOST')) throw error
    await held?.onLost()
    return false
  }
}
