/**
 * The leases that one worker of this process holds, and the changes that it makes under them.
 *
 * @module
 */
import { toAppend, toCreate, toJournal, toMessage, toUpdate } from '../../core/commands.js'
import { endError, invalidParams, taskNotFound } from '../../core/errors.js'
import type { ArtifactChanged, JournalEntry, MessageAdded, TaskEvent } from '../../core/events.js'
import { createdEvent } from '../../core/events.js'
import { copyTask, create } from '../../core/evolve.js'
import { freezeDeep } from '../../core/json.js'
import { canTransition, isInterrupted } from '../../core/lifecycle.js'
import type { AcquireResult, LeasedTasks, LeasedTasksListener } from '../../core/managers.js'
import type { AppendArtifactOptions, ArtifactInput, ChangeOptions } from '../../core/params.js'
import type { CreateTaskParams, JournalChange, MessageInput, TaskUpdate } from '../../core/params.js'
import { randomId } from '../../runtime/ids.js'
import type { JsonValue } from '../../core/json-types.js'
import { TaskRecord } from '../../core/task-record.js'
import type { Task, TaskKey, TaskSnapshot } from '../../core/task.js'
import type { CachedTask } from '../cache/cached-task.js'
import type { Decide } from '../cache/change.js'
import { leaseLost } from '../cache/conflicts.js'
import type { DurableContext } from '../context.js'
import { LeaseAcquirer } from './acquire.js'
import { decideWithRest, executeOnce } from './decide-again.js'
import { forwardMessage } from './forward-message.js'
import { releaseInterrupted } from './interrupted.js'
import { isSameNote, NO_NOTE, NO_RESTART, PARKED, toStoredNote, type LeaseNote } from './lease-note.js'
import { storeNote } from './store-note.js'
import { abortEnded, closing, grantOf, hasRoomFor, isLoss, leasedTask } from './leased-task.js'
import { LostTasks, namedBy, type LeasedTask } from './leased-task.js'
import { transact } from './transact.js'
import { handOutParking, handOver, releaseUnchanged, removeUnchanged, type Parking } from './hand-over.js'
import { LeaseRenewal, requireLease } from './renewal.js'
import { callSafely } from '../../runtime/uncaught.js'

/** Further tasks that wait for a time are not moved ahead then. */
const MAX_ADVANCING = 10_000

export class LeaseHolder<S extends string> implements LeasedTasks<S> {
  readonly #context: DurableContext<S>
  readonly #listener: LeasedTasksListener<S>
  readonly #onClose: () => void
  readonly #leased = new Map<string, LeasedTask<S>>()
  readonly #lost = new LostTasks()
  readonly #acquirer: LeaseAcquirer<S>
  readonly #renewal: LeaseRenewal<S>
  /** How many tasks wait for a time, and are to be moved ahead then. */
  #advancing = 0
  #isClosed = false

  constructor(context: DurableContext<S>, listener: LeasedTasksListener<S>, onClose: () => void) {
    this.#context = context
    this.#listener = listener
    this.#onClose = onClose
    this.#renewal = new LeaseRenewal(context, this.#leased, (leased) => this.#onMissed(leased))
    this.#acquirer = new LeaseAcquirer(context)
  }

  get handsOver(): boolean {
    return this.#context.settings.maxRestarts > 0
  }

  createTask(params: CreateTaskParams, note?: JsonValue): Task<S> {
    const { settings, timeline, cache } = this.#context
    this.#requireOpen()
    const command = toCreate(params, settings)
    if (cache.isIdInUse(command.id)) throw invalidParams('id', `is taken: ${command.id}`)
    const now = timeline.now()
    const created = createdEvent(command, settings.lifecycle.initial, now.iso)
    const first = this.#firstNote(note)
    const lease = { id: randomId(), ttlMs: settings.leaseMs, note: toStoredNote(first) }
    const { cached } = cache.create(new TaskRecord(create(created), now), [created], lease, this)
    this.#hold(cached, lease.id, first, this.#context.storeClient.now())
    return copyTask(cached.record.task)
  }

  propose(taskId: string): void {
    this.#context.proposals.add(this.#require(taskId).cached, this)
  }

