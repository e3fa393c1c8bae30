/**
 * Manager of tasks in a store: the shell around `decide`, `evolve` and a `TaskStore`.
 *
 * @module
 */
import { toAppend, toCancel, toMessage, toSignal, toUpdate, type TaskCommand } from '../core/commands.js'
import type { RemovalCode } from '../core/errors.js'
import type { ArtifactChanged, JournalRecorded, MessageAdded } from '../core/events.js'
import type { TaskEvent, TaskStreamEvent } from '../core/events.js'
import { copyTask } from '../core/evolve.js'
import { TaskEmitter } from '../core/emitter.js'
import type { FeedSource } from '../core/feed/types.js'
import { readParams } from '../core/validate.js'
import { freezeDeep } from '../core/json.js'
import { canTransition, isTerminal, type Lifecycle, type TaskState } from '../core/lifecycle.js'
import type { LeasedTasks, LeasedTasksListener, SharedTasks } from '../core/managers.js'
import type { Backlog, SharedTasksStats, TaskDocuments, TasksObserver } from '../core/managers.js'
import type { AppendArtifactOptions, ArtifactInput, CancelOptions, ChangeOptions } from '../core/params.js'
import type { CreateTaskParams, MessageInput, TaskUpdate } from '../core/params.js'
import { isOwnedBy } from '../core/queries.js'
import type { OwnerFilter, TaskFilter, TaskPage, TaskQuery } from '../core/queries.js'
import { givePort } from '../core/port.js'
import type { SubscribeOptions, TaskSubscription } from '../core/subscription.js'
import type { TaskRecord } from '../core/task-record.js'
import type { Task, TaskSnapshot } from '../core/task.js'
import { rejectWatchers, signalOf, notifyWatchers, type WaitOptions } from '../core/wait.js'
import { requireFunction, requireWhole } from '../runtime/options.js'
import type { CachedTask, CacheEvents } from './cache/cached-task.js'
import { copyOf, type Origin, type Select } from './cache/change.js'
import { endingOf } from './cache/checkpoint.js'
import { LogReader } from './cache/log-reader.js'
import { sharedFeed } from './feed/shared-feed.js'
import { addTask } from './added-tasks.js'
import type { ArchiveOptions } from './archive.js'
import { durableContext, type DurableContext } from './context.js'
import { createTask } from './create-task.js'
import { journalOf } from './journals.js'
import { restoreRecords } from './restore.js'
import { LeaseHolder } from './leases/lease-holder.js'
import { PARKED } from './leases/lease-note.js'
import { Maintenance } from './maintenance.js'
import type { DurableTaskManagerOptions } from './options.js'
import { documentsOf } from './store-client.js'
import { waitForStored } from './wait.js'

/**
 * Manages tasks that live in a store, which other processes may share.
 *
 * The methods and rules are those of `TaskManager`; the methods return promises. A change is checked as a whole, stored in one
 * atomic step, and then announced: when its promise resolves, the change is in the store. A change that conflicts with
 * another one is decided again against the newer task. Reads return what the store held when they were called, or later.
 * Listeners receive the changes that this manager makes; subscribers, waiters and signals see those of every process.
 *
 * Besides its documented errors, each method rejects with `STORE_FAILED` when the store fails for longer than `storeRetryMs`,
 * `UNAVAILABLE` when a change keeps conflicting with others, and `MANAGER_DESTROYED` after `destroy()`.
 *
 * @throws {RangeError | TypeError} from the constructor, naming the invalid option.
 * @example
 * const store = postgresStore(pool)
 * await store.migrate()
 * const tasks = new DurableTaskManager({ store })
 * const task = await tasks.createTask({ skill: 'summarize', input: { url: 'https://example.com' } })
 */
