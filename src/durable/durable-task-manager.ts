/**
 * The manager of tasks that outlive the process: the shell around `decide`, `evolve` and a store.
 *
 * @module
 */
import { toAppend, toCancel, toCreate, toMessage, toUpdate, type TaskCommand } from '../core/commands.js'
import { decideCreate } from '../core/decide.js'
import { TaskEmitter } from '../core/emitter.js'
import { invalidParams, type RemovalCode } from '../core/errors.js'
import type { ArtifactChanged, MessageAdded, TaskEvent, TaskStreamEvent } from '../core/events.js'
import { copyTask, create } from '../core/evolve.js'
import { abandonTask, signalOf, tellFollowers } from '../core/watchers.js'
import { read } from '../core/validate.js'
import { freezeDeep } from '../core/json.js'
import { canTransition, isTerminal, type Lifecycle, type TaskState } from '../core/lifecycle.js'
import type {
  AppendArtifactOptions,
  ArtifactInput,
  CancelOptions,
  ChangeOptions,
  CreateTaskParams,
  MessageInput,
  TaskUpdate,
} from '../core/params.js'
import {
  isOwnedBy,
  type OwnerFilter,
  type TaskFilter,
  type TaskPage,
  type TaskQuery,
} from '../core/queries.js'
import { toRecords, type SavedTask } from '../core/restore.js'
import type { SubscribeOptions, TaskSubscription } from '../core/subscription.js'
import { TaskRecord } from '../core/task-record.js'
import type { Task, TaskSnapshot } from '../core/task.js'
import { Timeline } from '../core/timeline.js'
import { waitFor, type WaitOptions } from '../core/wait.js'
import type { Take } from './cache/change.js'
import { documentsOf } from './documents.js'
import type { TaskDocuments } from '../core/documents.js'
import { HeldTasks } from './leases/lease-holder.js'
import { Listing } from './listing.js'
import type { LeasedTasks, LeasedTasksListener, SharedTasks } from '../core/managers.js'
import { Mirrors } from './cache/task-cache.js'
import { OpenAccess } from './open-access.js'
import { toDurableSettings, type DurableTaskManagerOptions } from './options.js'
import { StoreAccess } from './store-client.js'
import { storeAll } from './saved-tasks.js'
import { endingOf } from './cache/checkpoint.js'
import { StoreReader, type ReaderHost } from './cache/log-reader.js'
import { Sweeper } from './maintenance.js'
import { copyOf, TaskMirror, type MirrorHost } from './cache/cached-task.js'
import { Watch } from './cache/change-watcher.js'
import { decider, type Workshop } from './context.js'

