/**
 * The leases that this process holds, and what it does under them.
 *
 * @module
 */
import { toAppend, toCreate, toMessage, toUpdate, type TaskCommand } from '../../core/commands.js'
import { decideCreate } from '../../core/decide.js'
import { A2AError, ended, invalidParams, taskNotFound } from '../../core/errors.js'
import type { ArtifactChanged, MessageAdded, TaskEvent } from '../../core/events.js'
import { copyTask, create } from '../../core/evolve.js'
import { freezeDeep } from '../../core/json.js'
import { canTransition, isInterrupted } from '../../core/lifecycle.js'
import type {
  AppendArtifactOptions,
  ArtifactInput,
  ChangeOptions,
  CreateTaskParams,
  MessageInput,
  TaskUpdate,
} from '../../core/params.js'
import { randomId } from '../../runtime/ids.js'
import { throwLater } from '../../runtime/report.js'
import type { JsonValue } from '../../core/json-types.js'
import { TaskRecord } from '../../core/task-record.js'
import type { Task, TaskSnapshot, TaskKey } from '../../core/task.js'
import type { Decide } from '../cache/change.js'
import { Heartbeat } from './renewal.js'
import { abortEnded, hasEnded, taken, tell, type Held } from './leased-task.js'
import { isSameNote, toStoredNote, type LeaseNote } from './lease-note.js'
import type { LeasedTasks, LeasedTasksListener, Taking } from '../../core/managers.js'
import { send } from './forward-message.js'
import { Takings } from './acquire.js'
import { leaseLost, TaskMirror } from '../cache/cached-task.js'
import type { Workshop } from '../context.js'

/** Of how many tasks that were lost it is remembered why. */
const MAX_LOST = 1_000

export class HeldTasks<S extends string> implements LeasedTasks<S> {
  readonly #shop: Workshop<S>
  readonly #listener: LeasedTasksListener<S>
  readonly #onClose: () => void
  readonly #held = new Map<string, Held<S>>()
  /** Why tasks are no longer held, the latest last. */
  readonly #lost = new Map<string, Error>()
  readonly #takings: Takings<S>
  readonly #heartbeat: Heartbeat<S>
  #isClosed = false

  constructor(shop: Workshop<S>, listener: LeasedTasksListener<S>, onClose: () => void) {
    this.#shop = shop
    this.#listener = listener
    this.#onClose = onClose
    this.#heartbeat = new Heartbeat(shop, this.#held, (held) => this.#miss(held))
    this.#takings = new Takings(shop)
  }

  createTask(params: CreateTaskParams, note?: JsonValue): Task<S> {
    const { settings, timeline, mirrors, host } = this.#shop
    this.#requireOpen()
    const command = toCreate(params, settings)
    if (mirrors.isTaken(command.id)) throw invalidParams('id', `is taken: ${command.id}`)
    const now = timeline.now()
    const created = decideCreate(command, settings.lifecycle, now.iso)
    const first = { restarts: 0, note }
    const lease = { id: randomId(), ttlMs: settings.leaseMs, note: toStoredNote(first) }
    const { mirror } = TaskMirror.create(host, new TaskRecord(create(created), now), created, lease, this)
    mirrors.add(mirror)
    this.#hold(mirror, lease.id, first)
    return copyTask(mirror.record.task)
  }

  addMessage(taskId: string, message: MessageInput, options: ChangeOptions = {}): MessageAdded {
    const events = this.#change(taskId, toMessage(message, options, this.#shop.settings))
    // A message command makes one message event.
    return freezeDeep(events[0] as MessageAdded)
  }

  patchTask(taskId: string, update: TaskUpdate<S>): void {
    this.#change(taskId, toUpdate(update, this.#shop.settings))
  }

  appendArtifact(taskId: string, artifact: ArtifactInput, options?: AppendArtifactOptions): ArtifactChanged {
    const events = this.#change(taskId, toAppend(artifact, options, this.#shop.settings))
    // A chunk makes one event of it.
    return freezeDeep(events[0] as ArtifactChanged)
  }

