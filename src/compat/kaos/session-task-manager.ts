/**
 * The port of KAOS' task managers: a text in, the finished task out.
 *
 * @module
 */
import type { Task } from '../../core/task.js'

/** Options of `sendMessage`. */
export interface SessionMessageOptions {
  /** The conversation of the text: the task's `contextId`. Default is a new one. */
  readonly sessionId?: string | undefined
  /** A JSON object to store with the task. Default is `{}`. */
  readonly metadata?: object | undefined
  /** The task's `owner`. With `authenticate`, clients find only their own tasks. */
  readonly owner?: string | undefined
  /**
   * Called with each piece of the answer, as it is made. A manager of your own may ignore it: a stream then has the answer in one
   * piece.
   */
  readonly onText?:
    ((text: string, task: { readonly id: string; readonly contextId: string }) => void) | undefined
}

/** Options of `waitForCompletion`. */
export interface CompletionOptions {
  /** Time limit, in ms; `0` does not wait. Default is `60_000` (1 minute). */
  readonly timeoutMs?: number | undefined
  /** Rejects the wait with `WAIT_ABORTED` when it aborts. */
  readonly signal?: AbortSignal | undefined
}

/** The task manager of `createTaskManagerHandler`: `LocalTaskManager`, `NullTaskManager`, or your own. */
export interface SessionTaskManager {
  /** Whether `getTask` finds tasks that have ended. Cards show it as `stateTransitionHistory`. */
  readonly keepsTasks: boolean
  /** Works on the text. Resolves with the ended task, whether it succeeded or failed: check its `state`. */
  sendMessage(text: string, options?: SessionMessageOptions): Promise<Task>
  /** A copy of the task; `null` when there is none. */
  getTask(taskId: string): Promise<Task | null>
  /** Cancels the task. Resolves to `false` when there is none, or it has ended. */
  cancelTask(taskId: string): Promise<boolean>
  /** Waits for the task to end. Resolves with the current task at the time limit, and with `null` when there is none. */
  waitForCompletion(taskId: string, options?: CompletionOptions): Promise<Task | null>
  /**
   * Ends all work and refuses more. Must not reject. `graceMs` is the time that a closing handler has left, in ms: it waits
   * no longer.
   */
  shutdown(options?: { readonly graceMs?: number | undefined }): Promise<void>
}
