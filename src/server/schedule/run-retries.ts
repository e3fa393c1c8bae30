/**
 * Further attempts of runs whose code has thrown.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import { withKeepAlive, type Clock } from '../../runtime/clock.js'
import { sleep } from '../../runtime/timers.js'
import type { Principal } from '../caller.js'
import { readOpenTurn } from '../journal/earlier-attempts.js'
import type { OpenTurn } from '../journal/open-turn.js'
import type { Settings } from '../options.js'
import type { RetrySettings } from '../retry.js'
import type { ServedTasks } from '../tasks.js'
import type { ActiveRun } from './active-run.js'
import { RETRY_MS } from './retries.js'

interface RetryContext {
  readonly retry?: RetrySettings | undefined
  readonly clock: Clock
  readonly tasks: ServedTasks
  readonly onError: Settings['onError']
}

/**
 * Records and reports that the run has thrown `error`, and waits for the next attempt.
 *
 * @returns The turn to attempt again. `undefined` when the task is to fail, or the run was aborted.
 * @throws As a rejection, what the manager of tasks throws.
 */
export async function waitToRetry<P extends Principal>(
  active: ActiveRun<P>,
  error: unknown,
  { retry, clock, tasks, onError }: RetryContext,
): Promise<OpenTurn | undefined> {
  const { run } = active
  if (retry === undefined || !run.turn.isRecording || run.attempt >= retry.attempts) return undefined
  const isOver = (): boolean => run.isTerminal || run.abortReason !== undefined
  if (run.hasReplied || isOver()) return undefined
  if (!retry.isRetryable(error)) return undefined
  // An open question is asked again.
  run.start()
  run.turn.recordAttempt(run.attempt, error)
  onError(error, { during: 'execute', taskId: run.createdId })
  active.stopTimer()
  active.isPausing = true
  const pause = (ms: number): Promise<void> => sleep(ms, run.signal, withKeepAlive(clock))
  await pause(retry.pauseMs(run.attempt))
  let open: OpenTurn | undefined
  while (!isOver()) {
    try {
      open = await readOpenTurn(tasks, run.task)
      break
    } catch (failure) {
      if (!A2AError.is(failure, 'STORE_FAILED')) throw failure
      onError(failure, { during: 'execute', taskId: run.createdId })
      await pause(RETRY_MS)
    }
  }
  active.isPausing = false
  return isOver() ? undefined : open
}

/** The reason for which code of an attempt that is over can change nothing any more. */
export function attemptedAgain<P extends Principal>({ run }: ActiveRun<P>): A2AError<'LEASE_LOST'> {
  return new A2AError('LEASE_LOST', 'execute() threw, and another attempt has begun', { taskId: run.taskId })
}
