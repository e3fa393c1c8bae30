/**
 * One task of the store in this process's memory: its last known stored form, and the changes that are not stored yet.
 *
 * @module
 */
import { invalidParams, taskNotFound } from '../../core/errors.js'
import type { NewLog, TaskEvent } from '../../core/events.js'
import { quote } from '../../runtime/describe.js'
import { randomId } from '../../runtime/ids.js'
import { isTerminal, type Lifecycle } from '../../core/lifecycle.js'
import type { Announce } from '../../core/managers.js'
import type { TaskRecord } from '../../core/task-record.js'
import type { Task, TaskKey } from '../../core/task.js'
import { batchOf, copyOf, failsWith, isOfHolder, withChanges } from './change.js'
import type { Change, Decide, Executed, Origin, Select, WaitingChanges } from './change.js'
import { changedTooOften, Conflicts, leaseLost } from './conflicts.js'
import type { DurableSettings } from '../options.js'
import { transactionOf, WorkFailure } from './transaction.js'
import { isRefusal, type StoreClient } from '../store-client.js'
import { Checkpoints, fold, headOf, requireNext, toCheckpoint, unreadable } from './checkpoint.js'
import { Sequence } from './sequence.js'
import type { Lease, TransactionResult } from '../task-store.js'
import { fromStored, toStored } from '../stored-events.js'

/** The events of a {@link TaskCache}, by name, with their arguments. */
export interface CacheEvents<S extends string> {
  /** One change that this manager made is stored. */
  readonly stored: readonly [
    cached: CachedTask<S>,
    events: readonly TaskEvent<S>[],
    origin: { readonly isNew: boolean; readonly by: object | undefined },
  ]
  /** Changes that other managers made have been read. */
  readonly changed: readonly [cached: CachedTask<S>, events: readonly TaskEvent<S>[]]
  /** The task is not in the store any more, or could not be created there. */
  readonly gone: readonly [cached: CachedTask<S>, reason: Error]
}

export interface CacheContext<S extends string> {
  readonly settings: DurableSettings<S>
  readonly storeClient: Pick<StoreClient, 'callWithRetry' | 'pause' | 'now' | 'report' | 'isClosing'>
  readonly emit: <E extends keyof CacheEvents<S>>(event: E, ...args: CacheEvents<S>[E]) => void
  readonly waiting: WaitingChanges
  /** Captures the context of a change. */
  readonly bind: () => Announce
}

const PAGE = 500
/** The pause before a commit is repeated that the store has not taken for `storeRetryMs`. */
const STALLED_MS = 1_000

/** The commit that is under way. */
interface Commitment<S extends string> {
  /** The first pending changes. They are not decided again. */
  readonly batch: readonly Change<S>[]
  /** Attempts the commit for `storeRetryMs`. Each call repeats the same commit, which takes effect once. */
  readonly send: () => Promise<TransactionResult>
}

/**
 * Decides changes at once, against the stored task and the pending changes, and commits them in their order. Changes that
 * gather during a commit go together into the next one. When a commit conflicts with another process's change, that change
 * is read and the pending changes are decided again. While the store takes no changes, those of the holder of the lease wait.
 */
export class CachedTask<S extends string> {
  readonly key: TaskKey
  /** The task as it is stored, as far as this process knows. */
  readonly record: TaskRecord<S>
  /** How many callers need the task to stay in memory. */
  uses = 0
  #isGone = false
  readonly #context: CacheContext<S>
  readonly #checkpoints: Checkpoints
  /** The task with the pending changes applied; made when it is first needed. */
  #tip: TaskRecord<S> | undefined
  readonly #pending: Change<S>[] = []
  /** How many changes there were. */
  #changes = 0
  /** Set until the task is in the store. */
  #creation: { readonly lease: Lease | undefined } | undefined
  #isFlushing = false
  #commitment: Commitment<S> | undefined
  #stalledBy: Error | undefined
  /** Jobs that advance `record`. */
  readonly #advances = new Sequence()
  readonly #headReads = new Sequence()
  #refresh: Promise<void> | undefined
  readonly #conflicts = new Conflicts()
  /** How many of the next changes are committed one at a time, to find the one that the store refuses. */
  #singleCommits = 0
  #lingersUntil = 0

  constructor(context: CacheContext<S>, record: TaskRecord<S>, checkpoints: Checkpoints) {
    const { id, createdAt } = record.task
    this.key = { id, createdAt }
    this.#context = context
    this.record = record
    this.#checkpoints = checkpoints
  }

