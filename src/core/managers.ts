/**
 * Interfaces of task managers, for code that serves, observes or works on the tasks of any manager.
 *
 * `TaskManager` implements {@link LocalTasks}, `DurableTaskManager` implements {@link SharedTasks}, and your own managers
 * may implement either.
 *
 * @module
 */
import type { Artifact, DeepReadonly, TaskKey, Task, TaskSnapshot } from './task.js'
import type { JsonValue } from './json-types.js'
import type { ListenerOf } from './emitter.js'
import type { ArtifactChanged, JournalEntry, JournalRecorded, MessageAdded } from './events.js'
import type { TaskEvent, TaskEvents, TaskStreamEvent } from './events.js'
import type { Lifecycle, TaskState } from './lifecycle.js'
import type { AppendArtifactOptions, ArtifactInput, CancelOptions, ChangeOptions } from './params.js'
import type { CreateTaskParams, JournalChange, MessageInput, TaskUpdate } from './params.js'
import type { OwnerFilter, TaskFilter, TaskPage, TaskQuery } from './queries.js'
import type { SubscribeOptions, TaskSubscription } from './subscription.js'
import type { TraceHeaders } from '../runtime/trace-headers.js'
import type { WaitOptions } from './wait.js'

/** A value from memory, or a promise of a value from a store. */
export type MaybePromise<T> = T | Promise<T>

/** Reading tasks, following them, and listening to the changes that this manager makes. */
export interface TaskReader<S extends string = TaskState> {
  readonly lifecycle: Lifecycle<S>
  /** The age in ms at which a task that has not ended fails. `Infinity` for none. */
  readonly taskTimeoutMs?: number

  /** A copy of the task; `null` when there is none. */
  getTask(taskId: string): MaybePromise<Task<S> | null>
  /** The task, frozen; `null` when there is none, or when it belongs to another owner than `filter` names. */
  peekTask(taskId: string, filter?: OwnerFilter): MaybePromise<TaskSnapshot<S> | null>
  /** The task's state; `null` when there is no such task. */
  stateOf(taskId: string): MaybePromise<S | null>
  /** Whether the lifecycle lets the task move to `state` now. `false` when there is no such task. */
  can(taskId: string, state: S): MaybePromise<boolean>

  /** Copies of all matching tasks, oldest first, and in the order of their ids where they are of the same millisecond. */
  listTasks(filter?: TaskFilter<S> | null): MaybePromise<Task<S>[]>
  /**
   * One page of the matching tasks, frozen: latest change first, and in descending order of their ids where they changed in
   * the same millisecond.
   */
  pageTasks(query?: TaskQuery<S> | null): MaybePromise<TaskPage<S>>
  countTasks(filter?: TaskFilter<S> | null): MaybePromise<number>
  size(): MaybePromise<number>

  /** The events after the generation `after` (default `0`: all), oldest first, or one `resync` entry in their place. */
  events(
    taskId: string,
    options?: { readonly after?: number | undefined },
  ): MaybePromise<TaskStreamEvent<S>[]>
  /** The events after a cursor without gap or repetition, or a snapshot and the events after it. */
  subscribe(taskId: string, options?: SubscribeOptions): TaskSubscription<S>
  /** Resolves with a copy of the task once it meets `until` (default: its end), and in any case when it has ended. */
  waitFor(taskId: string, options?: WaitOptions<S>): Promise<Task<S>>
  /** A signal that aborts when work on the task is no longer wanted. Its reason is an `A2AError`. */
  signalOf(taskId: string): MaybePromise<AbortSignal>

  on<E extends keyof TaskEvents<S>>(event: E, listener: ListenerOf<S, E>): unknown
  off<E extends keyof TaskEvents<S>>(event: E, listener: ListenerOf<S, E>): unknown
}

