/**
 * A stored task in this process's memory: what is in the store, as far as this process knows, and what it wants to be
 * there next.
 *
 * @module
 */
import { A2AError, invalidParams, taskNotFound } from '../../core/errors.js'
import type { TaskEvent } from '../../core/events.js'
import { copyTask, thawTask } from '../../core/evolve.js'
import { quote } from '../../runtime/describe.js'
import { randomId } from '../../runtime/ids.js'
import { isTerminal, type Lifecycle } from '../../core/lifecycle.js'
import { TaskRecord } from '../../core/task-record.js'
import type { Task, TaskKey } from '../../core/task.js'
import type { Change, Decide, Executed, Origin, Take } from './change.js'
import { changedTooOften, Conflicts } from './conflicts.js'
import type { DurableSettings } from '../options.js'
import { isRefusal, type StoreAccess } from '../store-client.js'
import { Checkpoints, fold, headOf, unreadable } from './checkpoint.js'
import type { CommitResult, Lease } from '../task-store.js'

/** What a mirror needs of its manager. */
export interface MirrorHost<S extends string> {
  readonly settings: DurableSettings<S>
  readonly access: Pick<StoreAccess, 'insist' | 'pause' | 'now'>
  /** What one change of ours made has been stored. `by` knows of it. */
  readonly onStored: (
    mirror: TaskMirror<S>,
    events: readonly TaskEvent<S>[],
    isNew: boolean,
    by: object | undefined,
  ) => void
  /** What others did has been read. */
  readonly onNews: (mirror: TaskMirror<S>, events: readonly TaskEvent<S>[]) => void
  /** The task is not in the store any more, or could not be put there. */
  readonly onGone: (mirror: TaskMirror<S>, reason: Error) => void
}

/** How many changes go into one commit. */
const MAX_BATCH = 200
const PAGE = 500

/**
 * Changes are decided at once, against what is stored and what is on its way there, and committed in their order,
 * those that have gathered meanwhile together. When somebody else was faster, what he did is read, and what is on its way
 * is decided anew.
 */
export class TaskMirror<S extends string> {
  readonly key: TaskKey
  /** The task as the store has it. */
  readonly record: TaskRecord<S>
  /** How many want it to stay in memory. */
  uses = 0
  #isGone = false
  readonly #host: MirrorHost<S>
  readonly #checkpoints: Checkpoints
  /** The task with all that is on its way; made when it is first needed. */
  #ahead: TaskRecord<S> | undefined
  readonly #pending: Change<S>[] = []
  /** Where the task is not in the store yet. */
  #creation: { readonly lease: Lease | undefined } | undefined
  #isFlushing = false
  #turn: Promise<unknown> = Promise.resolve()
  #refresh: Promise<void> | undefined
  readonly #conflicts = new Conflicts()
  /** How many of the changes to come are tried each by itself: one of them was refused. */
  #oneByOne = 0
  #lingersUntil = 0

  constructor(host: MirrorHost<S>, record: TaskRecord<S>, checkpoints: Checkpoints) {
    const { id, createdAt } = record.task
    this.key = { id, createdAt }
    this.#host = host
    this.record = record
    this.#checkpoints = checkpoints
  }

  /** Of a task that is to be created: `record` is what comes of the one event in `created`. */
  static create<S extends string>(
    host: MirrorHost<S>,
    record: TaskRecord<S>,
    created: TaskEvent<S>,
    lease?: Lease,
    by?: object,
  ): { readonly mirror: TaskMirror<S>; readonly created: Promise<Task<S>> } {
    const mirror = new TaskMirror(host, record, new Checkpoints(record.task))
    mirror.#creation = { lease }
    const stored = mirror.#add(() => [created], [created], copyOf, { leaseId: lease?.id, by })
    return { mirror, created: stored }
  }

  /** Whether the task is no longer in the store, or never came to be there. */
  get isGone(): boolean {
    return this.#isGone
  }

  get isStored(): boolean {
    return this.#creation === undefined && !this.#isGone
  }

  get lifecycle(): Lifecycle<S> {
    return this.#host.settings.lifecycle
  }

  /** How many of its latest events the record keeps. */
  get logSize(): number {
    return this.#host.settings.eventLogSize
  }

  /** Whether it has to stay in memory: somebody follows it, or works on it. */
  get isInUse(): boolean {
    const { controller, waiters, wakers } = this.record.followers ?? {}
    if (this.uses > 0 || this.isBusy || controller !== undefined) return true
    if ((waiters?.size ?? 0) + (wakers?.size ?? 0) > 0) return true
    return this.#lingersUntil > 0 && !this.hasEnded && this.#host.access.now() < this.#lingersUntil
  }

  get hasEnded(): boolean {
    return isTerminal(this.record.task.state, this.lifecycle)
  }

  /** Whoever has just read of it is likely to come again: it stays in use until the next poll. */
  linger(): void {
    this.#lingersUntil = this.#host.access.now() + this.#host.settings.pollIntervalMs
  }