  /** Starts to create a task: `record` is the task after its first events. */
  static create<S extends string>(
    context: CacheContext<S>,
    record: TaskRecord<S>,
    events: NewLog<S>,
    lease?: Lease,
    by?: object,
  ): { readonly cached: CachedTask<S>; readonly created: Promise<Task<S>> } {
    const cached = new CachedTask(context, record, new Checkpoints(record.task))
    cached.#creation = { lease }
    const stored = cached.#add(() => [...events], [...events], copyOf, { leaseId: lease?.id, by })
    return { cached, created: stored }
  }

  /** Whether the task is no longer in the store, or could not be created. */
  get isGone(): boolean {
    return this.#isGone
  }

  get isStored(): boolean {
    return this.#creation === undefined && !this.#isGone
  }

  get lifecycle(): Lifecycle<S> {
    return this.#context.settings.lifecycle
  }

  /** How many of its latest events the record keeps. */
  get logSize(): number {
    return this.#context.settings.eventLogSize
  }

  /** Whether the task has to stay in memory: a caller follows it, waits for it or works on it. */
  get isInUse(): boolean {
    const { controller, waiters, wakers } = this.record.watchers ?? {}
    if (this.uses > 0 || this.isBusy || controller !== undefined) return true
    if ((waiters?.size ?? 0) + (wakers?.size ?? 0) > 0) return true
    return this.#lingersUntil > 0 && !this.hasEnded && this.#context.storeClient.now() < this.#lingersUntil
  }

  get hasEnded(): boolean {
    return isTerminal(this.record.task.state, this.lifecycle)
  }

  /** Keeps the task in use until the next poll: a reader usually returns for the next event. */
  linger(): void {
    this.#lingersUntil = this.#context.storeClient.now() + this.#context.settings.pollIntervalMs
  }

  /** Whether changes are pending. */
  get isBusy(): boolean {
    return this.#pending.length > 0
  }