/** Changing tasks. Each change is checked as a whole and then applied; a refused one changes nothing. */
export interface TaskWriter<S extends string = TaskState> {
  createTask(params: CreateTaskParams): MaybePromise<Task<S>>
  /** Changes a task and returns a copy of it. */
  updateTask(taskId: string, update: TaskUpdate<S>): MaybePromise<Task<S>>
  /** As {@link updateTask}, without the cost of a copy. */
  patchTask(taskId: string, update: TaskUpdate<S>): MaybePromise<void>
  cancelTask(taskId: string, options?: CancelOptions): MaybePromise<Task<S>>
  appendArtifact(
    taskId: string,
    artifact: ArtifactInput,
    options?: AppendArtifactOptions,
  ): MaybePromise<ArtifactChanged>
  addMessage(taskId: string, message: MessageInput, options?: ChangeOptions): MaybePromise<MessageAdded>
  /**
   * Sends a value to the code of a task, which receives it by `run.waitFor(name)`, in whichever process it runs. Signals
   * of one name are received in their order. Those that come before the code waits for them are kept: at most 1,000, and
   * 1 MiB of JSON.
   *
   * @param name - A text of 1 to 200 characters.
   * @param value - What a step may return. Default is `null`.
   * @throws {A2AError} `TASK_NOT_FOUND`; `TASK_TERMINAL`; `INVALID_PARAMS`; `LIMIT_EXCEEDED`.
   */
  signal(taskId: string, name: string, value?: unknown): MaybePromise<void>
  /**
   * Removes a task that has ended, with its log and its documents, as retention does. Emits `task:expired`.
   *
   * @throws {A2AError} `TASK_NOT_FOUND`, also when another call removes it first; `INVALID_TRANSITION` for a task that has
   *   not ended: cancel it first.
   */
  deleteTask(taskId: string): MaybePromise<void>
}

/** The methods that running code needs. They take effect in this process before they return. */
export interface SyncTasks<S extends string = TaskState> {
  /** @param note - What a process that recovers the task needs to know. A local manager ignores it. */
  createTask(params: CreateTaskParams, note?: JsonValue): Task<S>
  addMessage(taskId: string, message: MessageInput, options?: ChangeOptions): MessageAdded
  patchTask(taskId: string, update: TaskUpdate<S>): void
  appendArtifact(taskId: string, artifact: ArtifactInput, options?: AppendArtifactOptions): ArtifactChanged
  can(taskId: string, state: S): boolean
  peekTask(taskId: string): TaskSnapshot<S> | null
  signalOf(taskId: string): AbortSignal
}

/** Tasks whose turn has not ended, although no code works on them: restored ones, and forks. */
export interface UnfinishedTasks {
  /**
   * Registers what continues turns, and hands it those that wait. The first listener continues all.
   *
   * @returns A function that removes the listener.
   */
  listen(listener: UnfinishedListener): () => void
  /**
   * The artifacts that the turn of the task has written since the latest entry of its journal, by id: what they held then;
   * `null` for those that it created.
   */
  rewritten(taskId: string): ReadonlyMap<string, DeepReadonly<Artifact> | null>
}

/** Continues turns whose code is not in memory. */
export type UnfinishedListener = (taskId: string) => void

/** A manager whose tasks live in the memory of this process. */
export interface LocalTasks<S extends string = TaskState>
  extends SyncTasks<S>, Omit<TaskReader<S> & TaskWriter<S>, keyof SyncTasks> {
  peekTask(taskId: string, filter?: OwnerFilter): TaskSnapshot<S> | null
  /**
   * Marks the oldest signal that the code has not received as received.
   *
   * @param wait - The name of the signal with the occurrence of the wait: `approval#1`.
   * @returns The value; `undefined` when there is no such signal.
   */
  receive(taskId: string, wait: string): unknown
  /** As that of {@link LeasedTasks}. Without it, runs have no journal. */
  recordJournal?(taskId: string, entries: readonly JournalEntry[], change?: JournalChange<S>): void
  /** The entries of the task's journal, oldest first, frozen. */
  journal?(taskId: string): JournalRecorded[]
  /** Unfinished turns. Without them, those of restored tasks and of forks do not continue. */
  readonly unfinished?: UnfinishedTasks
}

/** One JSON value that belongs to a task. */
export interface TaskDocument {
  readonly key: TaskKey
  /** The purpose of the document. Documents of different kinds are independent. */
  readonly kind: string
  /** Unique among the task's documents of this kind. */
  readonly id: string
  readonly value: JsonValue
  /** 1 when the document is created, one more with every write. */
  readonly version: number
}

/** The position of a document among those of its kind, for {@link TaskDocuments.allDocuments}. */
export type DocumentCursor = { readonly taskId: string; readonly createdAt: string; readonly id: string }

