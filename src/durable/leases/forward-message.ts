/**
 * Messages to a task that somebody holds.
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
import type { Decide } from '../cache/change.js'
import type { Workshop } from '../context.js'

/** As `send` of `LeasedTasks`. */
export async function send<S extends string>(
  { settings, mirrors, decideFor }: Workshop<S>,
  seen: TaskSnapshot<S>,
  leaseId: string,
  message: MessageInput,
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
      // The protocol's own lifecycle has it, and others have no handler.
      state: 'working' as S,
      message: task.message === undefined ? undefined : null,
    }
    return [...events, ...decideFor(command)(after)]
  }
  try {
    return await mirrors.use(seen.id, false, async (mirror) => {
      if (mirror.record.task.generation < generation) await mirror.refresh()
      return await mirror.execute(decide, () => true, { leaseId }).stored
    })
  } catch (error) {
    if (A2AError.is(error, 'TASK_GENERATION_MISMATCH') || A2AError.is(error, 'LEASE_LOST')) return false
    throw error
  }
}
