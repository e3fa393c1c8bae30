/**
 * The time at which the work of a run has to end.
 *
 * @module
 */
import type { Principal } from '../../caller.js'
import type { RunContext } from '../run-context.js'

/**
 * The earliest of the task's deadline, that of the message and the task timeout, in ms since 1970.
 *
 * @param createdAt - When the task was created. Absent for a task to come.
 */
export function earliestDeadline<P extends Principal>(
  { message, deadlineOf, settings }: RunContext<P>,
  taskId: string | undefined,
  createdAt: string | undefined,
): number | undefined {
  const created = createdAt === undefined ? settings.clock.now() : Date.parse(createdAt)
  const timeout = created + (settings.tasks.taskTimeoutMs ?? Infinity)
  const earliest = Math.min(deadlineOf(taskId) ?? Infinity, message.deadline ?? Infinity, timeout)
  return earliest === Infinity ? undefined : earliest
}
