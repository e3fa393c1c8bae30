/**
 * A task whose holder has died, and that nobody is to work on again.
 *
 * @module
 */
import { toUpdate } from '../../core/commands.js'
import { canTransition } from '../../core/lifecycle.js'
import type { TaskMirror } from '../cache/cached-task.js'
import type { Workshop } from '../context.js'

/** What such a task says. */
const ABANDONED = 'The agent stopped before this task was finished'

/** @returns Whether it has failed now: a lifecycle without that state leaves it as it is. */
export async function failAbandoned<S extends string>(
  { settings, decideFor }: Workshop<S>,
  mirror: TaskMirror<S>,
  leaseId: string,
): Promise<boolean> {
  const { lifecycle } = settings
  // Looked up next.
  const state = 'failed' as S
  if (!lifecycle.states.includes(state)) return false
  if (!canTransition(mirror.record.task.state, state, lifecycle)) return false
  const command = toUpdate<S>({ state, message: ABANDONED }, settings)
  await mirror.execute(decideFor(command), () => undefined, { leaseId }).stored
  return true
}