  async finish(taskId: string, update: TaskUpdate<S>): Promise<boolean> {
    const held = this.#requireChangeable(taskId)
    const decide = this.#shop.decideFor(toUpdate(update, this.#shop.settings))
    const overtaken = new TypeError('Others came first')
    const { news, mirror, leaseId } = held
    while (mirror.awaitsOthers(this)) await mirror.settle()
    if (held.reason !== undefined) throw held.reason
    if (held.news !== news) return false
    this.#requireChangeable(taskId)
    let isFirst = true
    const decideOnce: Decide<S> = (record) => {
      if (!isFirst) throw overtaken
      isFirst = false
      return decide(record)
    }
    try {
      return await mirror.execute(decideOnce, () => true, { leaseId, by: this }).stored
    } catch (error) {
      if (error === overtaken) return false
      this.#fail(held, error)
      throw error
    }
  }

  can(taskId: string, state: S): boolean {
    const held = this.#held.get(taskId)
    if (held === undefined) return false
    return canTransition(held.mirror.tip.task.state, state, this.#shop.settings.lifecycle)
  }

  peekTask(taskId: string): TaskSnapshot<S> | null {
    return this.#held.get(taskId)?.mirror.tip.show() ?? null
  }

  signalOf(taskId: string): AbortSignal {
    const held = this.#require(taskId)
    if (held.controller !== undefined) return held.controller.signal
    // Not the record's own, which would keep the task in memory after it was given back.
    const controller = new AbortController()
    held.controller = controller
    abortEnded(held)
    return controller.signal
  }

  async take(taskId: string, note?: JsonValue): Promise<Taking<S>> {
    this.#requireOpen()
    await this.#held.get(taskId)?.releasing?.catch(() => undefined)
    const known = this.#held.get(taskId)
    if (known !== undefined) return taken(known)
    const first = { restarts: 0, note }
    const taking = await this.#takings.take(taskId, toStoredNote(first), {
      hold: (mirror, leaseId, news) => {
        this.#requireOpen()
        const held = this.#hold(mirror, leaseId, first)
        if (news.length > 0) tell(() => this.#listener.onNews(mirror.tip.show(), news))
        return taken(held)
      },
      adopt: (mirror, leaseId, noted) => {
        this.#requireOpen()
        return taken(this.#adopt(mirror, leaseId, noted))
      },
    })
    const here = this.#held.get(taskId)
    return here?.leaseId === taking.leaseId ? taken(here) : taking
  }

  async send(seen: TaskSnapshot<S>, leaseId: string, message: MessageInput): Promise<boolean> {
    return await send(this.#shop, seen, leaseId, message)
  }

  async stored(taskId: string): Promise<void> {
    const held = this.#held.get(taskId)
    await held?.mirror.settle()
    const reason = held === undefined ? this.#lost.get(taskId) : held.reason
    if (reason !== undefined) throw reason
  }

  setNote(taskId: string, note: JsonValue): void {
    const held = this.#requireChangeable(taskId)
    if (isSameNote(held.note.note, note)) return
    held.note = { restarts: 0, note }
    held.noting ??= this.#tellNote(held)
  }

  /** The latest is told after what was on its way when it was given, and those before it need not be. */
  async #tellNote(held: Held<S>): Promise<void> {
    const { settings, access } = this.#shop
    const { mirror, leaseId } = held
    for (let told: LeaseNote | undefined; told !== held.note;) {
      await mirror.settle()
      if (this.#held.get(mirror.key.id) !== held || hasEnded(mirror)) break
      told = held.note
      const lease = { id: leaseId, ttlMs: settings.leaseMs, note: toStoredNote(told) }
      const { key } = mirror
      try {
        // A lease that was lost, and is free by now, must not be taken again: from here on it lasts.
        const renew = (): Promise<readonly string[]> =>
          settings.store.renew([{ key, id: leaseId }], lease.ttlMs)
        const [renewed] = await access.insist('renew', renew)
        const grant = renewed && (await access.insist('acquire', () => settings.store.acquire(key, lease)))
        if (!grant || grant.leaseId !== leaseId) await this.#miss(held)
      } catch (error) {
        access.report(error)
      }
    }
    held.noting = undefined
  }

  release(taskId: string): Promise<boolean> {
    const held = this.#held.get(taskId)
    if (held !== undefined) return (held.releasing ??= this.#release(held))
    this.#lost.delete(taskId)
    return Promise.resolve(true)
  }

  async #release(held: Held<S>): Promise<boolean> {
    const { mirror, news } = held
    try {
      await this.#settle(held)
      // What was told meanwhile has not been seen to.
      if (hasEnded(mirror) || (held.news === news && (await this.#giveBack(held)))) {
        this.#letGo(held)
        return true
      }
    } finally {
      held.releasing = undefined
    }
    await mirror.refresh()
    return false
  }

  /** Until all is stored that was done here. */
  async #settle(held: Held<S>): Promise<void> {
    await held.mirror.settle()
    await held.noting
    if (held.reason !== undefined) throw held.reason
  }

  /** `false` when the task has changed: still held. */
  async #giveBack({ mirror, leaseId }: Held<S>): Promise<boolean> {
    const { settings, access } = this.#shop
    const { key, record } = mirror
    const { generation } = record.task
    return await access.insist('release', () => settings.store.release(key, leaseId, generation))
  }

  /** @param isOver - Whether its manager is destroyed. */
  async close(isOver = false): Promise<void> {
    this.#isClosed = true
    this.#onClose()
    this.#heartbeat.stop()
    await Promise.all(
      [...this.#held.values()].map(async (held) => {
        held.releasing ??= this.#leave(held)
        await held.releasing.catch(this.#shop.access.report)
        this.#letGo(held)
        const { id } = held.mirror.key
        if (isOver && !hasEnded(held.mirror)) held.controller?.abort(ended('MANAGER_DESTROYED', id))
      }),
    )
  }

  /** Of a task that is worked on, or has just been answered, whoever finds the lease run out sees to it. */
  async #leave(held: Held<S>): Promise<boolean> {
    const { mirror } = held
    await this.#settle(held)
    return isInterrupted(mirror.record.task.state, mirror.lifecycle) && (await this.#giveBack(held))
  }

  /** Whether this process works on the task. */
  holds({ id, createdAt }: TaskKey): boolean {
    return this.#held.get(id)?.mirror.key.createdAt === createdAt
  }

  /** Whether there is somebody to work on one more task whose holder has died. */
  get hasRoom(): boolean {
    try {
      return !this.#isClosed && (this.#listener.hasRoom?.() ?? true)
    } catch (error) {
      throwLater(error)
      return false
    }
  }

  /** Others have changed a task: nothing to those who do not hold it, nor are about to. */
  onNews(mirror: TaskMirror<S>, events: readonly TaskEvent<S>[]): void {
    this.#takings.onNews(mirror, events)
    const held = this.#held.get(mirror.key.id)
    if (held?.mirror !== mirror) return
    held.news += 1
    tell(() => this.#listener.onNews(mirror.tip.show(), events))
  }

  /** The task has ended: those who work on it learn why, where it was not they. */
  onEnd(mirror: TaskMirror<S>): void {
    const held = this.#held.get(mirror.key.id)
    if (held?.mirror === mirror) abortEnded(held)
  }

  onGone(mirror: TaskMirror<S>, reason: Error): void {
    const held = this.#held.get(mirror.key.id)
    if (held?.mirror === mirror) this.#lose(held, reason)
  }

  /** Has a task worked on again whose holder has died. */
  adopt(mirror: TaskMirror<S>, leaseId: string, note: LeaseNote): void {
    if (!this.#isClosed) this.#adopt(mirror, leaseId, note)
  }

  #adopt(mirror: TaskMirror<S>, leaseId: string, note: LeaseNote): Held<S> {
    const held = this.#hold(mirror, leaseId, note)
    // What is on its way here is not part of it: that is told as news, once it is stored.
    tell(() => this.#listener.onOrphan(mirror.record.show(), note.note))
    return held
  }

  #requireOpen(): void {
    if (!this.#isClosed) return
    throw new A2AError('UNAVAILABLE', 'This process works on no tasks any more', { reason: 'closed' })
  }

  #require(taskId: string): Held<S> {
    const held = this.#held.get(taskId)
    if (held === undefined) throw taskNotFound(taskId)
    return held
  }

  /** A change that came while the lease is given back might not be stored any more. */
  #requireChangeable(taskId: string): Held<S> {
    const held = this.#require(taskId)
    if (held.releasing !== undefined) throw taskNotFound(taskId)
    return held
  }

  #change(taskId: string, command: TaskCommand<S>): readonly TaskEvent<S>[] {
    const held = this.#requireChangeable(taskId)
    const { mirror, leaseId } = held
    const decide = this.#stubborn(command)
    const { events, stored } = mirror.execute(decide, () => undefined, { leaseId, by: this })
    stored.catch((error: unknown) => this.#fail(held, error))
    return events
  }

  /** When others have moved the task to the very state meanwhile, the rest of the update is still to be made. */
  #stubborn(command: TaskCommand<S>): Decide<S> {
    const decide = this.#shop.decideFor(command)
    if (command.type !== 'update' || command.state === undefined) return decide
    const { output, artifacts, message, state } = command
    const saysMore = output !== undefined || artifacts.length > 0 || (message ?? null) !== null
    const decideRest = this.#shop.decideFor({ ...command, state: undefined })
    let isFirst = true
    return (record) => {
      const isThere = !isFirst && saysMore && record.task.state === state
      isFirst = false
      return isThere ? decideRest(record) : decide(record)
    }
  }

  /** What was refused after what others did is left out; but when nothing can be stored any more, the task is lost. */
  #fail(held: Held<S>, error: unknown): void {
    if (
      ['STORE_FAILED', 'LEASE_LOST', 'UNAVAILABLE'].some((code) => A2AError.is(error) && error.code === code)
    ) {
      this.#lose(held, error as Error)
    }
  }

