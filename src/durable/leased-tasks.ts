/**
 * The tasks that this process works on.
 *
 * @module
 */
import type { ArtifactChanged, MessageAdded, TaskEvent } from '../core/events.js'
import type {
  AppendArtifactOptions,
  ArtifactInput,
  CreateTaskParams,
  MessageInput,
  TaskUpdate,
} from '../core/params.js'
import type { JsonValue, Task, TaskSnapshot } from '../core/task.js'

/** Whose a task is to work on: from now on this process's, or, under the lease `leaseId`, another's. */
export type Taking =
  | { readonly type: 'taken'; readonly task: TaskSnapshot }
  | { readonly type: 'elsewhere'; readonly leaseId: string }

export interface LeasedTasksListener {
  /** Others have changed a task that is held here: a message came, or it was canceled. Told after it is stored. */
  onNews(task: TaskSnapshot, events: readonly TaskEvent[]): void
  /**
   * The task is no longer held here: its lease is lost, or the store took no change for too long. What was not stored is
   * not going to be. Its signal has aborted with the same reason.
   */
  onLost(taskId: string, reason: Error): void
  /** With `recover: 'restart'`: whoever worked on the task has died, and it is held here now. */
  onOrphan(task: TaskSnapshot, note: JsonValue | undefined): void
}

/**
 * The changing methods of a `TaskManager`, for the tasks whose lease this process holds: they change the task in its own
 * eyes at once, and are stored after, in their order. Others see what is stored. What they throw is as there, but for
 * ids that are not held here: `TASK_NOT_FOUND`.
 */
export interface LeasedTasks {
  /** Creates a task that is held here. That its id is taken is told by {@link stored}. */
  createTask(params: CreateTaskParams, note?: JsonValue): Task
  addMessage(taskId: string, message: MessageInput): MessageAdded
  patchTask(taskId: string, update: TaskUpdate): void
  appendArtifact(taskId: string, artifact: ArtifactInput, options?: AppendArtifactOptions): ArtifactChanged
  can(taskId: string, state: TaskSnapshot['state']): boolean
  /** As this process sees it. `null` when it is not held here. */
  peekTask(taskId: string): TaskSnapshot | null
  /** Aborts when the task is canceled or times out, wherever that happened, is removed, or is lost. */
  signalOf(taskId: string): AbortSignal

  /**
   * Takes the lease of a task that nobody holds. Held here already: `taken`.
   *
   * @throws {A2AError} As a rejection: `TASK_NOT_FOUND`; `TASK_TERMINAL`; `STORE_FAILED`.
   */
  take(taskId: string, note?: JsonValue): Promise<Taking>
  /**
   * Adds a message to a task that is held elsewhere, for its holder to answer; one that waits goes on as `working`.
   *
   * @returns `false`, and nothing has changed, when the task has changed since `seen`, or its lease is another by now.
   */
  send(seen: TaskSnapshot, leaseId: string, message: MessageInput): Promise<boolean>
  /**
   * Resolves when all that was done to the task here so far is stored, or was overtaken: somebody else has ended the
   * task. Rejects when it is lost: with the reason of {@link LeasedTasksListener.onLost}.
   */
  stored(taskId: string): Promise<void>
  /** Gives the lease back, once all is stored. `false` when there is news first, which `onNews` has been told. */
  release(taskId: string): Promise<boolean>
  /** Ends the heartbeat of all leases, and lets them go. */
  close(): Promise<void>
}