  /** The task with all pending changes applied. */
  get tip(): TaskRecord<S> {
    if (this.#tip === undefined && this.#pending.length === 0) return this.record
    // The record of a new task has its first events already.
    this.#tip ??= withChanges(this.record, this.#pending.slice(this.#creation === undefined ? 0 : 1))
    return this.#tip
  }

  /**
   * Decides a change, and starts to store it.
   *
   * @throws What `decide` throws.
   */
  execute<T>(decide: Decide<S>, select: Select<S, T>, origin: Origin<S> = {}): Executed<S, T> {
    if (this.#isGone) throw taskNotFound(this.key.id)
    const events = this.#decide(decide)
    return { events, stored: this.#add(decide, events, select, origin) }
  }

  /** Whether changes are pending that `by` did not make. */
  awaitsOthers(by: object): boolean {
    return this.#pending.some((change) => change.by !== by)
  }

  /** Why the store has taken no change of the holder for `storeRetryMs`. Unset while it takes them. */
  get stalledBy(): Error | undefined {
    return this.#stalledBy
  }

  /**
   * Resolves when every change that is pending now is stored or has failed.
   *
   * @param isPatient - Whether to wait also while the store takes no changes.
   */
  async settle(isPatient = true): Promise<void> {
    const last = this.#changes
    // Pending changes keep their order, so the first one shows whether any is left.
    while ((this.#pending[0]?.number ?? Infinity) <= last && (isPatient || this.#stalledBy === undefined))
      await this.#advances.run(() => Promise.resolve())
  }

  /** Reads every change that was stored before this call, after those that were pending here. Delays no commit. */
  refresh(): Promise<void> {
    this.#refresh ??= this.#headReads.run(async () => {
      this.#refresh = undefined
      await this.settle(false)
      await this.#readHead()
    })
    return this.#refresh
  }

  /** Marks the task as removed. Pending changes fail with `error`. */
  drop(error: Error): void {
    if (this.#isGone) return
    this.#isGone = true
    this.#endCommitment()
    this.#context.emit('gone', this, error)
    this.#fail(error)
  }

  #add<T>(decide: Decide<S>, events: TaskEvent<S>[], select: Select<S, T>, origin: Origin<S>): Promise<T> {
    const stored = new Promise<T>((resolve, reject: (error: Error) => void) => {
      // One by one: to spread them would take as long as all else here.
      const { leaseId, expires, by, work } = origin
      const change: Change<S> = {
        leaseId,
        expires,
        by,
        work,
        number: (this.#changes += 1),
        decide,
        events,
        announce: this.#context.bind(),
        resolve: () => resolve(select(this.record, change.events)),
        reject,
      }
      this.#pending.push(change)
    })
    // A caller that does not await this promise is notified of failures by other means.
    stored.catch(() => undefined)
    void this.#flush()
    return stored
  }

  #decide(decide: Decide<S>): TaskEvent<S>[] {
    const { tip } = this
    const events = decide(tip)
    if (tip !== this.record) for (const event of events) tip.append(event, 1)
    return events
  }

  async #flush(): Promise<void> {
    if (this.#isFlushing) return
    this.#isFlushing = true
    // Never rejects: a failure rejects the promises of the changes.
    while (this.#pending.length > 0)
      await this.#advances.run(() => this.#commit().catch((e: unknown) => this.#fail(e)))
    this.#isFlushing = false
  }

  async #commit(): Promise<void> {
    if (this.#stalledBy !== undefined) await this.#context.storeClient.pause(STALLED_MS)
    if (!this.isBusy) return
    this.#commitment ??= this.#nextCommitment()
    const { batch, send } = this.#commitment
    const [first] = batch
    const leaseId = first?.leaseId
    let result: TransactionResult
    try {
      result = await send()
    } catch (error) {
      this.#onCommitFailed(batch, error)
      return
    }
    this.#endCommitment()
    switch (result) {
      case 'committed':
        this.#conflicts.reset()
        // A task that could not be created has failed already.
        if (!this.#isGone) for (const change of batch) this.#onStored(change)
        break
      case 'conflict':
        await this.#onConflict(leaseId)
        break
      case 'lease-lost':
        this.#fail(leaseLost(this.key.id), (change) => change.leaseId === leaseId)
        await this.#catchUp()
        break
      case 'missing':
        this.drop(taskNotFound(this.key.id))
        break
      default:
        if (typeof result !== 'object' || first?.work === undefined)
          throw unreadable(`The store answers a commit with ${quote(result)}`, 'commit')
        this.#fail(new WorkFailure(result.error), (change) => change === first)
    }
  }

  #nextCommitment(): Commitment<S> {
    const isSingle = this.#singleCommits > 0
    this.#singleCommits = Math.max(0, this.#singleCommits - 1)
    const batch = batchOf(this.#pending, isSingle)
    return { batch, send: this.#senderOf(batch) }
  }

  #endCommitment(): void {
    this.#commitment = undefined
    if (this.#stalledBy === undefined) return
    this.#stalledBy = undefined
    this.#context.waiting.end(this)
  }

  /**
   * Fails the one change that the store refuses for good. While the store is unavailable, the changes of the holder wait, because
   * its work would be done again if it lost the task. Other callers get the error.
   */
  #onCommitFailed(batch: readonly Change<S>[], error: unknown): void {
    const { storeClient, waiting } = this.#context
    const isOfOthers = (change: Change<S>): boolean => !isOfHolder(change)
    const mayPass = !isRefusal(error) && this.isStored && !storeClient.isClosing
    if (mayPass && batch.some(isOfHolder) && waiting.keep(this, this.#pending)) {
      this.#stalledBy = error as Error
      storeClient.report(error)
      // The store may yet take these.
      for (const change of batch.filter(isOfOthers)) change.reject(error as Error)
      this.#fail(error, (change) => isOfOthers(change) && !batch.includes(change))
      return
    }
    this.#endCommitment()
    if (mayPass && batch.every(isOfOthers)) this.#fail(error, isOfOthers)
    else if (!isRefusal(error) || !this.isStored) this.#fail(error)
    else if (batch.length > 1) this.#singleCommits = batch.length
    else this.#fail(error, (change) => failsWith(batch[0], change))
  }

  #senderOf(batch: readonly Change<S>[]): Commitment<S>['send'] {
    const { settings, storeClient } = this.#context
    const { callWithRetry } = storeClient
    const { store, lifecycle } = settings
    const { task } = this.record
    const events = batch.flatMap((change) => change.events)
    const head = headOf(task, events, lifecycle)
    const commitId = randomId()
    if (this.#creation !== undefined) {
      const whole = fold(task, events)
      // A task that is created in a final state needs no lease.
      const lease = head.hasEnded ? undefined : this.#creation.lease
      const creation = { task: toCheckpoint(whole), events: toStored(events), head, commitId, lease }
      return async () => {
        if (!(await callWithRetry('create', () => store.create(creation))))
          this.drop(invalidParams('id', `is taken: ${task.id}`))
        else this.#checkpoints.record(events, whole)
        return 'committed'
      }
    }
    const [first] = batch
    const change = {
      key: this.key,
      expectedGeneration: task.generation,
      head,
      commitId,
      leaseId: first?.leaseId,
      expires: batch.find((each) => each.expires !== undefined)?.expires,
    }
    const transact = first?.work && transactionOf(store, storeClient, change, first, first.work)
    const isDue = transact === undefined && this.#checkpoints.isDue(events, head.hasEnded)
    const checkpoint = isDue ? toCheckpoint(fold(task, events)) : undefined
    const commit = { ...change, events: toStored(events), checkpoint }
    return async () => {
      const result = await (transact?.() ?? callWithRetry('commit', () => store.commit(commit)))
      if (result === 'committed')
        this.#checkpoints.record(
          batch.flatMap((each) => each.events),
          checkpoint,
        )
      return result
    }
  }

  #onStored(change: Change<S>): void {
    this.#pending.shift()
    const isNew = this.#creation !== undefined
    this.#creation = undefined
    const { eventLogSize } = this.#context.settings
    if (!isNew) for (const event of change.events) this.record.append(event, eventLogSize)
    // Without the tip the task is in memory once. A leased task keeps it: a copy for each chunk of a run would be quadratic.
    if (!this.isBusy && change.leaseId === undefined) this.#tip = undefined
    if (this.hasEnded) this.record.trim()
    const { events, by } = change
    change.announce(() => this.#context.emit('stored', this, events, { isNew, by }))
    change.resolve()
  }

  /** Another change was stored first. The holder of the lease retries for as long as the others make progress. */
  async #onConflict(leaseId: string | undefined): Promise<void> {
    const { generation } = this.record.task
    const isLeased = leaseId !== undefined
    await this.#conflicts.add(isLeased, this.#context.storeClient)
    await this.#catchUp()
    if (this.record.task.generation === generation && (await this.#storedGeneration()) === undefined) return
    // A faulty store may report conflicts with changes that it does not have: the retries must end.
    const mayGiveUp = !isLeased || this.record.task.generation === generation
    if (!this.#conflicts.areTooMany || !mayGiveUp) return
    this.#conflicts.reset()
    this.#fail(changedTooOften(this.key.id), (change) => change.leaseId === leaseId)
  }

  async #readHead(): Promise<void> {
    if (this.#isGone || this.#creation !== undefined) return
    const stored = await this.#storedGeneration()
    if (stored !== undefined && stored > this.record.task.generation)
      await this.#advances.run(() => this.#catchUp(stored))
  }

  /** Drops a task of which the store has an earlier generation, or none: then `undefined`. */
  async #storedGeneration(): Promise<number | undefined> {
    const { settings, storeClient } = this.#context
    const { id, createdAt } = this.key
    const { generation } = this.record.task
    const [head] = await storeClient.callWithRetry('heads', () => settings.store.heads([id]))
    if (head?.createdAt === createdAt && head.generation >= generation) return head.generation
    // A store that has lost acknowledged changes, as after some failovers, holds a different task.
    this.drop(taskNotFound(id))
    return undefined
  }

  /** @param toGeneration - Nothing is read when the task has this generation already. */
  async #catchUp(toGeneration = Infinity): Promise<void> {
    // Whether a commit that is repeated has taken effect is not known, nor what precedes it.
    if (this.#stalledBy !== undefined) return
    if (this.#isGone || this.record.task.generation >= toGeneration) return
    const { settings, storeClient } = this.#context
    const { store, eventLogSize } = settings
    const changes: TaskEvent<S>[] = []
    for (;;) {
      const { generation } = this.record.task
      const page = await storeClient.callWithRetry('events', () => store.events(this.key, generation, PAGE))
      for (const event of page) {
        // A manager of this lifecycle wrote the event.
        const known = fromStored(event) as TaskEvent<S>
        requireNext(this.record.task, known)
        this.record.append(known, eventLogSize)
        this.#checkpoints.record([known], undefined)
        changes.push(known)
      }
      if (page.length < PAGE) break
    }
    if (changes.length === 0) return
    if (this.hasEnded) this.record.trim()
    this.#decidePending()
    this.#context.emit('changed', this, changes)
  }

  #decidePending(): void {
    const changes = this.#pending.splice(this.#commitment?.batch.length ?? 0)
    this.#tip = undefined
    for (const change of changes) {
      try {
        change.events = this.#decide(change.decide)
        this.#pending.push(change)
      } catch (error) {
        change.reject(error as Error)
      }
    }
  }

  /** Fails the selected changes; default is all pending ones. */
  #fail(error: unknown, isSelected: (change: Change<S>) => boolean = () => true): void {
    const failed = this.#pending.filter(isSelected)
    if (failed.length === 0) return
    const others = this.#pending.filter((change) => !isSelected(change))
    this.#pending.splice(0, Infinity, ...others)
    this.#decidePending()
    if (this.#creation !== undefined && !this.#isGone) {
      this.#isGone = true
      this.#context.emit('gone', this, error as Error)
    }
    for (const change of failed) change.reject(error as Error)
  }
}