  /** Whether anything is on its way. */
  get isBusy(): boolean {
    return this.#pending.length > 0
  }

  /** The task with all that is on its way to the store. */
  get tip(): TaskRecord<S> {
    if (this.#ahead === undefined && this.#pending.length === 0) return this.record
    this.#ahead ??= this.#fork()
    return this.#ahead
  }

  /**
   * Decides a change, and sends it on its way.
   *
   * @throws What `decide` throws.
   */
  execute<T>(decide: Decide<S>, take: Take<S, T>, origin: Origin = {}): Executed<S, T> {
    if (this.#isGone) throw taskNotFound(this.key.id)
    const events = this.#decide(decide)
    return { events, stored: this.#add(decide, events, take, origin) }
  }

  /** Whether anything is on its way that `by` does not make. */
  awaitsOthers(by: object): boolean {
    return this.#pending.some((change) => change.by !== by)
  }

  /** Resolves when all that is on its way now has arrived, or has come to nothing. */
  async settle(): Promise<void> {
    const meant = new Set(this.#pending)
    const isFirst = (): boolean => this.#pending[0] !== undefined && meant.has(this.#pending[0])
    // They stay in their order, whatever becomes of some.
    while (isFirst()) await this.#exclusive(() => Promise.resolve())
  }

  /** Reads what others did: all that was stored before this was called. */
  refresh(): Promise<void> {
    this.#refresh ??= this.#exclusive(async () => {
      this.#refresh = undefined
      await this.#look()
    })
    return this.#refresh
  }

  /** The task is gone: whatever is on its way comes to nothing. */
  drop(error: Error): void {
    if (this.#isGone) return
    this.#isGone = true
    this.#host.onGone(this, error)
    this.#fail(error)
  }

  #add<T>(decide: Decide<S>, events: TaskEvent<S>[], take: Take<S, T>, { leaseId, by }: Origin): Promise<T> {
    const stored = new Promise<T>((resolve, fail: (error: Error) => void) => {
      const change: Change<S> = {
        ...{ decide, leaseId, by, events, fail },
        arrive: () => resolve(take(this.record, change.events)),
      }
      this.#pending.push(change)
    })
    // Who does not wait for it learns otherwise.
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

  #fork(): TaskRecord<S> {
    const { task, created, usage } = this.record
    const fork = new TaskRecord(thawTask(task), created, usage, task.generation)
    const pending = this.#creation === undefined ? this.#pending : this.#pending.slice(1)
    for (const { events } of pending) for (const event of events) fork.append(event, 1)
    return fork
  }

  /** One at a time may move what is stored. */
  #exclusive<T>(job: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(job)
    this.#turn = result.catch(() => undefined)
    return result
  }

  async #flush(): Promise<void> {
    if (this.#isFlushing) return
    this.#isFlushing = true
    // Never rejects: what goes wrong is told to those who made the changes.
    while (this.#pending.length > 0)
      await this.#exclusive(() => this.#commit().catch((e: unknown) => this.#fail(e)))
    this.#isFlushing = false
  }

  async #commit(): Promise<void> {
    const batch = this.#nextBatch()
    const [first] = batch
    if (first === undefined) return
    const { leaseId } = first
    let result: CommitResult
    try {
      result = await this.#send(batch, leaseId)
    } catch (error) {
      this.#refuse(batch, error)
      return
    }
    switch (result) {
      case 'committed':
        this.#conflicts.end()
        // One that could not be created has failed already.
        if (!this.#isGone) for (const change of batch) this.#arrive(change)
        break
      case 'conflict':
        await this.#yield(leaseId)
        break
      case 'lease-lost':
        this.#fail(leaseLost(this.key.id), (change) => change.leaseId === leaseId)
        await this.#catchUp()
        break
      case 'missing':
        this.drop(taskNotFound(this.key.id))
        break
      default:
        throw unreadable(`The store answers a commit with ${quote(result)}`, 'commit')
    }
  }

  #nextBatch(): Change<S>[] {
    const [first] = this.#pending
    const others = this.#pending.findIndex(({ leaseId }) => leaseId !== first?.leaseId)
    const max = this.#oneByOne > 0 ? 1 : MAX_BATCH
    this.#oneByOne = Math.max(0, this.#oneByOne - 1)
    return this.#pending.slice(0, Math.min(others === -1 ? max : others, max))
  }

  /** What the store refuses for good comes to nothing, and only that; when it is away, nothing would arrive. */
  #refuse(batch: readonly Change<S>[], error: unknown): void {
    if (!isRefusal(error)) this.#fail(error)
    else if (batch.length > 1) this.#oneByOne = batch.length
    else this.#fail(error, (change) => change === batch[0] || this.#creation !== undefined)
  }

