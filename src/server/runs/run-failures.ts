/**
 * Runs that end badly, and what their tasks say of it.
 *
 * @module
 */
import { A2AError, ended, type ErrorCode } from '../../core/errors.js'
import type { LiveRun } from './active-run.js'
import type { Settings } from '../options.js'
import type { Principal } from '../caller.js'

/** What the client reads when a run fails: what really happened is nobody's business but the agent's. */
export const FAILED = 'The agent could not finish this task'
export const SHUT_DOWN = 'The agent was shut down before this task was finished'
export const TIMED_OUT = 'Task timed out'
const ENDINGS: readonly ErrorCode[] = [
  ...(['TASK_CANCELED', 'TASK_TIMED_OUT', 'TASK_EXPIRED', 'MANAGER_DESTROYED', 'UNAVAILABLE'] as const),
]

export class RunFailures<P extends Principal> {
  readonly #onError: Settings<P>['onError']

  constructor(onError: Settings<P>['onError']) {
    this.#onError = onError
  }

  /** The run has thrown. */
  fail(live: LiveRun<P>, error: unknown): void {
    const { run } = live
    const { abortReason } = run
    const isExpected = abortReason !== undefined && (error === abortReason || isAbort(error))
    // Whoever ended the run from outside has seen to its task.
    if (isExpected) return
    this.failTask(live, FAILED)
    this.#onError(error, { during: 'execute', taskId: run.taskId })
    // When the message itself was refused, its task has ended before anybody was told of it.
    run.decision.giveUp(error as Error)
  }

  /** A run that ends badly leaves a task that says so, where there can be one. */
  failTask(live: LiveRun<P>, text: string): void {
    const { run } = live
    if (run.hasReplied || run.hasEnded) return
    try {
      run.fail(text)
    } catch {
      this.#failSilently(live)
    }
  }

  timeOut(live: LiveRun<P>): void {
    const { run } = live
    this.failTask(live, TIMED_OUT)
    const { taskId = '' } = run
    const reason = ended('TASK_TIMED_OUT', taskId)
    this.#onError(reason, { during: 'execute', taskId })
    run.abort(reason)
  }

  /** The conversation has no room for one more message. */
  #failSilently(live: LiveRun<P>): void {
    try {
      live.run.fail()
    } catch (error) {
      // Nor is there room for a task.
      live.run.decision.giveUp(error as Error)
      live.break(error as Error)
    }
  }
}

/** What whoever heeds a signal throws, in its own words or in ours. */
export function isAbort(error: unknown): boolean {
  if (A2AError.is(error)) return ENDINGS.includes(error.code)
  return error instanceof Error && error.name === 'AbortError'
}
