/**
 * Tasks as KAOS has them: a text goes in, and what comes back is the task that is done.
 *
 * @module
 */
import type { Task } from '../../core/task.js'

export interface SessionMessageOptions {
  /** The conversation that the text belongs to, the task's `contextId`. Default is a new one. */
  readonly sessionId?: string | undefined
  /** A JSON object that is kept with the task. Default is `{}`. */
  readonly metadata?: object | undefined
  /** To whom the task belongs: its `owner`. With `authenticate`, clients find only tasks that have theirs. */
  readonly owner?: string | undefined
}

export interface CompletionOptions {
  /** How long to wait, in ms; 0 does not wait. Default is `60_000` (a minute). */
  readonly timeoutMs?: number | undefined
  /** Gives up with `WAIT_ABORTED` when it aborts. */
  readonly signal?: AbortSignal | undefined
}

/** What `createTaskManagerHandler` serves: `LocalTaskManager`, `NullTaskManager`, or one of your own. */
export interface SessionTaskManager {
  /** Whether a task can be asked for after it was answered. Cards say so as `stateTransitionHistory`. */
  readonly keepsTasks: boolean
  /** Works on the text. Resolves with the task when it has ended, whether it went well or not: look at its `state`. */
  sendMessage(text: string, options?: SessionMessageOptions): Promise<Task>
  /** A copy of the task; `null` when there is none. */
  getTask(taskId: string): Promise<Task | null>
  /** Cancels the task. `false` when there is none, or it has ended. */
  cancelTask(taskId: string): Promise<boolean>
  /** Resolves with the task when it has ended, or as it is when the time is up; with `null` when there is none. */
  waitForCompletion(taskId: string, options?: CompletionOptions): Promise<Task | null>
  /**
   * Ends all work, and takes no more. Never rejects. `graceMs` is what is left, in ms, to a handler that closes, which
   * waits no longer.
   */
  shutdown(options?: { readonly graceMs?: number | undefined }): Promise<void>
}
