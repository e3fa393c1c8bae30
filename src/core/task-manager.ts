/**
 * Task manager: tasks in memory, changed by `decide` and `evolve`.
 *
 * @module
 */
import { GIVE_UP, toAppend, toCancel, toCreate, toJournal, toMessage, toSignal } from './commands.js'
import { toUpdate, type TaskCommand } from './commands.js'
import { decide, requireEnded } from './decide.js'
import { TaskEmitter } from './emitter.js'
import { invalidParams } from './errors.js'
import type { ArtifactChanged, JournalEntry, JournalRecorded, MessageAdded } from './events.js'
import type { NewLog, TaskEvent, TaskStreamEvent } from './events.js'
import { createdEvent } from './events.js'
import { receivedEntry } from './evolve.js'
import { LocalFeed } from './feed/local-feed.js'
import { freezeDeep, type Size } from './json.js'
import { canTransition, isTerminal, type Lifecycle, type TaskState } from './lifecycle.js'
import type { LocalTasks, UnfinishedTasks } from './managers.js'
import { toSettings, type Settings, type TaskManagerOptions } from './options.js'
import type { AppendArtifactOptions, ArtifactInput, CancelOptions, ChangeOptions } from './params.js'
import type { CreateTaskParams, JournalChange, MessageInput, TaskUpdate } from './params.js'
import { isOwnedBy, toFilter, toPageQuery } from './queries.js'
import type { OwnerFilter, TaskFilter, TaskPage, TaskQuery } from './queries.js'
import { givePort, type AddedTask } from './port.js'
import { UnfinishedTurns } from './saved/unfinished.js'
import { Retention } from './retention.js'
import { entriesAfter, subscribeTo, type SubscribeOptions, type TaskSubscription } from './subscription.js'
import { costOfNew } from './sizes.js'
import { recordOf, type TaskRecord } from './task-record.js'
import { TaskTable } from './task-table.js'
import { restored } from './tagged-json.js'
import type { Task, TaskSnapshot } from './task.js'
import { Timeline, type Instant } from './timeline.js'
import { waitFor, type WaitOptions, rejectWatchers, signalOf, notifyWatchers } from './wait.js'

/**
 * Manages the lifecycle of tasks in the memory of this process.
 *
 * Every change is checked as a whole, then applied, then delivered to listeners, subscribers and waiters. A refused
 * change has no effect. Parameters are copied. Returned tasks are copies that the caller owns; snapshots of `peekTask`
 * and `pageTasks` and events are frozen and shared. Methods throw `TASK_NOT_FOUND` for an unknown id, except those that
 * return `null` or `false` for it.
 *
 * @throws {RangeError | TypeError} from the constructor, with the name of the invalid option.
 * @example
 * const tasks = new TaskManager({ maxTasks: 500 })
 * const task = tasks.createTask({ skill: 'summarize', input: { url: 'https://example.com' } })
 * tasks.updateTask(task.id, { state: 'working', message: 'Reading' })
 * tasks.patchTask(task.id, { state: 'completed', output: { summary: '…' } })
 */
export class TaskManager<S extends string = TaskState> extends TaskEmitter<S> implements LocalTasks<S> {
  readonly #settings: Settings<S>
  readonly #table: TaskTable<S>
  readonly #timeline: Timeline
  readonly #retention: Retention<S>
  readonly #unfinished = new UnfinishedTurns<S>((taskId) => this.#table.recordOf(taskId))
  /** Turns of restored tasks and of forks, for request handlers. */
  readonly unfinished: UnfinishedTasks = this.#unfinished
  /** The states of this manager's tasks, and the transitions between them. */
  readonly lifecycle: Lifecycle<S>
  /** The age in ms at which a task that has not ended fails. `Infinity` for none. */
  readonly taskTimeoutMs: number
  readonly #isTerminal = (state: S): boolean => isTerminal(state, this.lifecycle)