/** Documents with optimistic concurrency: a write names the version that it replaces. */
export interface TaskDocuments {
  /**
   * Creates the document (`expectedVersion` 0) or replaces the version `expectedVersion`.
   *
   * @returns `false`, with nothing changed, when the document is at another version, or there is no such task.
   */
  putDocument(
    document: Pick<TaskDocument, 'key' | 'kind' | 'id' | 'value'>,
    expectedVersion: number,
  ): Promise<boolean>
  /** @returns `false` when there was no such document. */
  deleteDocument(document: Pick<TaskDocument, 'key' | 'kind' | 'id'>): Promise<boolean>
  /** The documents of one task and kind, in the order of their ids. Empty when there is no such task. */
  documents(key: TaskKey, kind: string): Promise<readonly TaskDocument[]>
  /**
   * One page of the documents of all tasks, in a fixed order of the store's choice.
   *
   * @param after - The position of the last document that was read; `undefined` for the first page.
   */
  allDocuments(
    kind: string,
    after: DocumentCursor | undefined,
    limit: number,
  ): Promise<readonly TaskDocument[]>
}

/** A manager whose tasks live in a store that other processes may share. */
export interface SharedTasks<S extends string = TaskState> extends TaskReader<S>, TaskWriter<S> {
  /** Documents beside the tasks, in the same store. */
  readonly documents: TaskDocuments
  /**
   * The task, frozen, as this process last read it, without a request to the store. Available while this process works on
   * the task, waits for it or reads its events.
   */
  lastSeen(taskId: string): TaskSnapshot<S> | undefined
  /** The entries of the task's journal, oldest first, frozen. Empty for a task without one. */
  journal(taskId: string): Promise<JournalRecorded[]>
  /** Lets this process work on tasks under leases. The listener receives what other processes do to them. */
  lease(listener: LeasedTasksListener<S>): LeasedTasks<S>
  /**
   * The leases of this process that include the task's, for code that works on the task within the work of their holder;
   * `undefined` when this process does not hold the task.
   */
  leasesOf(taskId: string): LeasedTasks<S> | undefined
  /**
   * Follows which tasks this process holds, beside the events of {@link TaskReader.on}. Tasks that are held already are
   * announced at once.
   *
   * @returns A function that removes the observer.
   */
  observe(observer: TasksObserver<S>): () => void
  /** What this process holds and follows. O(tasks in use), without a request to the store. */
  stats(): SharedTasksStats
  /** What waits for workers in the store, and what all processes do. Absent where the manager cannot tell. */
  backlog?(): Promise<Backlog>
}

/** The turns of a store that wait and that are under way, over all processes. */
export interface Backlog {
  /**
   * How many turns wait for a process that does them: those that were handed out over the store, and those whose process has
   * died. At most 10,000 are counted. A turn that only waits, for a time, a signal, an answer or another agent, does not count.
   */
  readonly waiting: number
  /**
   * For how long the first of them has waited, with the head start of its priority, in ms. 0 when none waits. A turn that a signal
   * continues comes before all others, and does not count here.
   */
  readonly oldestMs: number
  /** How many tasks a process holds, by a lease that has not expired. At most 10,000 are counted. */
  readonly busy: number
}

/** The state of one process that shares tasks with others. */
export interface SharedTasksStats {
  /** How many leases this process holds. */
  readonly leases: number
  /**
   * How old this process's view of the tasks in use is at most, in ms: the time since the last comparison with the store
   * that succeeded. 0 while no task is in use. Without failures of the store it stays near `pollIntervalMs`.
   */
  readonly logLagMs: number
}

/** Calls `announce` once, in a context of the observer's choice. */
export type Announce = (announce: () => void) => void

/** Receives what a shared manager does not emit, for telemetry. What a method throws becomes an uncaught error. */
export interface TasksObserver<S extends string = TaskState> {
  /**
   * Called where this process makes a change, before it is stored. The returned function calls `announce`, which emits the
   * events of the change after it is stored.
   */
  bind(): Announce
  /**
   * The trace of the caller, to be stored with the lease of a task. More than 1,024 characters are not stored.
   */
  trace?(): TraceHeaders | undefined
  /** Calls `work`, which continues the work of a process that has died, once, in the trace that was stored. */
  within?(trace: TraceHeaders, work: () => void): void
  /**
   * This process now holds the lease of a task that existed before.
   *
   * @param isRequested - Whether a caller asked for the lease. Otherwise maintenance recovered the task.
   * @param trace - The trace that was stored with the lease of the process that has died.
   */
  onHeld(task: TaskSnapshot<S>, isRequested: boolean, trace?: TraceHeaders): void
  /** Changes that other processes made to a task have been read. */
  onRead(key: TaskKey, events: readonly TaskEvent<S>[]): void
  /**
   * This process has released or lost the lease of the task, or no longer has the task in memory.
   *
   * @param reason - The reason of a loss or a removal.
   */
  onLetGo(key: TaskKey, reason: Error | undefined): void
  onDestroyed(): void
}

