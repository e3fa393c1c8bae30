/**
 * The end of a run whose executor has returned.
 *
 * @module
 */
import type { GenerateId } from '../../runtime/ids.js'
import { isInterrupted, isTerminal } from '../../core/lifecycle.js'
import type { LiveRun } from './active-run.js'
import type { Outcome } from '../options.js'
import { streamTexts } from './outcome.js'
import type { Queues } from './message-queue.js'
import type { TaskRun } from './run-controller.js'
import { isPending } from '../tasks.js'
import type { Principal } from '../caller.js'

/** A run that returns ends the task, unless somebody waits for an answer: the user of us, or we of the user. */
export async function finish<P extends Principal>(
  live: LiveRun<P>,
  outcome: Outcome,
  queues: Queues<P>,
  generateId: GenerateId,
): Promise<void> {
  const { run } = live
  if (typeof outcome === 'string') {
    if (run.replied !== undefined)
      throw new TypeError('execute() returned a text, and replied: do one of the two')
    takeBack(live, queues)
    if (!(await complete(run, queues, outcome))) run.artifact(outcome)
    return
  }
  if (outcome !== undefined) await streamTexts(run, outcome, generateId())
  await run.replied
  if (run.hasReplied) return
  takeBack(live, queues)
  const { state } = run.task
  const isOver = isTerminal(state) || (outcome === undefined && isInterrupted(state))
  if (!isOver) await complete(run, queues)
}

/** From now on the run looks at nothing: answers that it has not looked at come before what waits already. */
export function takeBack<P extends Principal>(live: LiveRun<P>, queues: Queues<P>): void {
  live.hasReturned = true
  const { run } = live
  const unread = run.takeUnread()
  if (run.taskId === undefined) return
  queues.unshift(run.taskId, unread)
  for (const message of live.unseen) queues.push(run.taskId, message)
  live.unseen.clear()
}

/** `false` when a message waits for another turn. */
async function complete<P extends Principal>(
  run: TaskRun<P>,
  queues: Queues<P>,
  text?: string,
): Promise<boolean> {
  for (;;) {
    if (run.taskId !== undefined && queues.has(run.taskId)) return false
    const finished = run.finish(text)
    if (isPending(finished) ? await finished : finished) return true
  }
}