  confirm(taskId: string): void {
    this.#context.proposals.confirm(this.#require(taskId).cached)
  }

  discard(taskId: string): Promise<boolean> {
    const leased = this.#requireChangeable(taskId)
    const { cached } = leased
    const removing = this.#leaveBy(leased, () => removeUnchanged(this.#context, cached))
    leased.releasing = removing.then((isRemoved) => {
      if (isRemoved) cached.drop(endError('TASK_EXPIRED', taskId))
      return isRemoved
    })
    return leased.releasing
  }

  addMessage(taskId: string, message: MessageInput, options: ChangeOptions = {}): MessageAdded {
    const decide = this.#context.decideFor(toMessage(message, options, this.#context.settings))
    // A message command makes one message event.
    return freezeDeep(this.#change(taskId, decide)[0] as MessageAdded)
  }

  patchTask(taskId: string, update: TaskUpdate<S>): void {
    this.#change(taskId, decideWithRest(this.#context, toUpdate(update, this.#context.settings, 'patchTask')))
  }

  appendArtifact(taskId: string, artifact: ArtifactInput, options?: AppendArtifactOptions): ArtifactChanged {
    const decide = this.#context.decideFor(toAppend(artifact, options, this.#context.settings))
    const events = this.#change(taskId, decide)
    // A chunk makes one event of it.
    return freezeDeep(events[0] as ArtifactChanged)
  }

  recordJournal(taskId: string, entries: readonly JournalEntry[], change: JournalChange<S> = {}): void {
    const { settings, decideFor } = this.#context
    const leased = this.#requireChangeable(taskId)
    this.#change(taskId, decideFor(toJournal(namedBy(leased, entries, settings.replica), change, settings)))
    // The work makes progress. A process that recovers the task reads this from the log.
    leased.note = { ...leased.note, restarts: 0 }
    leased.isNamed = true
  }

  get transact(): LeasedTasks<S>['transact'] {
    if (this.#context.settings.store.transact === undefined) return undefined
    return (taskId, entry, work) => {
      const leased = this.#requireChangeable(taskId)
      const onFailed = (error: unknown): void => this.#fail(leased, error)
      return transact({ context: this.#context, by: this, onFailed }, leased, entry, work)
    }
  }

  async finish(taskId: string, update: TaskUpdate<S>): Promise<boolean> {
    const leased = this.#requireChangeable(taskId)
    const decide = this.#context.decideFor(toUpdate(update, this.#context.settings, 'finish'))
    const { changeCount, cached, leaseId } = leased
    while (cached.awaitsOthers(this)) await cached.settle()
    if (leased.reason !== undefined) throw leased.reason
    if (leased.changeCount !== changeCount) return false
    this.#requireChangeable(taskId)
    try {
      return await executeOnce(cached, decide, { leaseId, by: this })
    } catch (error) {
      this.#fail(leased, error)
      throw error
    }
  }

  can(taskId: string, state: S): boolean {
    const present = this.stateOf(taskId)
    return present !== null && canTransition(present, state, this.#context.settings.lifecycle)
  }

  peekTask(taskId: string): TaskSnapshot<S> | null {
    return this.#leased.get(taskId)?.cached.tip.snapshot() ?? null
  }

  stateOf(taskId: string): S | null {
    return this.#leased.get(taskId)?.cached.tip.task.state ?? null
  }

  signalOf(taskId: string): AbortSignal {
    const leased = this.#require(taskId)
    if (leased.controller !== undefined) return leased.controller.signal
    // Its own controller: that of the record would keep the task in memory after the release.
    const controller = (leased.controller = new AbortController())
    abortEnded(leased)
    return controller.signal
  }

  acquire(taskId: string, note?: JsonValue): Promise<AcquireResult<S>> {
    return this.#acquireOrTake(taskId, note, false)
  }

  take(taskId: string): Promise<AcquireResult<S>> {
    return this.#acquireOrTake(taskId, undefined, true)
  }

  async #acquireOrTake(
    taskId: string,
    note: JsonValue | undefined,
    isTaken: boolean,
  ): Promise<AcquireResult<S>> {
    this.#requireOpen()
    await this.#leased.get(taskId)?.releasing?.catch(() => undefined)
    const known = this.#leased.get(taskId)
    if (known !== undefined) return grantOf(known)
    const first = this.#firstNote(note)
    const startedAt = this.#context.storeClient.now()
    const handler = {
      onGranted: (cached: CachedTask<S>, leaseId: string, changes: readonly TaskEvent<S>[]) => {
        this.#requireOpen()
        const leased = this.#hold(cached, leaseId, first, startedAt)
        this.#context.observers.onHeld(cached.record.snapshot(), true)
        if (changes.length > 0) callSafely(() => this.#listener.onNews(cached.tip.snapshot(), changes))
        return grantOf(leased)
      },
      onRecovered: (cached: CachedTask<S>, leaseId: string, restarted: LeaseNote) => {
        this.#requireOpen()
        return grantOf(this.#adopt(cached, leaseId, restarted, true))
      },
    }
    const grant = await this.#acquirer.acquire(taskId, first, handler, isTaken)
    const here = this.#leased.get(taskId)
    return here?.leaseId === grant.leaseId ? grantOf(here) : grant
  }

  async send(seen: TaskSnapshot<S>, leaseId: string, message: MessageInput): Promise<boolean> {
    const held = this.#leased.get(seen.id)
    if (held?.leaseId !== leaseId) return await forwardMessage(this.#context, seen, leaseId, message)
    const onLost = (): Promise<void> => this.#onMissed(held)
    return await forwardMessage(this.#context, seen, leaseId, message, { cached: held.cached, onLost })
  }

  async stored(taskId: string): Promise<void> {
    const leased = this.#leased.get(taskId)
    await leased?.cached.settle()
    const reason = leased === undefined ? this.#lost.reasonOf(taskId) : leased.reason
    if (reason !== undefined) throw reason
  }

  requireLease(taskId: string): Promise<void> | undefined {
    const leased = this.#requireChangeable(taskId)
    const required = requireLease(this.#context, leased, () => this.#onMissed(leased))
    required?.catch((error: unknown) => this.#fail(leased, error))
    return required
  }

  setNote(taskId: string, note: JsonValue): void {
    const leased = this.#requireChangeable(taskId)
    if (isSameNote(leased.note.note, note)) return
    leased.note = this.#firstNote(note, leased.note.trace)
    const isHeld = (): boolean => this.#leased.get(taskId) === leased
    leased.storingNote ??= storeNote(this.#context, leased, isHeld, () => this.#onMissed(leased))
  }

  release(taskId: string, wakeInMs?: number, priorityMs = 0): Promise<boolean> {
    const leased = this.#leased.get(taskId)
    if (leased !== undefined) return (leased.releasing ??= this.#release(leased, wakeInMs, priorityMs))
    this.#lost.delete(taskId)
    return Promise.resolve(true)
  }

  handOut(taskId: string, inMs = 0): Promise<boolean> {
    const leased = this.#leased.get(taskId)
    if (leased === undefined) return Promise.resolve(true)
    return (leased.releasing ??= this.#leaveUnchanged(leased, async () => {
      const isHandedOut = await releaseUnchanged(this.#context, leased, handOutParking(leased, inMs))
      if (isHandedOut && inMs <= 0) this.#context.watcher.publishDue(taskId)
      return isHandedOut
    }))
  }

  async handOutSoon(key: TaskKey, inMs: number): Promise<void> {
    const { storeClient, settings } = this.#context
    await storeClient.callWithRetry('renew', () => settings.store.renew([{ key, id: PARKED }], inMs))
  }

  takeDue(): void {
    if (this.#isClosed) return
    this.#context.watcher.begin()
    this.#context.watcher.notifyDue()
  }

  #release(leased: LeasedTask<S>, wakeInMs: number | undefined, priorityMs: number): Promise<boolean> {
    const parking: Parking | undefined =
      wakeInMs === undefined ? undefined : { inMs: Math.max(1, wakeInMs), restarts: NO_RESTART }
    return this.#leaveUnchanged(leased, async () => {
      const isReleased = await releaseUnchanged(this.#context, leased, parking)
      if (isReleased && parking !== undefined && priorityMs > 0)
        this.#advanceIn(parking.inMs, leased.cached.key, priorityMs)
      return isReleased
    })
  }

  /** Moves a task that waits ahead of others, when its time has come. */
  #advanceIn(ms: number, key: TaskKey, priorityMs: number): void {
    const { timeline, settings, storeClient } = this.#context
    if (this.#advancing >= MAX_ADVANCING) return
    this.#advancing += 1
    timeline.add(ms, () => {
      this.#advancing -= 1
      if (this.#isClosed) return
      // If it has been taken and waits again, its code looks at the time, and goes on to wait.
      const advance = (): Promise<unknown> => settings.store.renew([{ key, id: PARKED }], -priorityMs)
      void storeClient.call('renew', advance).catch(storeClient.report)
    })
  }

  /** Changes that arrive before `leave` is called keep the lease: the listener has yet to handle them. */
  #leaveUnchanged(leased: LeasedTask<S>, leave: () => Promise<boolean>): Promise<boolean> {
    const { cached, changeCount } = leased
    return this.#leaveBy(
      leased,
      async () => cached.hasEnded || (leased.changeCount === changeCount && (await leave())),
    )
  }

  /** Holds the task no more, if `leave` resolves to `true` once every change is stored. */
  async #leaveBy(leased: LeasedTask<S>, leave: () => Promise<boolean>): Promise<boolean> {
    try {
      await this.#settle(leased)
      if (await leave()) {
        this.#forget(leased)
        return true
      }
    } finally {
      leased.releasing = undefined
    }
    await leased.cached.refresh()
    return false
  }

  /** Waits until every change and note of this process is stored. */
  async #settle(leased: LeasedTask<S>): Promise<void> {
    await leased.cached.settle()
    await leased.storingNote
    if (leased.reason !== undefined) throw leased.reason
  }

  /** @param isDestroyed - Whether the manager is being destroyed. */
  async close(isDestroyed = false): Promise<void> {
    const { report } = this.#context.storeClient
    this.#isClosed = true
    this.#renewal.stop()
    await Promise.all(
      [...this.#leased.values()].map(async (leased) => {
        // A release that is under way keeps the lease of a task that has changed.
        if ((await leased.releasing?.catch(report)) !== true) {
          leased.releasing = this.#leave(leased)
          await leased.releasing.catch(report)
        }
        this.#forget(leased)
        const { id } = leased.cached.key
        if (isDestroyed && !leased.cached.hasEnded)
          leased.controller?.abort(endError('MANAGER_DESTROYED', id))
      }),
    )
    // Until then, changes that others make are counted.
    this.#onClose()
  }

  /** Releases the lease of a task that waits for input. Other leases expire, and another process recovers the task. */
  async #leave(leased: LeasedTask<S>): Promise<boolean> {
    const { cached } = leased
    await this.#settle(leased)
    if (isInterrupted(cached.record.task.state, cached.lifecycle)) {
      if (await releaseInterrupted(this.#context, cached, leased.leaseId, leased.note)) return true
    }
    if (this.handsOver && !cached.hasEnded) await handOver(this.#context, leased)
    return false
  }

  /** Whether this holder has the lease of the task. */
  holds({ id, createdAt }: TaskKey): boolean {
    return this.#leased.get(id)?.cached.key.createdAt === createdAt
  }

  /** Whether the listener can work on one more recovered task. */
  get hasRoom(): boolean {
    return !this.#isClosed && hasRoomFor(this.#listener)
  }

  /** Another caller has changed a task. */
  onChanged(cached: CachedTask<S>, events: readonly TaskEvent<S>[]): void {
    this.#acquirer.onChanged(cached, events)
    const leased = this.#leased.get(cached.key.id)
    if (leased?.cached !== cached) return
    leased.changeCount += 1
    if (!this.#isClosed) callSafely(() => this.#listener.onNews(cached.tip.snapshot(), events))
  }

  /** The task has ended: aborts its signal if another caller ended it. */
  onEnd(cached: CachedTask<S>): void {
    const leased = this.#leased.get(cached.key.id)
    if (leased?.cached === cached) abortEnded(leased)
  }

  onGone(cached: CachedTask<S>, reason: Error): void {
    const leased = this.#leased.get(cached.key.id)
    if (leased?.cached === cached) this.#lose(leased, reason)
  }

  /** Restarts the work on a task whose holder has died. */
  adopt(cached: CachedTask<S>, leaseId: string, note: LeaseNote): void {
    if (!this.#isClosed) this.#adopt(cached, leaseId, note, false)
  }

  #adopt(cached: CachedTask<S>, leaseId: string, note: LeaseNote, isRequested: boolean): LeasedTask<S> {
    const { observers } = this.#context
    // It was acquired some calls ago: the work begins with a renewal.
    const leased = this.#hold(cached, leaseId, note, -Infinity)
    observers.onHeld(cached.record.snapshot(), isRequested, note.trace)
    // Pending changes of this process are not in the snapshot: `onNews` receives them once they are stored.
    observers.within(note.trace, () => this.#listener.onOrphan(cached.record.snapshot(), note.note))
    return leased
  }

  /** The name of the listener's work. */
  get worker(): string {
    return this.#listener.worker ?? ''
  }

  /** @param trace - Kept where no trace is active. */
  #firstNote(note: JsonValue | undefined, trace?: LeaseNote['trace']): LeaseNote {
    return { ...NO_NOTE, worker: this.worker, note, trace: this.#context.observers.trace() ?? trace }
  }

  #requireOpen(): void {
    if (this.#isClosed) throw closing()
  }

  #require(taskId: string): LeasedTask<S> {
    const leased = this.#leased.get(taskId)
    if (leased === undefined) throw taskNotFound(taskId)
    return leased
  }

  /** Refuses changes during a release: they might not be stored before the lease is free. */
  #requireChangeable(taskId: string): LeasedTask<S> {
    const leased = this.#require(taskId)
    if (leased.releasing !== undefined) throw taskNotFound(taskId)
    return leased
  }

  #change(taskId: string, decide: Decide<S>): readonly TaskEvent<S>[] {
    const leased = this.#requireChangeable(taskId)
    const { cached, leaseId } = leased
    const { events, stored } = cached.execute(decide, () => undefined, { leaseId, by: this })
    stored.catch((error: unknown) => this.#fail(leased, error))
    return events
  }

  /** A change that another caller's change makes illegal is dropped. When no change can be stored, the task is lost. */
  #fail(leased: LeasedTask<S>, error: unknown): void {
    if (isLoss(error)) this.#lose(leased, error)
  }

  #hold(cached: CachedTask<S>, leaseId: string, note: LeaseNote, renewedAt: number): LeasedTask<S> {
    const { id } = cached.key
    const replaced = this.#leased.get(id)
    // The store gives a lease only where there is none, or an expired one: the answer to one of both came late.
    if (replaced !== undefined) this.#lose(replaced, leaseLost(id))
    const leased = leasedTask(cached, leaseId, note, renewedAt)
    this.#leased.set(id, leased)
    this.#lost.delete(id)
    cached.uses += 1
    this.#context.watcher.begin()
    this.#renewal.begin()
    return leased
  }

  #forget(leased: LeasedTask<S>, reason?: Error): void {
    const { key } = leased.cached
    if (this.#leased.get(key.id) !== leased) return
    this.#leased.delete(key.id)
    this.#context.proposals.confirm(leased.cached)
    leased.cached.uses -= 1
    this.#context.observers.onLetGo(key, reason)
  }

  #lose(leased: LeasedTask<S>, reason: Error): void {
    const { id } = leased.cached.key
    if (leased.reason !== undefined || this.#leased.get(id) !== leased) return
    leased.reason = reason
    this.#forget(leased, reason)
    this.#lost.add(id, reason)
    leased.controller?.abort(reason)
    callSafely(() => this.#listener.onLost(id, reason))
  }

  /** A lease could not be renewed. That is a loss unless the task has ended or is being released, which drop the lease. */
  async #onMissed(leased: LeasedTask<S>): Promise<void> {
    await leased.cached.refresh()
    if (leased.releasing === undefined && !leased.cached.hasEnded)
      this.#lose(leased, leaseLost(leased.cached.key.id))
  }
}