  #hold(mirror: TaskMirror<S>, leaseId: string, note: LeaseNote): Held<S> {
    const beside = {
      noting: undefined,
      controller: undefined,
      news: 0,
      releasing: undefined,
      reason: undefined,
    }
    const held: Held<S> = { mirror, leaseId, note, ...beside }
    this.#held.set(mirror.key.id, held)
    this.#lost.delete(mirror.key.id)
    mirror.uses += 1
    this.#shop.watch.begin()
    this.#heartbeat.begin()
    return held
  }

  #letGo(held: Held<S>): void {
    const { key } = held.mirror
    if (this.#held.get(key.id) !== held) return
    this.#held.delete(key.id)
    held.mirror.uses -= 1
  }

  #lose(held: Held<S>, reason: Error): void {
    const { id } = held.mirror.key
    if (held.reason !== undefined || this.#held.get(id) !== held) return
    held.reason = reason
    this.#letGo(held)
    this.#lost.set(id, reason)
    for (const oldest of this.#lost.keys()) if (this.#lost.size > MAX_LOST) this.#lost.delete(oldest)
    held.controller?.abort(reason)
    tell(() => this.#listener.onLost(id, reason))
  }

  /** A lease could not be renewed. Who ended the task, or gives it back, took the lease with it: that is no loss. */
  async #miss(held: Held<S>): Promise<void> {
    await held.mirror.refresh()
    if (held.releasing === undefined && !hasEnded(held.mirror))
      this.#lose(held, leaseLost(held.mirror.key.id))
  }
}