/**
 * The result of {@link LeasedTasks.acquire}. `'acquired'`: this process holds the lease. `'elsewhere'`: another process
 * does, and `leaseId` is its lease.
 */
export type AcquireResult<S extends string = TaskState> =
  | { readonly type: 'acquired'; readonly task: TaskSnapshot<S>; readonly leaseId: string }
  | { readonly type: 'elsewhere'; readonly leaseId: string }

/** Receives what happens to leased tasks from outside. What a method throws becomes an uncaught error. */
export interface LeasedTasksListener<S extends string = TaskState> {
  /**
   * The name of the work that this listener does, which is stored with its leases. Tasks of a process that has died are
   * recovered by listeners with the same name only. Default is the name of request handlers, `''`.
   */
  readonly worker?: string | undefined
  /**
   * Another caller has changed a task that this process holds: it added a message, or canceled the task. Called after the
   * change is stored.
   */
  onNews(task: TaskSnapshot<S>, events: readonly TaskEvent<S>[]): void
  /**
   * This process no longer holds the task: its lease was lost, or the store refused a change for good. Changes that
   * were not stored are dropped. The task's signal has aborted with the same reason.
   */
  onLost(taskId: string, reason: Error): void
  /**
   * With `recover: 'resume'`: the process that worked on the task has died, and this process now holds its lease. `note`
   * is the last one that the dead process stored.
   */
  onOrphan(task: TaskSnapshot<S>, note: JsonValue | undefined): void
  /**
   * Whether this process can work on one more recovered task. Called before its lease is acquired, so that another process
   * can recover the task instead. Default is always `true`.
   */
  hasRoom?(): boolean
}

/**
 * Work on the tasks whose leases this process holds.
 *
 * Changes take effect in this process at once and are stored afterwards, in their order; other processes see what is
 * stored. The methods throw what those of `TaskManager` throw, and `TASK_NOT_FOUND` for tasks that this process does not
 * hold. A change that another caller's change makes illegal before it is stored is dropped. A task that has ended is held
 * until it is released.
 */
export interface LeasedTasks<S extends string = TaskState> extends SyncTasks<S> {
  /**
   * Creates a task and holds its lease. When the id turns out to be in use, {@link stored} rejects.
   *
   * @param note - What a process that recovers the task needs to know.
   */
  createTask(params: CreateTaskParams, note?: JsonValue): Task<S>
  /**
   * Holds back the events of a task that was just created until {@link confirm}, or a change of another caller. Until then the
   * task can be discarded.
   */
  propose(taskId: string): void
  /** Emits the events of a proposed task that were held back. */
  confirm(taskId: string): void
  /**
   * Removes a proposed task as if it had never been, once its changes are stored. While it does, changes throw
   * `TASK_NOT_FOUND`.
   *
   * @returns `false` when another caller changed the task first: it is not removed, and this process still holds it.
   */
  discard(taskId: string): Promise<boolean>
  /**
   * As {@link patchTask}, unless another caller changes the task before the update is stored.
   *
   * @returns `false` when another change came first: nothing has changed, and `onNews` has received that change.
   */
  finish(taskId: string, update: TaskUpdate<S>): Promise<boolean>
  /**
   * Adds entries to the journal of the task's turn, with the message and the update that belong to them, in one change.
   */
  recordJournal(taskId: string, entries: readonly JournalEntry[], change?: JournalChange<S>): void
  /**
   * Does work with the client of the store, and adds the entry that it results in to the journal, in one transaction. Stored
   * after the changes made so far, before later ones. Absent where the store has no transactions.
   *
   * @param entry - The entry as far as it is known before.
   * @param work - Called again after a conflict, which undoes what it did.
   * @returns The entry that is stored. Rejects, with nothing stored, with what the work throws.
   */
  readonly transact?:
    | ((
        taskId: string,
        entry: JournalEntry,
        work: (client: unknown) => MaybePromise<JournalEntry>,
      ) => Promise<JournalEntry>)
    | undefined
  /** The task as this process sees it, with changes that are not stored yet; `null` when it does not hold the task. */
  peekTask(taskId: string): TaskSnapshot<S> | null
  /** The state of the task that {@link peekTask} returns, without the cost of a snapshot. */
  stateOf(taskId: string): S | null
  /** Aborts when the task is canceled or times out, in whichever process, and when it is removed or lost. */
  signalOf(taskId: string): AbortSignal

