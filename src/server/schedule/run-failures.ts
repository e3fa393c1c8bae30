/**
 * Failure of runs: the failed state of their tasks, and reports to `onError`.
 *
 * @module
 */
import { A2AError, endError } from '../../core/errors.js'
import { isInterrupted } from '../../core/lifecycle.js'
import type { TaskKey } from '../../core/task.js'
import type { ActiveRun } from './active-run.js'
import { failLate } from './deadlines.js'
import { FAILED, isAbort, SHUT_DOWN, TIMED_OUT } from '../run/failure-texts.js'
import type { Settings } from '../options.js'
import type { Principal } from '../caller.js'

/** Codes of a manager that has no room. */
const ROOM: ReadonlySet<string> = new Set(['TASK_LIMIT_REACHED', 'LIMIT_EXCEEDED'])

export class RunFailures<P extends Principal> {
  readonly #onError: Settings<P>['onError']
  readonly #tasks: Settings<P>['tasks']

  constructor({ onError, tasks }: Pick<Settings<P>, 'onError' | 'tasks'>) {
    this.#onError = onError
    this.#tasks = tasks
  }

  /** Handles an error that the executor threw. An abort from outside is expected: its cause has changed the task. */
  fail(active: ActiveRun<P>, error: unknown): void {
    const { run } = active
    const { abortReason } = run
    const isExpected = abortReason !== undefined && (error === abortReason || isAbort(error))
    if (isExpected) return
    if (isIdTaken(active, error)) {
      // Another process has begun the task of this message.
      run.response.reject(error)
      return
    }
    this.failTask(active, FAILED, { error })
    if (!isRefusedTask(active, error)) this.#onError(error, { during: 'execute', taskId: run.createdId })
    // A message that the task refused has no response yet.
    run.response.reject(error as Error)
  }

  /**
   * Fails the task with `text`; creates the task first where the run has none.
   *
   * @param cause - What the last attempt of the turn threw.
   */
  failTask(active: ActiveRun<P>, text: string, cause?: { readonly error: unknown }): void {
    const { run } = active
    if (run.hasReplied || run.isTerminal) return
    try {
      if (cause === undefined) run.fail(text)
      else run.failForGood(text, cause.error)
    } catch {
      this.#failSilently(active)
    }
  }

  /** Fails the task, reports `TASK_TIMED_OUT` and aborts the run. */
  timeOut(active: ActiveRun<P>): void {
    this.stop(active, TIMED_OUT, endError('TASK_TIMED_OUT', active.run.createdId ?? ''))
  }

  /** Fails the task as {@link failTask} does, reports the reason and aborts the run. */
  stop(active: ActiveRun<P>, text: string, reason: Error, cause?: { readonly error: unknown }): void {
    const { run } = active
    this.failTask(active, text, cause)
    this.#onError(reason, { during: 'execute', taskId: run.createdId ?? '' })
    run.abort(reason)
  }

  /**
   * Fails a task at its deadline, also while it waits for the user or no run works on it.
   *
   * @param active - The run of the task with this id, if there is one.
   */
  endLate(active: ActiveRun<P> | undefined, task: TaskKey): void {
    const { id: taskId, createdAt } = task
    if (active?.task?.createdAt === createdAt) this.timeOut(active)
    // The run's own change is not stored if its lease was lost before.
    failLate(this.#tasks, task).catch((error: unknown) => this.#onError(error, { during: 'execute', taskId }))
  }

  /** Shuts a run down. A task that waits for the user stays as it is: another process may receive the answer. */
  shutDown(active: ActiveRun<P>): void {
    const { run } = active
    if (run.isTerminal) return
    if (run.createdId === undefined || !isInterrupted(run.task.state)) this.failTask(active, SHUT_DOWN)
  }

  /** Fails the task without a message, which may have exceeded the conversation's limit. */
  #failSilently(active: ActiveRun<P>): void {
    try {
      active.run.fail()
    } catch (error) {
      // The task cannot be created or changed at all.
      active.run.response.reject(error as Error)
      active.break(error as Error)
    }
  }
}

/** Whether the manager had no room for the task of the run or for its first message. The client reads that as its response. */
export function isRefusedTask<P extends Principal>({ task }: ActiveRun<P>, error: unknown): boolean {
  return task === undefined && A2AError.is(error) && ROOM.has(error.code)
}

/** Whether the run could not create its task, because there is one with the id of the request. */
function isIdTaken<P extends Principal>({ run, message }: ActiveRun<P>, error: unknown): error is A2AError {
  if (run.createdId !== undefined || !A2AError.is(error, 'INVALID_PARAMS')) return false
  return error.data.path === 'id' && error.data.reason === `is taken: ${message.request.chosenId ?? ''}`
}
