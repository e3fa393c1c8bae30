/**
 * Cache of the stored tasks that this process uses, and the events of changes to them.
 *
 * @module
 */
import { A2AError, endError, invalidParams, taskNotFound } from '../../core/errors.js'
import type { NewLog } from '../../core/events.js'
import { describe } from '../../runtime/describe.js'
import { TaskRecord } from '../../core/task-record.js'
import type { Task, TaskKey } from '../../core/task.js'
import { instantOf } from '../../core/timeline.js'
import { usageOf } from '../../core/sizes.js'
import type { Observers } from '../observers.js'
import type { DurableSettings } from '../options.js'
import type { StoreClient } from '../store-client.js'
import type { Lease } from '../task-store.js'
import { Checkpoints, endingOf, unfold, unreadable } from './checkpoint.js'
import { WaitingChanges } from './change.js'
import { CachedTask, type CacheContext, type CacheEvents } from './cached-task.js'
import { fromStored } from '../stored-events.js'

/** How many tasks are examined for eviction when one is added. */
const MAX_EXAMINED = 8
/** How often a refused change is decided again while the task keeps changing. */
const MAX_ATTEMPTS = 100
/** How often a task is loaded again when it turns out to be removed each time. */
const MAX_LOADS = 10

type Listener<S extends string, E extends keyof CacheEvents<S>> = (...args: CacheEvents<S>[E]) => void
type Listeners<S extends string> = { readonly [E in keyof CacheEvents<S>]: Listener<S, E>[] }

export class TaskCache<S extends string> {
  readonly #context: CacheContext<S>
  readonly #observers: Observers<S>
  readonly #listeners: Listeners<S> = { stored: [], changed: [], gone: [] }
  /** Least recently used first. */
  readonly #byId = new Map<string, CachedTask<S>>()
  /** The estimated bytes of heap of each task in `#byId`, when it was used last. */
  readonly #costs = new Map<string, number>()
  /** The sum of `#costs`. */
  #bytes = 0
  #isClosed = false

  constructor(settings: DurableSettings<S>, storeClient: StoreClient, observers: Observers<S>) {
    this.#observers = observers
    this.#context = {
      settings,
      storeClient,
      emit: (event, ...args) => {
        for (const listener of this.#listeners[event]) listener(...args)
      },
      waiting: new WaitingChanges(),
      bind: () => observers.bind(),
    }
  }

  /** Listeners are called in the order in which they were added, as part of the change, and must not throw. */
  on<E extends keyof CacheEvents<S>>(event: E, listener: Listener<S, E>): void {
    this.#listeners[event].push(listener)
  }

  /** The task, if it is in memory. */
  get(taskId: string): CachedTask<S> | undefined {
    return this.#byId.get(taskId)
  }