  constructor(options?: TaskManagerOptions<S> | null) {
    super()
    this.#settings = toSettings(options ?? {})
    this.lifecycle = this.#settings.lifecycle
    this.taskTimeoutMs = this.#settings.taskTimeoutMs
    this.#timeline = new Timeline(this.#settings.clock)
    const feed = this.#settings.feedSize > 0 ? new LocalFeed(this.#settings) : undefined
    this.#table = new TaskTable(this.lifecycle, feed)
    this.#retention = new Retention(this.#table, this.#timeline, this.#settings, {
      expire: (record) => this.#expire(record),
      evict: (record) => this.#evict(record),
      timeOut: (record) => this.#timeOut(record),
      pruned: () => this.deliver(),
    })
    givePort<S>(this, {
      ...{ settings: this.#settings, limits: new Set(), feed, table: this.#table },
      now: () => this.#timeline.now(),
      add: (added) => this.#addFork(added),
      restore: (records, now) => this.#restore(records, now),
    })
  }

  /**
   * Creates a task in the lifecycle's initial state. Removes expired tasks first. Emits `task:created`.
   *
   * @returns A copy of the task.
   * @throws {A2AError} `INVALID_PARAMS` when the skill is missing, a value is not JSON, or another task has the id;
   *   `LIMIT_EXCEEDED` when input and metadata exceed `maxInputSize`; `TASK_LIMIT_REACHED`.
   */
  createTask(params: CreateTaskParams): Task<S> {
    const command = toCreate(params, this.#settings)
    try {
      const log = (iso: string): NewLog<S> => [createdEvent(command, this.lifecycle.initial, iso)]
      return this.#add(log, costOfNew(command)).copy()
    } finally {
      this.deliver()
    }
  }

  /**
   * Changes the state, output, artifacts and status message of a task atomically. Without a `state` the update reports
   * progress. Emits `task:stateChange` when the state changes, and `task:updated`.
   *
   * @returns A copy of the task after this change.
   * @throws {A2AError} `TASK_NOT_FOUND`; `TASK_TERMINAL`; `INVALID_TRANSITION`, also for the present state;
   *   `TASK_GENERATION_MISMATCH`; `INVALID_PARAMS`; `LIMIT_EXCEEDED`.
   */
  updateTask(taskId: string, update: TaskUpdate<S>): Task<S> {
    return this.#change(taskId, toUpdate(update, this.#settings), copyOf<S>)
  }

  /** As {@link updateTask}, without a copy: costs O(size of the change), whatever the size of the task. */
  patchTask(taskId: string, update: TaskUpdate<S>): void {
    this.#change(taskId, toUpdate(update, this.#settings, 'patchTask'))
  }

  /**
   * Moves a task to `canceled` and aborts its signal (A2A 1.0 §3.1.5). Emits `task:stateChange` and `task:updated`.
   *
   * @returns A copy of the canceled task.
   * @throws {A2AError} `TASK_NOT_FOUND`; `TASK_NOT_CANCELABLE` when the task has ended; `TASK_GENERATION_MISMATCH`.
   */
  cancelTask(taskId: string, options: CancelOptions = {}): Task<S> {
    return this.#change(taskId, toCancel(options, this.#settings), copyOf<S>)
  }

  /**
   * Adds a chunk to the artifact with the same `artifactId`: appends its `parts`, merges its `metadata`, and overwrites
   * other properties. Creates the artifact if the task does not have it, and generates an id for an artifact without
   * one. Costs O(size of the chunk), whatever the size of the artifact. Emits `task:artifact` and `task:updated`.
   *
   * @returns The log entry, frozen.
   * @throws {A2AError} As {@link updateTask}, except `INVALID_TRANSITION`.
   * @see A2A 1.0 §4.2.2
   */
  appendArtifact(taskId: string, artifact: ArtifactInput, options?: AppendArtifactOptions): ArtifactChanged {
    return this.#change(taskId, toAppend(artifact, options, this.#settings), firstOf<S>) as ArtifactChanged
  }

  /**
   * Adds a message to the conversation. Returns the log entry, frozen. Emits `task:message` and `task:updated`.
   *
   * @throws {A2AError} As {@link updateTask}, except `INVALID_TRANSITION`.
   */
  addMessage(taskId: string, message: MessageInput, options: ChangeOptions = {}): MessageAdded {
    return this.#change(taskId, toMessage(message, options, this.#settings), firstOf<S>) as MessageAdded
  }

  /** Removes a task that has ended, as `TaskWriter.deleteTask` describes. */
  deleteTask(taskId: string): void {
    const record = this.#table.recordOf(taskId)
    requireEnded(record.task, this.lifecycle)
    this.#expire(record)
    this.deliver()
  }

  /** Sends a value to the code of a task, as `TaskWriter.signal` describes. */
  signal(taskId: string, name: string, value: unknown = null): void {
    this.#change(taskId, toSignal(name, value, this.#settings))
  }

  /** Receives the oldest signal for a wait, as `LocalTasks.receive` describes. */
  receive(taskId: string, wait: string): unknown {
    const entry = receivedEntry(this.#table.recordOf(taskId).task, wait)
    if (entry !== undefined) this.recordJournal(taskId, [entry])
    return entry && restored(entry.value, entry.tagged, 'signal')
  }

  /** Adds entries to the journal of the task's turn, with the message and the update that belong to them. */
  recordJournal(taskId: string, entries: readonly JournalEntry[], change: JournalChange<S> = {}): void {
    this.#change(taskId, toJournal(entries, change, this.#settings))
  }

  /** The entries of the task's journal, oldest first, frozen: what its turns of work have recorded. */
  journal(taskId: string): JournalRecorded[] {
    return this.#table.recordOf(taskId).journal.map(freezeDeep)
  }

  /** A copy of the task; `null` when there is none. Costs O(size of the task). */
  getTask(taskId: string): Task<S> | null {
    const record = this.#table.get(taskId)
    return record === undefined ? null : record.copy()
  }

  /** The task, frozen, the same object until it changes; `null` for none, and for one of another owner than `filter` names. */
  peekTask(taskId: string, filter?: OwnerFilter): TaskSnapshot<S> | null {
    const record = this.#table.get(taskId)
    return record !== undefined && isOwnedBy(record.head, filter) ? record.snapshot() : null
  }

  /** The task's state; `null` when there is no such task. O(1), unlike `peekTask`, which freezes a task. */
  stateOf(taskId: string): S | null {
    return this.#table.get(taskId)?.head.state ?? null
  }

  /** Copies of all matching tasks, oldest first, those of one millisecond by their ids. Costs O(size of the matches). */
  listTasks(filter: TaskFilter<S> | null = {}): Task<S>[] {
    const records = this.#table.select(toFilter(filter ?? {}, this.lifecycle.states, 'listTasks'))
    return records.map((record) => record.copy())
  }

  /**
   * One page of the matching tasks, latest change first, frozen. Tasks that changed in the same millisecond are in descending
   * order of their ids. Costs O(page); the first query by a property builds its index. A task that changes moves ahead of the
   * pages already read: start over or use `updatedSince` to see the change. No other task is skipped or repeated.
   */
  pageTasks(query: TaskQuery<S> | null = {}): TaskPage<S> {
    const { records, nextCursor } = this.#table.page(toPageQuery(query ?? {}, this.lifecycle.states))
    const tasks = records.map((record) => record.snapshot())
    return nextCursor === undefined ? { tasks } : { tasks, nextCursor }
  }

  /** The number of matching tasks. O(1) for one property; else O(tasks of the rarest value since `updatedSince`). */
  countTasks(filter: TaskFilter<S> | null = {}): number {
    return this.#table.count(toFilter(filter ?? {}, this.lifecycle.states, 'countTasks'))
  }

  /** The number of tasks held, including expired ones that were not removed yet. */
  size(): number {
    return this.#table.size
  }

  /** Whether the lifecycle has a step from the task's state to `state`. `false` when there is no such task. */
  can(taskId: string, state: S): boolean {
    const record = this.#table.get(taskId)
    return record !== undefined && canTransition(record.head.state, state, this.lifecycle)
  }

  /**
   * The events after the generation `after` (default `0`: all), oldest first, frozen. One `resync` entry with the whole
   * task replaces them if some are no longer held.
   */
  events(taskId: string, options: { readonly after?: number | undefined } = {}): TaskStreamEvent<S>[] {
    return entriesAfter(this.#table.recordOf(taskId), options, this.#settings.eventLogSize)
  }

  /**
   * Subscribes to the task's events: those after the cursor `after`, without gap or repetition, or a `snapshot` and all
   * after it. The subscription ends after the event that ends the task, or when `signal` aborts. A reader that falls
   * behind the log receives a `resync`.
   *
   * @throws {A2AError} From `next()`: `TASK_EXPIRED` or `MANAGER_DESTROYED` when the task is removed before it ends.
   */
  subscribe(taskId: string, options: SubscribeOptions = {}): TaskSubscription<S> {
    return subscribeTo(this.#table.recordOf(taskId), this.#isTerminal, this.#settings.eventLogSize, options)
  }

  /**
   * Resolves with a copy of the task once it meets `until` (default: its end), and in any case when it has ended: check
   * its `state`. Waiting does not keep the process alive.
   *
   * @throws {A2AError} As a rejection: `TASK_NOT_FOUND`, `WAIT_TIMED_OUT`, `WAIT_ABORTED`, `TASK_EXPIRED`, `MANAGER_DESTROYED`.
   */
  async waitFor(taskId: string, options: WaitOptions<S> = {}): Promise<Task<S>> {
    const record = this.#table.recordOf(taskId)
    return waitFor(taskId, (found) => found(record), this.#timeline, this.lifecycle, options)
  }

  /**
   * A signal for the code that works on the task. It aborts when the task is canceled, times out or expires, or when
   * the manager is destroyed. Its reason is an `A2AError` with the code of the cause.
   */
  signalOf(taskId: string): AbortSignal {
    const record = this.#table.recordOf(taskId)
    return signalOf(record, this.#isTerminal(record.head.state))
  }

  /** Removes expired tasks now, not at the next `createTask`. Emits `task:expired` for each. Returns their number. */
  prune(): number {
    try {
      return this.#retention.prune(this.#timeline.now())
    } finally {
      this.deliver()
    }
  }

  /** Removes all tasks, listeners and timers. Signals abort, and who waits for an end is rejected with `MANAGER_DESTROYED`. */
  destroy(): void {
    const records = [...this.#table]
    this.#table.clear()
    this.#retention.clear()
    this.removeAllListeners()
    for (const record of records)
      rejectWatchers(record, 'MANAGER_DESTROYED', this.#isTerminal(record.head.state), this.post)
    this.deliver()
  }

  #add(log: (timestamp: string) => NewLog<S>, cost?: number): TaskRecord<S> {
    const now = this.#timeline.now()
    const events = log(now.iso)
    const [{ taskId, owner }] = events
    this.#retention.prune(now)
    this.#requireUnused(taskId, 'id')
    const record = recordOf(events, now, this.#settings.eventLogSize, true, cost)
    this.#retention.makeRoom(owner, record.cost)
    this.#retention.watch(record)
    this.#table.insert(record)
    if (this.isHeard) {
      for (const event of events) this.notify('task:event', () => freezeDeep(event))
      this.notify('task:created', () => record.snapshot())
    }
    return record
  }

  #addFork({ id, log, isWorking }: AddedTask<S>): Task<S> {
    let copy: Task<S>
    try {
      copy = this.#add(log).copy()
    } finally {
      this.deliver()
    }
    if (isWorking) this.#unfinished.begin(id)
    return copy
  }

  #restore(records: readonly TaskRecord<S>[], now: Instant): void {
    try {
      this.#retention.prune(now)
      for (const [index, { task }] of records.entries()) this.#requireUnused(task.id, `tasks[${index}].id`)
      this.#retention.requireRoom(records)
      for (const record of records) this.#retention.watch(record)
      this.#table.restore(records)
      this.#unfinished.add(records)
    } finally {
      this.deliver()
    }
  }

  #requireUnused(id: string, path: string): void {
    if (this.#table.get(id) !== undefined) throw invalidParams(path, `is taken: ${id}`)
  }

  /** @param select - Its result shows this change, and none that listeners make. */
  #change(taskId: string, command: TaskCommand<S>): void
  #change<T>(taskId: string, command: TaskCommand<S>, select: Select<S, T>): T
  #change<T>(taskId: string, command: TaskCommand<S>, select?: Select<S, T>): T | undefined {
    // The clock is user code and can change tasks, so it runs before the task is read.
    const { iso } = this.#timeline.now()
    const record = this.#table.recordOf(taskId)
    const sizes: Size[] = []
    const events = decide(record.task, command, this.#settings, record.usage, iso, sizes)
    this.#retention.makeRoomFor(record, events, sizes)
    this.#commit(record, events, sizes)
    const selected = select?.(record, events)
    this.deliver()
    return selected
  }

  #commit(record: TaskRecord<S>, events: readonly TaskEvent<S>[], sizes: readonly Size[]): void {
    const before = record.cost
    let index = 0
    for (const event of events) record.append(event, this.#settings.eventLogSize, sizes[index++], true)
    const isInTerminalState = this.#isTerminal(record.head.state)
    if (isInTerminalState) {
      this.#retention.unwatch(record)
      record.trim(this.lifecycle.states)
    }
    this.#table.touch(record, record.cost - before, events.length)
    this.notifyAll(events, () => record.snapshot())
    notifyWatchers(record, isInTerminalState, this.post)
  }

  #timeOut(record: TaskRecord<S>): void {
    record.endReason = 'TASK_TIMED_OUT'
    this.#change(record.task.id, { type: 'timeout' })
  }

  #expire(record: TaskRecord<S>): void {
    this.#table.remove(record)
    this.#retention.unwatch(record)
    this.notify('task:expired', () => record.snapshot())
    rejectWatchers(record, 'TASK_EXPIRED', this.#isTerminal(record.head.state), this.post)
  }

  /** Runs no code of the caller. Ended tasks have no waiters. */
  #evict(record: TaskRecord<S>): void {
    const { head, usage } = record
    const { iso } = this.#timeline.latest
    if (!this.#isTerminal(head.state)) {
      const sizes: Size[] = []
      this.#commit(record, decide(record.task, GIVE_UP, this.#settings, usage, iso, sizes), sizes)
    }
    this.#table.remove(record)
    this.notify('task:evicted', () => record.snapshot())
  }
}

type Select<S extends string, T> = (record: TaskRecord<S>, events: readonly TaskEvent<S>[]) => T

function copyOf<S extends string>(record: TaskRecord<S>): Task<S> {
  return record.copy()
}

/** The event of a command that makes only this one. */
function firstOf<S extends string>(_: unknown, [first]: readonly TaskEvent<S>[]): TaskEvent<S> | undefined {
  return first && freezeDeep(first)
}