  async #send(batch: readonly Change<S>[], leaseId: string | undefined): Promise<CommitResult> {
    const { settings, access } = this.#host
    const { insist } = access
    const { store, lifecycle } = settings
    const { task } = this.record
    const events = batch.flatMap((change) => change.events)
    const head = headOf(task, events, lifecycle)
    const commitId = randomId()
    if (this.#creation !== undefined) {
      const whole = fold(task, events.slice(1))
      // Nobody works on a task that has ended.
      const lease = head.hasEnded ? undefined : this.#creation.lease
      const isNew = await insist('create', () => store.create({ task: whole, events, head, commitId, lease }))
      if (!isNew) this.drop(invalidParams('id', `is taken: ${task.id}`))
      else this.#checkpoints.note(events, whole)
      return 'committed'
    }
    const checkpoint = this.#checkpoints.isDue(events, head.hasEnded) ? fold(task, events) : undefined
    const { key } = this
    const expectedGeneration = task.generation
    const commit = { key, expectedGeneration, events, head, checkpoint, commitId, leaseId }
    const result = await insist('commit', () => store.commit(commit))
    if (result === 'committed') this.#checkpoints.note(events, checkpoint)
    return result
  }

  #arrive(change: Change<S>): void {
    this.#pending.shift()
    const isNew = this.#creation !== undefined
    this.#creation = undefined
    const { eventLogSize } = this.#host.settings
    // What a task begins with is in the record already.
    if (!isNew) for (const event of change.events) this.record.append(event, eventLogSize)
    // It is there in one copy. A run goes on, and to copy the structure for each of its chunks would be quadratic.
    if (!this.isBusy && change.leaseId === undefined) this.#ahead = undefined
    if (this.hasEnded) this.record.trim()
    this.#host.onStored(this, change.events, isNew, change.by)
    change.arrive()
  }

  /** Somebody was faster. Whoever works on the task does not give it up for that. */
  async #yield(leaseId: string | undefined): Promise<void> {
    const { generation } = this.record.task
    const isLeased = leaseId !== undefined
    await this.#conflicts.add(isLeased, this.#host.access)
    await this.#catchUp()
    // A store that tells of conflicts, but not of what they are with, would be asked for ever.
    const isOver = !isLeased || this.record.task.generation === generation
    if (!this.#conflicts.areTooMany || !isOver) return
    this.#conflicts.end()
    this.#fail(changedTooOften(this.key.id), (change) => change.leaseId === leaseId)
  }

  async #look(): Promise<void> {
    if (this.#isGone || this.#creation !== undefined) return
    const { settings, access } = this.#host
    const { id, createdAt } = this.key
    const [head] = await access.insist('heads', () => settings.store.heads([id]))
    // A store that has forgotten what it had acknowledged holds another task.
    const isOther = head?.createdAt !== createdAt || head.generation < this.record.task.generation
    if (isOther) this.drop(taskNotFound(id))
    else if (head.generation > this.record.task.generation) await this.#catchUp()
  }

  async #catchUp(): Promise<void> {
    const { settings, access } = this.#host
    const { store, eventLogSize } = settings
    const news: TaskEvent<S>[] = []
    for (;;) {
      const { generation } = this.record.task
      const page = await access.insist('events', () => store.events(this.key, generation, PAGE))
      for (const event of page) {
        if (event.generation !== this.record.task.generation + 1) {
          throw unreadable(`The log of task ${this.key.id} has a gap before generation ${event.generation}`)
        }
        // What a store gives is what a manager of this lifecycle gave to it.
        const known = event as TaskEvent<S>
        this.record.append(known, eventLogSize)
        this.#checkpoints.note([event], undefined)
        news.push(known)
      }
      if (page.length < PAGE) break
    }
    if (news.length === 0) return
    if (this.hasEnded) this.record.trim()
    this.#decideAnew()
    this.#host.onNews(this, news)
  }

  #decideAnew(): void {
    const changes = this.#pending.splice(0)
    this.#ahead = undefined
    for (const change of changes) {
      try {
        change.events = this.#decide(change.decide)
        this.#pending.push(change)
      } catch (error) {
        change.fail(error as Error)
      }
    }
  }

  /** Those changes come to nothing; default is all that are on their way. */
  #fail(error: unknown, isMeant: (change: Change<S>) => boolean = () => true): void {
    const failed = this.#pending.filter(isMeant)
    const others = this.#pending.filter((change) => !isMeant(change))
    this.#pending.splice(0, Infinity, ...others)
    this.#decideAnew()
    if (this.#creation !== undefined && !this.#isGone) {
      this.#isGone = true
      this.#host.onGone(this, error as Error)
    }
    for (const change of failed) change.fail(error as Error)
  }
}

/** For whoever answers with the task. */
export function copyOf<S extends string>(record: TaskRecord<S>): Task<S> {
  return copyTask(record.task)
}

export function leaseLost(taskId: string): A2AError<'LEASE_LOST'> {
  const message = `Task ${taskId} is held by another process now, or by none: its lease was not renewed in time`
  return new A2AError('LEASE_LOST', message, { taskId })
}