  /**
   * Acquires the lease of a task that no process holds. A task whose holder has died is recovered first: `onOrphan` is
   * called before this resolves, or the task has failed. Resolves to `acquired` when this process holds the task already.
   * `onNews` receives the messages that others send under the lease from the moment it is granted, perhaps before this
   * resolves.
   *
   * @param note - What a process that recovers the task needs to know.
   * @throws {A2AError} As a rejection: `TASK_NOT_FOUND`; `TASK_TERMINAL`; `STORE_FAILED`.
   */
  acquire(taskId: string, note?: JsonValue): Promise<AcquireResult<S>>
  /** As {@link acquire}, also of a task that waits for a time or a signal, or was handed out. */
  take(taskId: string): Promise<AcquireResult<S>>
  /**
   * Adds a message to a task for the holder of the lease `leaseId` to answer, and resolves when it is stored. A task that
   * waits for input moves to `working`. The holder, this process or another, receives the message by `onNews`.
   *
   * @param seen - The task that the message answers.
   * @returns `false`, with nothing changed, when the task has changed since `seen`, or has another lease.
   */
  send(seen: TaskSnapshot<S>, leaseId: string, message: MessageInput): Promise<boolean>
  /**
   * Renews a lease that is so old that it may have expired. Waits while the store takes no changes. Rejects with the reason
   * if another process has the task by now, or the store refuses for good: then the task is lost.
   */
  requireLease(taskId: string): Promise<void> | undefined
  /**
   * Resolves when every change that this process has made to the task is stored, or was dropped because another caller has
   * ended the task. Resolves for a task that this process never held. Rejects with the reason of
   * {@link LeasedTasksListener.onLost} when the task is or was lost, until it is released or held again. The reasons of the
   * last 1,000 lost tasks are kept.
   */
  stored(taskId: string): Promise<void>
  /**
   * Replaces what a process that recovers the task needs to know. Stored after the changes made so far; a failure is
   * reported to `onError`, and a recovering process then finds an older note. A new note resets the count of restarts.
   */
  setNote(taskId: string, note: JsonValue): void
  /**
   * Releases the lease once every change is stored. While it does, changes throw `TASK_NOT_FOUND`.
   *
   * @param wakeInMs - The time after which a sweep of any process continues the work, as if this process had died then. Until
   *   then no process holds the task, and {@link acquire} resolves to `elsewhere`.
   * @param priorityMs - After that time the task counts as if it had waited for so much longer, as in {@link handOut}, if this
   *   process still lives then. Default is 0.
   * @returns `false` when another caller changed the task first: `onNews` has received the change, and this process still
   *   holds the task.
   */
  release(taskId: string, wakeInMs?: number, priorityMs?: number): Promise<boolean>
  /**
   * As {@link release}, of a task whose work is to be done: another process takes it. This is not one of its restarts.
   *
   * @param inMs - When a sweep finds the task, in ms from now, if no process has taken it by then. A positive time doubles each
   *   time that the task is handed out as it was, up to an hour. Tasks that a sweep finds are in the order of this time, so a
   *   negative one is a head start. Default is 0. Unless it is positive, processes that {@link takeDue} are told.
   */
  handOut(taskId: string, inMs?: number): Promise<boolean>
  /** Has a sweep find a task `inMs` from now that was handed out, if no process has taken it. */
  handOutSoon(key: TaskKey, inMs: number): Promise<void>
  /**
   * Has this process look for work that no process does, as sweeps do, for as long as {@link LeasedTasksListener.hasRoom}. From
   * now on it also looks when another process hands a task out, where the store has hints.
   */
  takeDue(): void
  /** Whether {@link close} hands unfinished tasks over: another process restarts the work on them. */
  readonly handsOver: boolean
  /**
   * Stops renewing all leases, and releases those of tasks that have ended or wait for input. The leases of other tasks
   * expire: at once if {@link handsOver}, which does not count as a restart, and in their time otherwise.
   */
  close(): Promise<void>
}
