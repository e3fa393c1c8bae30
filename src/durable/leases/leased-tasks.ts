/**
 * The tasks that this process works on.
 *
 * @module
 */
import type { ArtifactChanged, MessageAdded, TaskEvent } from '../../core/events.js'
import type {
  AppendArtifactOptions,
  ArtifactInput,
  ChangeOptions,
  CreateTaskParams,
  MessageInput,
  TaskUpdate,
} from '../../core/params.js'
import type { TaskState } from '../../core/lifecycle.js'
import type { JsonValue, Task, TaskSnapshot } from '../../core/task.js'

/** Whose a task is to work on: from now on this process's, or, under the lease `leaseId`, another's. */
export type Taking<S extends string = TaskState> =
  | { readonly type: 'taken'; readonly task: TaskSnapshot<S>; readonly leaseId: string }
  | { readonly type: 'elsewhere'; readonly leaseId: string }

export interface LeasedTasksListener<S extends string = TaskState> {
  /** Others have changed a task that is held here: a message came, or it was canceled. Told after it is stored. */
  onNews(task: TaskSnapshot<S>, events: readonly TaskEvent<S>[]): void
  /**
   * The task is no longer held here: its lease is lost, or the store took no change for too long. What was not stored is
   * not going to be. Its signal has aborted with the same reason.
   */
  onLost(taskId: string, reason: Error): void
  /** With `recover: 'restart'`: whoever worked on the task has died, and it is held here now. `note` is his latest. */
  onOrphan(task: TaskSnapshot<S>, note: JsonValue | undefined): void
  /** Whether `onOrphan` may be told of one more. Asked before it is taken from whoever else could. Default is always. */
  hasRoom?(): boolean
}

/**
 * The changing methods of a `TaskManager`, for the tasks whose lease this process holds: they change the task in its own
 * eyes at once, and are stored after, in their order. Others see what is stored. What they throw is as there, but for
 * ids that are not held here: `TASK_NOT_FOUND`. A change that is overtaken by somebody else's, and may not be made any more
 * then, is left out. A task that has ended is held until it is released.
 */
export interface LeasedTasks<S extends string = TaskState> {
  /** Creates a task that is held here. That its id is taken is told by {@link stored}. */
  createTask(params: CreateTaskParams, note?: JsonValue): Task<S>
  addMessage(taskId: string, message: MessageInput, options?: ChangeOptions): MessageAdded
  patchTask(taskId: string, update: TaskUpdate<S>): void
  appendArtifact(taskId: string, artifact: ArtifactInput, options?: AppendArtifactOptions): ArtifactChanged
  /**
   * As {@link patchTask}, unless others have changed the task before it is stored: then nothing has changed, `onNews` has
   * been told, and it resolves to `false`.
   */
  finish(taskId: string, update: TaskUpdate<S>): Promise<boolean>
  can(taskId: string, state: S): boolean
  /** As this process sees it. `null` when it is not held here. */
  peekTask(taskId: string): TaskSnapshot<S> | null
  /** Aborts when the task is canceled or times out, wherever that happened, is removed, or is lost. */
  signalOf(taskId: string): AbortSignal

  /**
   * Takes the lease of a task that nobody holds. One whose holder has died is recovered first: `onOrphan` is told of it
   * before this resolves, or it has failed. Held here already: `taken`. What others send under the lease from the
   * moment on at which it was granted is told to `onNews`, which may come before this resolves.
   *
   * @throws {A2AError} As a rejection: `TASK_NOT_FOUND`; `TASK_TERMINAL`; `STORE_FAILED`.
   */
  take(taskId: string, note?: JsonValue): Promise<Taking<S>>
  /**
   * Adds a message to a task that is held, for its holder to answer, and resolves when that is stored; a task that waits
   * goes on as `working`. The holder, this process or another, hears of it by `onNews`.
   *
   * @returns `false`, and nothing has changed, when the task has changed since `seen`, or its lease is another by now.
   */
  send(seen: TaskSnapshot<S>, leaseId: string, message: MessageInput): Promise<boolean>
  /**
   * Resolves when all that was done to the task here so far is stored, or was overtaken: somebody else has ended the
   * task. Rejects with the reason of {@link LeasedTasksListener.onLost} when it is lost meanwhile, or was lost before and
   * has been neither released nor held again since: of so many tasks that is remembered. Resolves for what was never held.
   */
  stored(taskId: string): Promise<void>
  /**
   * What whoever has to do the work again needs to know from now on, in place of what was given before. Stored after what
   * was done so far, and told to `onError` where that fails: who comes then finds an older one. Restarts are counted from
   * here, unless the note is the one that there is.
   */
  setNote(taskId: string, note: JsonValue): void
  /**
   * Gives the lease back, once all is stored. `false` when there is news first, which `onNews` has been told: still held.
   * Meanwhile no change is taken: `TASK_NOT_FOUND`.
   */
  release(taskId: string): Promise<boolean>
  /** Ends the heartbeat of all leases, and lets go those of tasks that have ended or wait; others run out. */
  close(): Promise<void>
}
