/**
 * Cancellation at their agents of delegated tasks that have ended while no process followed them.
 *
 * @module
 */
import type { SharedTasks } from '../../core/managers.js'
import { cancelEnded } from '../../remote/ended-tasks.js'
import type { Clock } from '../../runtime/clock.js'
import { SENT_TASK } from '../../runtime/document-kinds.js'
import type { Position } from './positions.js'

export interface Canceler {
  /** Cancels the task of `position` at its agent, if this process knows the agent. Resolves to whether it has ended there. */
  cancel(position: Position): Promise<boolean>
}

/** Searches run until the manager is destroyed, one for each manager, whose latest client cancels. */
const cancelersByManager = new WeakMap<SharedTasks, { current: Canceler }>()

/** Cancels tasks whose process has died before it could: their positions are still stored after their end. */
export function cancelAbandoned(tasks: SharedTasks, canceler: Canceler, clock: Clock): void {
  const known = cancelersByManager.get(tasks)
  if (known !== undefined) {
    known.current = canceler
    return
  }
  const latest = { current: canceler }
  cancelersByManager.set(tasks, latest)
  cancelEnded(tasks, SENT_TASK, clock, ({ value }) => {
    // All documents of this kind are positions.
    return latest.current.cancel(value as unknown as Position)
  })
}