  all(): CachedTask<S>[] {
    return [...this.#byId.values()]
  }

  /** The stored tasks that a caller follows or works on. */
  inUse(): CachedTask<S>[] {
    return this.all().filter((cached) => cached.isStored && cached.isInUse)
  }

  /**
   * Adds a new task and starts to store it.
   *
   * @param record - The task after these events.
   */
  create(
    record: TaskRecord<S>,
    events: NewLog<S>,
    lease?: Lease,
    by?: object,
  ): { readonly cached: CachedTask<S>; readonly created: Promise<Task<S>> } {
    const creation = CachedTask.create(this.#context, record, events, lease, by)
    this.#add(creation.cached)
    return creation
  }

  /**
   * Whether a task with this id is in use or is being created. For other tasks in memory only the store knows whether they
   * still exist.
   *
   * @throws {A2AError} `MANAGER_DESTROYED`.
   */
  isIdInUse(taskId: string): boolean {
    this.#requireOpen(taskId)
    const known = this.#byId.get(taskId)
    return known !== undefined && !known.isGone && known.isInUse
  }

  remove(cached: CachedTask<S>): void {
    if (this.#byId.get(cached.key.id) === cached) this.#delete(cached.key.id)
  }

  close(): void {
    this.#isClosed = true
    this.#byId.clear()
    this.#costs.clear()
    this.#bytes = 0
  }

  /**
   * Runs `job` with a task, which stays in memory until the job ends.
   *
   * @param isFresh - Whether the task must have every change that was stored before this call.
   * @throws {A2AError} `TASK_NOT_FOUND`, `STORE_FAILED`, as a rejection.
   */
  async use<T>(taskId: string, isFresh: boolean, job: (cached: CachedTask<S>) => T | Promise<T>): Promise<T> {
    const cached = await this.retain(taskId, isFresh)
    if (cached === undefined) throw taskNotFound(taskId)
    try {
      this.#requireOpen(taskId)
      // Other jobs may have run since `retain` resolved.
      if (cached.isGone) throw taskNotFound(taskId)
      return await job(cached)
    } finally {
      cached.uses -= 1
    }
  }

  /** The result of `select` for the task as it is stored now; `null` when there is none. */
  async read<T>(taskId: string, select: (record: TaskRecord<S>) => T | null): Promise<T | null> {
    const cached = await this.retain(taskId, true)
    if (cached === undefined) return null
    cached.uses -= 1
    return select(cached.record)
  }

  /**
   * Changes a task. A refused change is decided again after the changes that other processes had stored by then are read.
   *
   * @param make - Throws when the change is refused; its promise resolves when the change is stored.
   */
  async change<T>(taskId: string, make: (cached: CachedTask<S>) => Promise<T>): Promise<T> {
    for (;;) {
      const wasKnown = this.#byId.has(taskId)
      try {
        return await this.use(taskId, false, (cached) => retryRefused(cached, make))
      } catch (error) {
        // The task in memory was removed; a new task may have its id.
        if (!wasKnown || !A2AError.is(error, 'TASK_NOT_FOUND')) throw error
      }
    }
  }

  /** The task, with `uses` incremented, so that it stays in memory until the caller decrements it. */
  async retain(taskId: string, isFresh: boolean): Promise<CachedTask<S> | undefined> {
    if (typeof taskId !== 'string') throw invalidParams('taskId', `must be a string, got ${describe(taskId)}`)
    for (let loads = 0; loads < MAX_LOADS; loads += 1) {
      this.#requireOpen(taskId)
      const known = incrementUses(this.#byId.get(taskId)) ?? (await this.#load(taskId))
      if (known === undefined) return undefined
      try {
        const isStillThere = await isUsable(known, isFresh)
        this.#requireOpen(taskId)
        if (isStillThere) return this.#touch(known)
      } catch (error) {
        known.uses -= 1
        throw error
      }
      known.uses -= 1
      this.remove(known)
    }
    throw unreadable(`The store gives task ${taskId}, and says that it is not there`)
  }

  /** As {@link retain}, if the task has been in use without a gap: then the watcher has kept it fresh. */
  retainWatched(key: TaskKey): CachedTask<S> | undefined {
    const known = this.#byId.get(key.id)
    const isWatched = known?.key.createdAt === key.createdAt && known.isStored && known.isInUse
    return isWatched ? incrementUses(known) : undefined
  }

  /** Evicts the least recently used tasks that are not in use when the cache is full. O(1). */
  #add(cached: CachedTask<S>): void {
    this.#insert(cached)
    let examined = 0
    for (const [id, oldest] of this.#byId) {
      if (!this.#isFull || examined++ >= MAX_EXAMINED) return
      this.#delete(id)
      if (oldest.isInUse || oldest === cached) this.#insert(oldest)
      else this.#observers.onLetGo(oldest.key)
    }
  }

  get #isFull(): boolean {
    const { maxCached, limits } = this.#context.settings
    return this.#byId.size > maxCached || this.#bytes > limits.total.maxBytes
  }

  /** Makes the task the most recently used one. */
  #insert(cached: CachedTask<S>): void {
    this.#delete(cached.key.id)
    const { cost } = cached.record
    this.#byId.set(cached.key.id, cached)
    this.#costs.set(cached.key.id, cost)
    this.#bytes += cost
  }

  #delete(id: string): void {
    this.#bytes -= this.#costs.get(id) ?? 0
    this.#costs.delete(id)
    this.#byId.delete(id)
  }

  #requireOpen(taskId: string): void {
    if (this.#isClosed) throw endError('MANAGER_DESTROYED', taskId)
  }

  /** Makes the task the most recently used one. */
  #touch(cached: CachedTask<S>): CachedTask<S> {
    this.#insert(cached)
    return cached
  }

  /** Loads a task with `uses` incremented, so that tasks loaded after it do not evict it before its first use. */
  async #load(taskId: string): Promise<CachedTask<S> | undefined> {
    const { settings, storeClient } = this.#context
    const stored = await storeClient.callWithRetry('get', () => settings.store.get(taskId))
    if (stored === undefined) return undefined
    const task = unfold(stored, settings.lifecycle)
    const created = instantOf(Date.parse(task.createdAt))
    const record = new TaskRecord(task, created, usageOf(task), task.generation)
    record.endReason = endingOf(task)
    const other = incrementUses(this.#byId.get(taskId))
    // A concurrent call has loaded the task too, and either copy may be the newer one. One copy per process is kept.
    if (other !== undefined) return other
    const cached = new CachedTask(
      this.#context,
      record,
      new Checkpoints(stored.checkpoint, stored.events.map(fromStored)),
    )
    cached.uses = 1
    this.#add(cached)
    return cached
  }
}

function incrementUses<S extends string>(cached: CachedTask<S> | undefined): CachedTask<S> | undefined {
  if (cached !== undefined) cached.uses += 1
  return cached
}

async function retryRefused<S extends string, T>(
  cached: CachedTask<S>,
  make: (cached: CachedTask<S>) => Promise<T>,
): Promise<T> {
  for (let attempts = 1; ; attempts += 1) {
    let stored: Promise<T>
    try {
      stored = make(cached)
    } catch (error) {
      if (cached.isGone || attempts > MAX_ATTEMPTS || !(await hasMoved(cached))) throw error
      continue
    }
    return await stored
  }
}

/** Whether the task has changed, or has gone, after pending changes are stored and the changes of other processes are read. */
async function hasMoved<S extends string>(cached: CachedTask<S>): Promise<boolean> {
  const { isBusy } = cached
  const { generation } = cached.tip.task
  await cached.refresh()
  // The change is refused because of one that may never be stored.
  if (cached.stalledBy !== undefined) throw cached.stalledBy
  return isBusy || cached.isGone || cached.record.task.generation !== generation
}

async function isUsable<S extends string>(cached: CachedTask<S>, isFresh: boolean): Promise<boolean> {
  // The task may be being created.
  if (!cached.isStored) await cached.settle()
  if (isFresh && !cached.isGone) await cached.refresh()
  return !cached.isGone
}
