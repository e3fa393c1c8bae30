/**
 * Failure of tasks whose holder has died and that may not be restarted.
 *
 * @module
 */
import { toJournal } from '../../core/commands.js'
import { canTransition } from '../../core/lifecycle.js'
import type { CachedTask } from '../cache/cached-task.js'
import type { DurableContext } from '../context.js'
import type { LeaseNote } from './lease-note.js'

/** The status message of such a task. */
const ABANDONED = 'The agent stopped before this task was finished'

/** @returns Whether the task has failed. A task whose lifecycle has no `failed` state to move to stays unchanged. */
export async function failAbandoned<S extends string>(
  { settings, decideFor }: DurableContext<S>,
  cached: CachedTask<S>,
  leaseId: string,
  { restarts, note, worker }: LeaseNote,
): Promise<boolean> {
  const { lifecycle } = settings
  // The next line checks that the lifecycle has the state.
  const state = 'failed' as S
  if (!lifecycle.states.includes(state)) return false
  if (!canTransition(cached.record.task.state, state, lifecycle)) return false
  const entry = {
    ...({ kind: 'failure', reason: 'restarts', count: Math.max(0, restarts) } as const),
    ...(note !== undefined && { note }),
    ...(worker !== '' && { worker }),
  }
  const command = toJournal<S>([entry], { update: { state, message: ABANDONED } }, settings)
  await cached.execute(decideFor(command), () => undefined, { leaseId }).stored
  return true
}
