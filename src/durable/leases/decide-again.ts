/**
 * Changes of the holder of a lease that are decided again when another caller's change is stored first.
 *
 * @module
 */
import type { TaskCommand } from '../../core/commands.js'
import type { CachedTask } from '../cache/cached-task.js'
import type { Decide, Origin } from '../cache/change.js'
import type { DurableContext } from '../context.js'

type DecideFor<S extends string> = Pick<DurableContext<S>, 'decideFor'>

/** When another caller has moved the task to the same state first, the rest of the update is still made. */
export function decideWithRest<S extends string>(
  { decideFor }: DecideFor<S>,
  command: TaskCommand<S>,
): Decide<S> {
  const decide = decideFor(command)
  if (command.type !== 'update' || command.state === undefined) return decide
  const { output, artifacts, message, metadata, state } = command
  const isSaid = (message ?? null) !== null || metadata !== undefined
  const hasRest = output !== undefined || artifacts.length > 0 || isSaid
  const decideRest = decideFor({ ...command, state: undefined })
  let isFirst = true
  return (record) => {
    const isInState = !isFirst && hasRest && record.task.state === state
    isFirst = false
    return isInState ? decideRest(record) : decide(record)
  }
}

class Overtaken extends Error {}

/** Makes a change. Resolves to `false`, with nothing changed, when another caller's change is stored first. */
export async function executeOnce<S extends string>(
  cached: CachedTask<S>,
  decide: Decide<S>,
  origin: Origin<S>,
): Promise<boolean> {
  let isFirst = true
  const decideOnlyOnce: Decide<S> = (record) => {
    if (!isFirst) throw new Overtaken('Others came first')
    isFirst = false
    return decide(record)
  }
  try {
    return await cached.execute(decideOnlyOnce, () => true, origin).stored
  } catch (error) {
    if (error instanceof Overtaken) return false
    throw error
  }
}
