/**
 * The lineage of the messages that a run sends to other agents.
 *
 * @module
 */
import { nextLineage, readLineage } from '../../core/lineage/lineage.js'
import { agentIdOf, type Lineage, type LineageSource } from '../../core/lineage/mark.js'
import { readOptions, requireBoolean } from '../../runtime/options.js'
import type { Principal } from '../caller.js'
import type { RunContext } from './run-context.js'

/** See `Run.lineageTo`. */
export function lineageOf<P extends Principal>(
  { settings, message }: RunContext<P>,
  { taskId, deadline }: { readonly taskId: string; readonly deadline: number | undefined },
  ...[agent, options = {}]: Parameters<LineageSource['lineageTo']>
): Lineage {
  const { mayRepeat = false } = readOptions(options, ['mayRepeat'], 'run.lineageTo')
  requireBoolean('mayRepeat', mayRepeat)
  const received = readLineage(message.request.message.metadata)
  const sender = { taskId, received, own: agentIdOf(settings.card), deadline }
  return nextLineage(sender, agent, { maxDepth: settings.limits.maxDelegationDepth, mayRepeat })
}