/**
 * Runs the life of tasks that live in a store, which other processes may share.
 *
 * The rules are those of `TaskManager`, and so are the methods, but that they answer with promises. A change is checked whole,
 * then stored in one atomic step, then told: when its promise resolves, it is in the store. One that others' changes
 * came before is decided anew against the newer task. What is read is what was in the store when it was asked for, or later.
 * Listeners hear of changes made through this manager; subscribers, waiters and signals of everybody's. Besides what it
 * says of itself each method rejects with `STORE_FAILED` when the store fails for longer than `storeRetryMs`, with
 * `UNAVAILABLE` when others change the task again and again, and with `MANAGER_DESTROYED` after `destroy()`.
 *
 * @throws {RangeError | TypeError} from the constructor, naming the option that makes no sense.
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
  /** What whoever serves tasks keeps beside them: webhooks, and how far they were told. */
  readonly documents: TaskDocuments
  readonly #shop: Workshop<S>
  readonly #sweeper: Sweeper<S>
  readonly #listing: Listing<S>
  readonly #workers = new Set<HeldTasks<S>>()
  readonly #readerHost: ReaderHost<S>
  readonly #open: OpenAccess

  constructor(options: DurableTaskManagerOptions<S>) {
    super()
    const settings = toDurableSettings(options)
    const timeline = new Timeline(settings.clock)
    const access = new StoreAccess(settings)
    this.#open = new OpenAccess(access)
    const host: MirrorHost<S> = {
      ...{ settings, access },
      onStored: (...stored) => this.#onStored(...stored),
      onNews: (mirror, events) => this.#onNews(mirror, events),
      onGone: (mirror, reason) => this.#onGone(mirror, reason),
    }
    const mirrors = new Mirrors(host)
    this.documents = documentsOf(settings.store, this.#open)
    const watch = new Watch(settings, access, mirrors, timeline)
    const decideFor = decider(settings, timeline)
    this.#shop = { settings, timeline, access, mirrors, watch, host, decideFor }
    this.#listing = new Listing(settings, this.#open)
    this.#readerHost = {
      ...{ mirrors, fetch: (...page) => this.#listing.events(...page) },
      onWaiting: () => watch.begin(),
    }
    this.#sweeper = new Sweeper(this.#shop, {
      workers: () => this.#workers,
      isHeard: () => this.listenerCount('task:expired') > 0,
      onExpired: (expired) => {
        for (const task of expired) this.tell('task:expired', () => task)
        this.deliver()
      },
    })
  }

  /** Which states there are, and which may follow which. */
  get lifecycle(): Lifecycle<S> {
    return this.#shop.settings.lifecycle
  }

  /**
   * Creates a task in the lifecycle's first state. Emits `task:created`.
   *
   * @returns The task, as the caller's own copy.
   * @throws {A2AError} `INVALID_PARAMS` without a skill, when a value is not JSON, or when the id is taken;
   *   `LIMIT_EXCEEDED` when input and metadata exceed `maxInputSize`.
   */
  async createTask(params: CreateTaskParams): Promise<Task<S>> {
    this.#open.requireOpen()
    const { settings, timeline, mirrors, host } = this.#shop
    const command = toCreate(params, settings)
    // One that is gone is found out.
    if (mirrors.isTaken(command.id)) await mirrors.read(command.id, () => null)
    if (mirrors.isTaken(command.id)) throw invalidParams('id', `is taken: ${command.id}`)
    const now = timeline.now()
    const event = decideCreate(command, settings.lifecycle, now.iso)
    const { mirror, created } = TaskMirror.create(host, new TaskRecord(create(event), now), event)
    mirrors.add(mirror)
    return await created
  }

  /**
   * Changes a task: its state, output, artifacts and status message, all or nothing. Without a `state` it is a
   * progress report. Emits `task:stateChange` when the state changes, and `task:updated`.
   *
   * @returns The task after this change, as the caller's own copy.
   * @throws {A2AError} `TASK_NOT_FOUND`; `TASK_TERMINAL`; `INVALID_TRANSITION`, also for the state it is in;
   *   `TASK_GENERATION_MISMATCH`; `INVALID_PARAMS`; `LIMIT_EXCEEDED`.
   */
  async updateTask(taskId: string, update: TaskUpdate<S>): Promise<Task<S>> {
    return await this.#change(taskId, toUpdate(update, this.#shop.settings), copyOf)
  }

  /** As `updateTask`, without making a copy: O(size of the change), whatever the size of the task. */
  async patchTask(taskId: string, update: TaskUpdate<S>): Promise<void> {
    await this.#change(taskId, toUpdate(update, this.#shop.settings), () => undefined)
  }

  /**
   * Moves a task to `canceled`, and aborts its signal, in whichever process that is. Emits `task:stateChange` and
   * `task:updated`.
   *
   * @returns The canceled task, as the caller's own copy.
   * @throws {A2AError} `TASK_NOT_FOUND`; `TASK_NOT_CANCELABLE` when it has ended; `TASK_GENERATION_MISMATCH`.
   * @see A2A 1.0 §3.1.5
   */
  async cancelTask(taskId: string, options: CancelOptions = {}): Promise<Task<S>> {
    return await this.#change(taskId, toCancel(options, this.#shop.settings), copyOf)
  }

  /**
   * Adds a chunk to the artifact with the same `artifactId`: its `parts` are appended, its `metadata` merged, other
   * properties overwritten. An artifact that the task does not have is created; one without an id gets one. Stores the
   * chunk, however large the artifact is. Emits `task:artifact` and `task:updated`.
   *
   * @returns The log entry, frozen.
   * @throws {A2AError} As `updateTask`, but for `INVALID_TRANSITION`.
   * @see A2A 1.0 §4.2.2
   */
  async appendArtifact(
    taskId: string,
    artifact: ArtifactInput,
    options?: AppendArtifactOptions,
  ): Promise<ArtifactChanged> {
    const command = toAppend(artifact, options, this.#shop.settings)
    // An update that brings one artifact makes one event of it.
    return await this.#change(taskId, command, (_, events) => freezeDeep(events[0] as ArtifactChanged))
  }

  /**
   * Adds a message to the conversation. Emits `task:message` and `task:updated`.
   *
   * @returns The log entry, frozen, with the message's id.
   * @throws {A2AError} As `updateTask`, but for `INVALID_TRANSITION`.
   */
  async addMessage(
    taskId: string,
    message: MessageInput,
    options: ChangeOptions = {},
  ): Promise<MessageAdded> {
    const command = toMessage(message, options, this.#shop.settings)
    // A message command makes one message event.
    return await this.#change(taskId, command, (_, events) => freezeDeep(events[0] as MessageAdded))
  }

  /** The task, as the caller's own copy; `null` when there is none. O(size of the task). */
  async getTask(taskId: string): Promise<Task<S> | null> {
    return await this.#shop.mirrors.read(taskId, copyOf)
  }

  /** The task, frozen; `null` when `owner` has none of this id. */
  async peekTask(taskId: string, filter?: OwnerFilter): Promise<TaskSnapshot<S> | null> {
    return await this.#shop.mirrors.read(taskId, (record) =>
      isOwnedBy(record.task, filter) ? record.show() : null,
    )
  }

  /** The task's state; `null` when there is no such task. */
  async stateOf(taskId: string): Promise<S | null> {
    return await this.#shop.mirrors.read(taskId, ({ task }) => task.state)
  }

  /**
   * The task, frozen, as this process last saw it in the store, without asking: there while the task is worked on here, or
   * somebody here waits for it, or reads its events.
   */
  lastSeen(taskId: string): TaskSnapshot<S> | undefined {
    const mirror = this.#shop.mirrors.get(taskId)
    return mirror?.isStored ? mirror.record.show() : undefined
  }

  /** Copies of all tasks that match, oldest first. O(matches): mind its size, or use `pageTasks`. */
  async listTasks(filter: TaskFilter<S> | null = {}): Promise<Task<S>[]> {
    const tasks = await this.#listing.all(filter ?? {}, 'listTasks')
    return tasks.map(copyTask)
  }

  /**
   * One page of the tasks that match, latest change first, frozen. O(page). A task that changes moves ahead of the pages
   * that were read: start over, or use `updatedSince`, to see it again; no other task is skipped or repeated.
   */
  async pageTasks(query: TaskQuery<S> | null = {}): Promise<TaskPage<S>> {
    return await this.#listing.page(query ?? {})
  }

  /** How many tasks match. */
  async countTasks(filter: TaskFilter<S> | null = {}): Promise<number> {
    return await this.#listing.count(filter ?? {}, 'countTasks')
  }

  /** How many tasks the store holds. */
  async size(): Promise<number> {
    return await this.#listing.count({}, 'size')
  }

  /** Whether the lifecycle lets the task move to `state` now. `false` when there is no such task. */
  async can(taskId: string, state: S): Promise<boolean> {
    const present = await this.stateOf(taskId)
    return present !== null && canTransition(present, state, this.lifecycle)
  }

  /**
   * The events after the generation `after` (default `0`: all), oldest first, frozen: those that were stored when it was
   * called, and perhaps later ones. Where the store has not all of them, one `resync` entry with the whole task stands for all.
   */
  async events(
    taskId: string,
    options: { readonly after?: number | undefined } = {},
  ): Promise<TaskStreamEvent<S>[]> {
    const { after = 0 } = read(options, ['after'], 'events')
    return await new StoreReader<S>(this.#readerHost, taskId, { after }).rest()
  }

  /**
   * The task's events as they come, from whichever process: after the cursor `after` without gap or repetition, or from
   * a `snapshot` on. Ends after the event that ends the task, or when `signal` aborts.
   *
   * @throws {A2AError} From `next()`: `TASK_NOT_FOUND`; `TASK_EXPIRED` or `MANAGER_DESTROYED` when the task is removed, or
   *   the manager destroyed, before the task ends.
   */
  subscribe(taskId: string, options: SubscribeOptions = {}): TaskSubscription<S> {
    return new StoreReader<S>(this.#readerHost, taskId, options)
  }

  /**
   * Resolves with a copy of the task as soon as it is where `until` says (default: at its end), and in any case when
   * it has ended, since it then changes no more: look at its `state`. What others do may come in steps: a state that the
   * task only passed through may go unseen. Waiting does not keep the process alive.
   *
   * @throws {A2AError} As a rejection: `TASK_NOT_FOUND`, `WAIT_TIMED_OUT`, `WAIT_ABORTED`, `TASK_EXPIRED`,
   *   `MANAGER_DESTROYED`.
   */
  async waitFor(taskId: string, options: WaitOptions<S> = {}): Promise<Task<S>> {
    const { mirrors, timeline, watch } = this.#shop
    const find = (found: (record: TaskRecord<S>) => void): Promise<void> =>
      mirrors.use(taskId, true, ({ record }) => {
        watch.begin()
        found(record)
      })
    return await waitFor(taskId, find, timeline, this.lifecycle, options)
  }

  /**
   * A signal that aborts when the task is canceled, times out, is removed, or its manager is destroyed: for whoever does
   * the task's work, in whichever process that happens. Its reason is an `A2AError` that says which.
   */
  async signalOf(taskId: string): Promise<AbortSignal> {
    const { mirrors, watch } = this.#shop
    return await mirrors.use(taskId, true, ({ record }) => {
      watch.begin()
      return signalOf(record, isTerminal(record.task.state, this.lifecycle))
    })
  }

  /** Removes tasks as `retention` says, now. Resolves to how many. Emits `task:expired` for each. */
  async prune(): Promise<number> {
    this.#open.requireOpen()
    return await this.#sweeper.prune()
  }

  /** All tasks, oldest first, frozen: plain JSON, ready to be saved. */
  async snapshot(): Promise<TaskSnapshot<S>[]> {
    return await this.#listing.all({}, 'snapshot')
  }

  /**
   * Takes saved tasks in, one after the other, without an event. Their logs begin empty: a cursor from before gets a
   * `resync`. All are checked before the first is stored; those before one whose id is taken stay.
   *
   * @throws {A2AError} `INVALID_PARAMS` with the path of what is wrong, or of an id that is taken.
   */
  async restore(tasks: Iterable<SavedTask<S>>): Promise<void> {
    this.#open.requireOpen()
    const { settings, timeline } = this.#shop
    await storeAll(toRecords(tasks, settings, timeline.now()), settings, this.#open)
  }

  /**
   * Has this process work on tasks, under leases: for those who run agents, as `createRequestHandler` does. While a lease
   * is held and renewed, no other process works on the task; what becomes of it when the process dies is for `recover` to say.
   */
  lease(listener: LeasedTasksListener<S>): LeasedTasks<S> {
    const worker = new HeldTasks(this.#shop, listener, () => this.#workers.delete(worker))
    this.#workers.add(worker)
    return worker
  }

  /**
   * Lets go of all tasks, which stay in the store: what is on its way there arrives, waiters and subscribers of tasks
   * that have not ended are rejected with `MANAGER_DESTROYED`, and so are signals aborted; no timer is left.
   */
  async destroy(): Promise<void> {
    const { mirrors, watch, access, timeline } = this.#shop
    access.close()
    await this.#sweeper.close()
    await Promise.all([...this.#workers].map((worker) => worker.close(true)))
    await Promise.all(mirrors.all().map((mirror) => mirror.settle()))
    await watch.close()
    const records = mirrors.all().map(({ record }) => record)
    mirrors.close()
    this.#open.end()
    for (const record of records) this.#abandon(record, 'MANAGER_DESTROYED')
    this.removeAllListeners()
    this.deliver()
    timeline.clear()
  }

  async #change<T>(taskId: string, command: TaskCommand<S>, take: Take<S, T>): Promise<T> {
    const decide = this.#shop.decideFor(command)
    return await this.#shop.mirrors.change(taskId, (mirror) => mirror.execute(decide, take).stored)
  }

  #onStored(...[mirror, events, isNew, by]: Parameters<MirrorHost<S>['onStored']>): void {
    const { record, key } = mirror
    if (isNew) {
      for (const event of events) this.tell('task:event', () => freezeDeep(event))
      this.tell('task:created', () => record.show())
    } else {
      this.announce(events, () => record.show())
    }
    this.#tellFollowers(mirror)
    for (const worker of this.#workers) if (worker !== by) worker.onNews(mirror, events)
    this.#shop.watch.publish({ taskId: key.id, generation: record.task.generation })
  }

  #onNews(mirror: TaskMirror<S>, events: readonly TaskEvent<S>[]): void {
    this.#tellFollowers(mirror)
    for (const worker of this.#workers) worker.onNews(mirror, events)
  }

  #tellFollowers(mirror: TaskMirror<S>): void {
    const { record } = mirror
    const hasEnded = isTerminal(record.task.state, this.lifecycle)
    if (hasEnded) record.over ??= endingOf(record.task)
    tellFollowers(record, hasEnded, this.post)
    for (const worker of hasEnded ? this.#workers : []) this.post(() => worker.onEnd(mirror))
    this.deliver()
  }

  #onGone(mirror: TaskMirror<S>, reason: Error): void {
    this.#shop.mirrors.remove(mirror)
    for (const worker of this.#workers) worker.onGone(mirror, reason)
    this.#abandon(mirror.record, 'TASK_EXPIRED')
    this.deliver()
  }

  #abandon(record: TaskRecord<S>, code: RemovalCode): void {
    abandonTask(record, code, isTerminal(record.task.state, this.lifecycle), this.post)
  }
}