export class DurableTaskManager<S extends string = TaskState>
  extends TaskEmitter<S>
  implements SharedTasks<S>
{
  /** Documents beside the tasks, such as the webhooks of a server and the progress of their deliveries. */
  readonly documents: TaskDocuments
  /** The states and the transitions between them. */
  readonly lifecycle: Lifecycle<S>
  /** The age in ms at which a task that has not ended fails. `Infinity` for none. */
  readonly taskTimeoutMs: number
  readonly #feed: FeedSource<S> | undefined
  readonly #context: DurableContext<S>
  readonly #maintenance: Maintenance<S>
  readonly #holders = new Set<LeaseHolder<S>>()

  constructor(options: DurableTaskManagerOptions<S>) {
    super()
    this.#context = durableContext(options)
    const { settings, storeClient, cache, proposals } = this.#context
    this.lifecycle = settings.lifecycle
    this.taskTimeoutMs = settings.taskTimeoutMs
    this.#feed = sharedFeed(this.#context)
    cache.on('stored', (...args) => proposals.announce(args[0], args[2].by, () => this.#onStored(...args)))
    cache.on('changed', (cached, events) => this.#onChanged(cached, events))
    cache.on('gone', (cached, reason) => this.#onGone(cached, reason))
    this.documents = documentsOf(settings.store, storeClient)
    this.#maintenance = new Maintenance(this.#context, this.#holders, {
      hasListeners: () => this.listenerCount('task:expired') > 0,
      onExpired: (expired) => {
        for (const task of expired) this.notify('task:expired', () => task)
        this.deliver()
      },
    })
    const recoverSoon = (): void => this.#maintenance.recoverSoon()
    this.#context.watcher.whenDue(recoverSoon)
    givePort<S>(this, {
      ...{ settings, limits: new Set(), feed: this.#feed },
      now: () => this.#context.timeline.now(),
      add: (added) => addTask(this.#context, added),
      restore: (records) => restoreRecords(this.#context, records, recoverSoon),
      within: (client) => joined(options, client),
    })
  }

  /**
   * Creates a task in the lifecycle's first state. Emits `task:created`.
   *
   * @returns A copy of the task.
   * @throws {A2AError} `INVALID_PARAMS` without a skill, when a value is not JSON, or when the id is in use;
   *   `LIMIT_EXCEEDED` when input and metadata exceed `maxInputSize`.
   */
  async createTask(params: CreateTaskParams): Promise<Task<S>> {
    return await createTask(this.#context, params)
  }

  /**
   * Changes a task's state, output, artifacts and status message, all or nothing. An update without a `state` is a
   * progress report. Emits `task:stateChange` when the state changes, and `task:updated`.
   *
   * @returns A copy of the task after this change.
   * @throws {A2AError} `TASK_NOT_FOUND`; `TASK_TERMINAL`; `INVALID_TRANSITION`, also for the present state;
   *   `TASK_GENERATION_MISMATCH`; `INVALID_PARAMS`; `LIMIT_EXCEEDED`.
   */
  async updateTask(taskId: string, update: TaskUpdate<S>): Promise<Task<S>> {
    return await this.#change(taskId, toUpdate(update, this.#context.settings), copyOf)
  }

  /** As `updateTask`, without returning a copy. O(size of the change), independent of the size of the task. */
  async patchTask(taskId: string, update: TaskUpdate<S>): Promise<void> {
    await this.#change(taskId, toUpdate(update, this.#context.settings, 'patchTask'), () => undefined)
  }

  /**
   * Moves a task to `canceled`, and aborts its signals in every process. Emits `task:stateChange` and `task:updated`.
   *
   * @returns A copy of the canceled task.
   * @throws {A2AError} `TASK_NOT_FOUND`; `TASK_NOT_CANCELABLE` when it has ended; `TASK_GENERATION_MISMATCH`.
   */
  async cancelTask(taskId: string, options: CancelOptions = {}): Promise<Task<S>> {
    return await this.#change(taskId, toCancel(options, this.#context.settings), copyOf)
  }

  /**
   * Adds a chunk to the artifact with the same `artifactId`: its `parts` are appended, its `metadata` is merged, other
   * properties are overwritten. An artifact that the task does not have is created, and gets an id if it has none. Stores
   * only the chunk, however large the artifact is. Emits `task:artifact` and `task:updated`.
   *
   * @returns The log entry, frozen.
   * @throws {A2AError} As `updateTask`, except `INVALID_TRANSITION`.
   */
  async appendArtifact(
    taskId: string,
    artifact: ArtifactInput,
    options?: AppendArtifactOptions,
  ): Promise<ArtifactChanged> {
    const command = toAppend(artifact, options, this.#context.settings)
    // This command makes exactly one event.
    return await this.#change(taskId, command, (_, events) => freezeDeep(events[0] as ArtifactChanged))
  }

  /**
   * Adds a message to the conversation. Returns the log entry, frozen. Emits `task:message` and `task:updated`.
   *
   * @throws {A2AError} As `updateTask`, except `INVALID_TRANSITION`.
   */
  async addMessage(
    taskId: string,
    message: MessageInput,
    options: ChangeOptions = {},
  ): Promise<MessageAdded> {
    const command = toMessage(message, options, this.#context.settings)
    // This command makes exactly one event.
    return await this.#change(taskId, command, (_, events) => freezeDeep(events[0] as MessageAdded))
  }

  /** Sends a value to the code of a task, in whichever process it runs, as `TaskWriter.signal` describes. */
  async signal(taskId: string, name: string, value: unknown = null): Promise<void> {
    const command = toSignal<S>(name, value, this.#context.settings)
    // A task that waits without a process is continued by any one, also if this one dies now.
    await this.#change(taskId, command, () => undefined, { expires: PARKED })
    if (this.#maintenance.hasRoom) this.#maintenance.recoverSoon()
    else this.#context.watcher.publishDue(taskId)
  }

  /** Removes a task that has ended, in every process, as `TaskWriter.deleteTask` describes. */
  async deleteTask(taskId: string): Promise<void> {
    await this.#maintenance.deleteEnded(taskId)
  }

  /** A copy of the task; `null` when there is none. O(size of the task). */
  async getTask(taskId: string): Promise<Task<S> | null> {
    return await this.#context.cache.read(taskId, copyOf)
  }

  /** The task, frozen; `null` when there is none, or when it belongs to another owner than `filter` names. */
  async peekTask(taskId: string, filter?: OwnerFilter): Promise<TaskSnapshot<S> | null> {
    return await this.#context.cache.read(taskId, (record) =>
      isOwnedBy(record.task, filter) ? record.snapshot() : null,
    )
  }

  /** The task's state; `null` when there is no such task. */
  async stateOf(taskId: string): Promise<S | null> {
    return await this.#context.cache.read(taskId, ({ task }) => task.state)
  }

  /** The task, frozen, as this process last read it, without a request. Current while this process works on it or reads it. */
  lastSeen(taskId: string): TaskSnapshot<S> | undefined {
    const cached = this.#context.cache.get(taskId)
    return cached?.isStored ? cached.record.snapshot() : undefined
  }

  /** Copies of all matching tasks, oldest first, those of one millisecond by their ids. Costs O(size of the matches). */
  async listTasks(filter: TaskFilter<S> | null = {}): Promise<Task<S>[]> {
    return (await this.#context.listing.all(filter ?? {}, 'listTasks')).map(copyTask)
  }

  /**
   * One page of the matching tasks, latest change first, frozen; in descending order of their ids within a millisecond. O(page).
   * A task that changes moves ahead of the pages that were read: `updatedSince` shows it again. No other is skipped or repeated.
   */
  async pageTasks(query: TaskQuery<S> | null = {}): Promise<TaskPage<S>> {
    return await this.#context.listing.page(query ?? {})
  }

  /** The number of matching tasks. */
  async countTasks(filter: TaskFilter<S> | null = {}): Promise<number> {
    return await this.#context.listing.count(filter ?? {}, 'countTasks')
  }

  /** The number of tasks in the store. */
  async size(): Promise<number> {
    return await this.#context.listing.count({}, 'size')
  }

  /** Whether the lifecycle lets the task move to `state` now. `false` when there is no such task. */
  async can(taskId: string, state: S): Promise<boolean> {
    const present = await this.stateOf(taskId)
    return present !== null && canTransition(present, state, this.lifecycle)
  }

  /**
   * The events after the generation `after` (default `0`: all), oldest first, frozen, with every one stored before the call.
   * When the store lacks some of them, one `resync` entry with the whole task replaces them all.
   */
  async events(taskId: string, options: Pick<SubscribeOptions, 'after'> = {}): Promise<TaskStreamEvent<S>[]> {
    const { after = 0 } = readParams(options, ['after'], 'events')
    return await new LogReader<S>(this.#context, taskId, { after }).rest()
  }

  /** The entries of the task's journal, oldest first, frozen: what its turns of work have recorded. */
  async journal(taskId: string): Promise<JournalRecorded[]> {
    return await journalOf(this.#context, taskId)
  }

  /**
   * The task's events as they are stored, by any process: those after the cursor `after` without gap or repetition, or a
   * `snapshot` and the events after it. Ends after the event that ends the task, or when `signal` aborts.
   *
   * @throws {A2AError} From `next()`: `TASK_NOT_FOUND`; `TASK_EXPIRED` or `MANAGER_DESTROYED` when the task is removed, or
   *   the manager is destroyed, before the task ends.
   */
  subscribe(taskId: string, options: SubscribeOptions = {}): TaskSubscription<S> {
    return new LogReader<S>(this.#context, taskId, options)
  }

  /**
   * Resolves with a copy of the task once it meets `until` (default: its end), and in any case when it has ended: check its
   * `state`. Changes of other processes arrive in batches, so a state that the task only passed through may be missed.
   * Waiting keeps the process alive.
   *
   * @throws {A2AError} As a rejection: `TASK_NOT_FOUND`, `WAIT_TIMED_OUT`, `WAIT_ABORTED`, `TASK_EXPIRED`, `MANAGER_DESTROYED`.
   */
  async waitFor(taskId: string, options: WaitOptions<S> = {}): Promise<Task<S>> {
    return await waitForStored(this.#context, taskId, options, this.leasesOf(taskId) !== undefined)
  }

  /**
   * A signal for the code that works on the task. It aborts when the task is canceled, times out or is removed, by any
   * process, and when this manager is destroyed. Its reason is an `A2AError` with the code of the cause.
   */
  async signalOf(taskId: string): Promise<AbortSignal> {
    const { cache, watcher } = this.#context
    return await cache.use(taskId, true, ({ record }) => {
      watcher.begin()
      return signalOf(record, isTerminal(record.task.state, this.lifecycle))
    })
  }

  /** Removes the tasks that `retention` no longer keeps. Resolves to their number. Emits `task:expired` for each. */
  async prune(): Promise<number> {
    this.#context.storeClient.requireOpen()
    return await this.#maintenance.prune()
  }

  /**
   * Hands each task that ended longer ago than `olderThanMs` to `write`, as a line of JSON with its whole log, and removes it once
   * its line is written: oldest first, state by state. Emits `task:expired` for each. A task is written again after a crash before
   * its removal, and by a second process that archives at the same time. `restoreArchive` reads the lines.
   *
   * @returns The number of tasks that were removed.
   * @throws {TypeError | RangeError} As a rejection, for an option of a wrong type or range.
   * @throws {A2AError} As a rejection: `INVALID_PARAMS` for an unknown option. What `write` throws, rejects it too.
   */
  async archive(options: ArchiveOptions): Promise<number> {
    const { olderThanMs, write } = readParams(options, ['olderThanMs', 'write'], 'archive')
    requireWhole('olderThanMs', olderThanMs, 0)
    requireFunction('write', write)
    this.#context.storeClient.requireOpen()
    return await this.#maintenance.archive({ olderThanMs, write })
  }

  /**
   * Lets this process work on tasks under leases, as `createRequestHandler` does. While it holds and renews a lease, no other
   * process works on the task. The option `recover` decides what happens to the task when the process dies.
   */
  lease(listener: LeasedTasksListener<S>): LeasedTasks<S> {
    const holder = new LeaseHolder(this.#context, listener, () => this.#holders.delete(holder))
    this.#holders.add(holder)
    return holder
  }

  /** The leases of this process that include the task's; `undefined` when this process does not hold the task. */
  leasesOf(taskId: string): LeasedTasks<S> | undefined {
    return [...this.#holders].find((holder) => holder.stateOf(taskId) !== null)
  }

  /** Follows which tasks this process holds, as `instrumentTasks` does. Returns a function that removes the observer. */
  observe(observer: TasksObserver<S>): () => void {
    const { cache, observers } = this.#context
    for (const { record } of this.#held(cache.inUse())) observer.onHeld(record.snapshot(), false)
    return observers.add(observer)
  }

  /** What this process holds and follows. O(tasks in memory), without a request to the store. */
  stats(): SharedTasksStats {
    return { leases: this.#held(this.#context.cache.all()).length, logLagMs: this.#context.watcher.lagMs }
  }

  /**
   * What waits for workers, and what they do, over all processes of the store: for autoscalers and alarms. The store reads at
   * most 10,000 leases that wait and 10,000 others; PostgreSQL reads all that are held.
   *
   * @throws {A2AError} As a rejection: `STORE_FAILED`, `MANAGER_DESTROYED`.
   * @throws {TypeError} As a rejection, over a store of your own without `leaseCounts`.
   */
  async backlog(): Promise<Backlog> {
    return await this.#context.listing.backlog()
  }

  /**
   * Stops the manager. The tasks stay in the store, and pending changes are stored first. Waiters and subscribers of tasks
   * that have not ended are rejected with `MANAGER_DESTROYED`, signals abort, and listeners and timers are removed.
   */
  async destroy(): Promise<void> {
    const { cache, watcher, storeClient, timeline } = this.#context
    this.#feed?.close()
    storeClient.close()
    await this.#maintenance.close()
    await Promise.all([...this.#holders].map((holder) => holder.close(true)))
    await Promise.all(cache.all().map((cached) => cached.settle()))
    await watcher.close()
    const tasks = cache.all()
    cache.close()
    storeClient.destroy()
    for (const { record } of tasks) this.#abandon(record, 'MANAGER_DESTROYED')
    this.#context.observers.onDestroyed()
    this.removeAllListeners()
    this.deliver()
    timeline.clear()
  }

  #held(all: readonly CachedTask<S>[]): CachedTask<S>[] {
    return all.filter(({ key }) => [...this.#holders].some((holder) => holder.holds(key)))
  }

  async #change<T>(
    taskId: string,
    command: TaskCommand<S>,
    select: Select<S, T>,
    origin?: Origin<S>,
  ): Promise<T> {
    const decide = this.#context.decideFor(command)
    return await this.#context.cache.change(taskId, (cached) => cached.execute(decide, select, origin).stored)
  }

  #onStored(...[cached, events, { isNew, by }]: CacheEvents<S>['stored']): void {
    const { record, key } = cached
    if (isNew) {
      for (const event of events) this.notify('task:event', () => freezeDeep(event))
      this.notify('task:created', () => record.snapshot())
    } else {
      this.notifyAll(events, () => record.snapshot())
    }
    this.#notifyWatchers(cached)
    for (const holder of this.#holders) if (holder !== by) holder.onChanged(cached, events)
    this.#context.watcher.publish({ taskId: key.id, generation: record.task.generation })
  }

  #onChanged(cached: CachedTask<S>, events: readonly TaskEvent<S>[]): void {
    this.#context.observers.onRead(cached.key, events)
    this.#notifyWatchers(cached)
    for (const holder of this.#holders) holder.onChanged(cached, events)
  }

  #notifyWatchers(cached: CachedTask<S>): void {
    const { record, hasEnded } = cached
    if (hasEnded) record.endReason ??= endingOf(record.task)
    notifyWatchers(record, hasEnded, this.post)
    for (const holder of hasEnded ? this.#holders : []) this.post(() => holder.onEnd(cached))
    this.deliver()
  }

  #onGone(cached: CachedTask<S>, reason: Error): void {
    this.#context.cache.remove(cached)
    for (const holder of this.#holders) holder.onGone(cached, reason)
    this.#context.observers.onLetGo(cached.key, reason)
    this.#abandon(cached.record, 'TASK_EXPIRED')
    this.deliver()
  }

  #abandon(record: TaskRecord<S>, code: RemovalCode): void {
    rejectWatchers(record, code, isTerminal(record.task.state, this.lifecycle), this.post)
  }
}

/** A manager over the store in the transaction of this client. */
function joined<S extends string>(
  options: DurableTaskManagerOptions<S>,
  client: unknown,
): DurableTaskManager<S> {
  const { store } = options
  if (store.within === undefined)
    throw new TypeError(
      'This store cannot join a transaction of yours: "client" needs a postgresStore. Leave "client" out',
    )
  return new DurableTaskManager({ ...options, store: store.within(client), sweepIntervalMs: false })
}
