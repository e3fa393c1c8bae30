/**
 * The leases that this process holds, and what it does under them.
 *
 * @module
 */
import {
  toAppend,
  toCreate,
  toMessage,
  toUpdate,
  type TaskCommand,
  type UpdateCommand,
} from '../core/commands.js'
import { decideCreate, requireGeneration, terminal } from '../core/decide.js'
import { A2AError, ended, invalidParams, taskNotFound } from '../core/errors.js'
import type { ArtifactChanged, MessageAdded, TaskEvent } from '../core/events.js'
import { copyTask, create } from '../core/evolve.js'
import { freezeDeep } from '../core/json.js'
import { canTransition, isInterrupted, isTerminal } from '../core/lifecycle.js'
import type { AppendArtifactOptions, ArtifactInput, ChangeOptions, CreateTaskParams } from '../core/params.js'
import type { MessageInput, TaskUpdate } from '../core/params.js'
import { randomId, throwLater } from '../core/ports.js'
import { TaskRecord } from '../core/task-record.js'
import type { JsonValue, Task, TaskSnapshot } from '../core/task.js'
import type { Deadline } from '../core/time.js'
import type { LeasedTasks, LeasedTasksListener, Taking } from './leased-tasks.js'
import type { Lease, TaskKey } from './task-store.js'
import { leaseLost, TaskMirror, type Decide } from './task-mirror.js'
import type { Workshop } from './workshop.js'
import { fold } from './stored-task.js'

interface Held<S extends string> {
  readonly mirror: TaskMirror<S>
  readonly leaseId: string
  controller: AbortController | undefined
  /** How often others have changed the task. */
  news: number
  isReleasing: boolean
  /** Why it is no longer held. */
  reason: Error | undefined
}

export class HeldTasks<S extends string> implements LeasedTasks<S> {
  readonly #shop: Workshop<S>
  readonly #listener: LeasedTasksListener<S>
  readonly #onClose: () => void
  readonly #held = new Map<string, Held<S>>()
  #heartbeat: Deadline | undefined
  #isClosed = false

  constructor(shop: Workshop<S>, listener: LeasedTasksListener<S>, onClose: () => void) {
    this.#shop = shop
    this.#listener = listener
    this.#onClose = onClose
  }

  createTask(params: CreateTaskParams, note?: JsonValue): Task<S> {
    const { settings, timeline, mirrors, host } = this.#shop
    this.#requireOpen()
    const command = toCreate(params, settings)
    if (mirrors.isTaken(command.id)) throw invalidParams('id', `is taken: ${command.id}`)
    const now = timeline.now()
    const created = decideCreate(command, settings.lifecycle, now.iso)
    const lease = this.#newLease(note)
    const { mirror } = TaskMirror.create(host, new TaskRecord(create(created), now), created, lease, this)
    mirrors.add(mirror)
    this.#hold(mirror, lease.id)
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
    const held = this.#require(taskId)
    const decide = this.#shop.decideFor(toUpdate(update, this.#shop.settings))
    const overtaken = new TypeError('Others came first')
    const { news, mirror, leaseId } = held
    while (mirror.awaitsOthers(this)) await mirror.settle()
    if (held.reason !== undefined) throw held.reason
    if (held.news !== news) return false
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
    const known = this.#held.get(taskId)
    if (known !== undefined) return taken(known)
    const { mirrors, settings, access } = this.#shop
    return await mirrors.use(taskId, true, async (mirror) => {
      const lease = this.#newLease(note)
      const acquire = (): Promise<string | undefined> => settings.store.acquire(mirror.key, lease)
      const leaseId = await access.insist('acquire', acquire)
      try {
        // What the holder before did is known then.
        await mirror.refresh()
        if (mirror.isGone) throw taskNotFound(taskId)
        const { state } = mirror.record.task
        if (leaseId === undefined || isTerminal(state, settings.lifecycle)) {
          throw terminal({ id: taskId, state }, 'update')
        }
        const here = this.#held.get(taskId)
        if (here?.leaseId === leaseId) return taken(here)
        if (leaseId !== lease.id) return { type: 'elsewhere', leaseId }
        this.#requireOpen()
        return taken(this.#hold(mirror, leaseId))
      } catch (error) {
        // Nobody would work on it, nor anybody else be let to.
        if (leaseId === lease.id) await this.#giveUp(mirror.key, lease.id)
        throw error
      }
    })
  }

  async send(seen: TaskSnapshot<S>, leaseId: string, message: MessageInput): Promise<boolean> {
    const { settings, mirrors } = this.#shop
    const { generation } = seen
    const add = toMessage(message, {}, settings)
    const resume = toUpdate<S>({ message: null }, settings)
    const decideAdd = this.#shop.decideFor(add)
    const decide: Decide<S> = (record) => {
      const { task } = record
      requireGeneration(task, generation)
      const events = decideAdd(record)
      if (!isInterrupted(task.state, settings.lifecycle)) return events
      const after = new TaskRecord(fold(task, events), record.created, record.usage)
      const command: UpdateCommand<S> = {
        ...resume,
        // The protocol's own lifecycle has it, and others have no handler.
        state: 'working' as S,
        message: task.message === undefined ? undefined : null,
      }
      return [...events, ...this.#shop.decideFor(command)(after)]
    }
    try {
      return await mirrors.use(seen.id, false, async (mirror) => {
        if (mirror.record.task.generation < generation) await mirror.refresh()
        return await mirror.execute(decide, () => true, { leaseId }).stored
      })
    } catch (error) {
      if (A2AError.is(error, 'TASK_GENERATION_MISMATCH') || A2AError.is(error, 'LEASE_LOST')) return false
      throw error
    }
  }

  async stored(taskId: string): Promise<void> {
    const held = this.#held.get(taskId)
    if (held === undefined) return
    await held.mirror.settle()
    if (held.reason !== undefined) throw held.reason
  }

  async release(taskId: string): Promise<boolean> {
    const held = this.#held.get(taskId)
    if (held === undefined) return true
    await this.stored(taskId)
    if (!hasEnded(held.mirror) && !(await this.#giveBack(held))) {
      await held.mirror.refresh()
      return false
    }
    this.#letGo(held)
    return true
  }

  /** `false` when the task has changed: still held. */
  async #giveBack(held: Held<S>): Promise<boolean> {
    const { settings, access } = this.#shop
    const { key, record } = held.mirror
    const { generation } = record.task
    held.isReleasing = true
    try {
      return await access.insist('release', () => settings.store.release(key, held.leaseId, generation))
    } finally {
      held.isReleasing = false
    }
  }

  /** @param isOver - Whether its manager is destroyed. */
  async close(isOver = false): Promise<void> {
    this.#isClosed = true
    this.#onClose()
    if (this.#heartbeat !== undefined) this.#shop.timeline.remove(this.#heartbeat)
    await Promise.all(
      [...this.#held.values()].map(async (held) => {
        const { mirror } = held
        await mirror.settle()
        // Of a task that is worked on, or has just been answered, whoever finds the lease run out sees to it.
        if (isInterrupted(mirror.record.task.state, mirror.lifecycle)) {
          await this.#giveBack(held).catch(this.#shop.access.report)
        }
        this.#letGo(held)
        const { id } = mirror.key
        if (isOver && !hasEnded(mirror)) held.controller?.abort(ended('MANAGER_DESTROYED', id))
      }),
    )
  }

  /** Whether this process works on the task. */
  holds({ id, createdAt }: TaskKey): boolean {
    return this.#held.get(id)?.mirror.key.createdAt === createdAt
  }

  /** Others have changed a task: nothing to those who do not hold it. */
  onNews(mirror: TaskMirror<S>, events: readonly TaskEvent<S>[]): void {
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
  adopt(mirror: TaskMirror<S>, leaseId: string, note: JsonValue | undefined): void {
    if (this.#isClosed) return
    this.#hold(mirror, leaseId)
    tell(() => this.#listener.onOrphan(mirror.tip.show(), note))
  }

  #requireOpen(): void {
    if (!this.#isClosed) return
    throw new A2AError('UNAVAILABLE', 'This process works on no tasks any more', { reason: 'closed' })
  }

  async #giveUp(key: TaskKey, leaseId: string): Promise<void> {
    const { settings, access } = this.#shop
    await access.once('release', () => settings.store.release(key, leaseId)).catch(access.report)
  }

  #newLease(note: JsonValue | undefined): Lease {
    return { id: randomId(), ttlMs: this.#shop.settings.leaseMs, note }
  }

  #require(taskId: string): Held<S> {
    const held = this.#held.get(taskId)
    if (held === undefined) throw taskNotFound(taskId)
    return held
  }

  #change(taskId: string, command: TaskCommand<S>): readonly TaskEvent<S>[] {
    const held = this.#require(taskId)
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

  #hold(mirror: TaskMirror<S>, leaseId: string): Held<S> {
    const beside = { controller: undefined, news: 0, isReleasing: false, reason: undefined }
    const held: Held<S> = { mirror, leaseId, ...beside }
    this.#held.set(mirror.key.id, held)
    mirror.uses += 1
    this.#shop.watch.begin()
    this.#beat()
    return held
  }

  #letGo(held: Held<S>): void {
    const { key } = held.mirror
    if (this.#held.get(key.id) !== held) return
    this.#held.delete(key.id)
    held.mirror.uses -= 1
  }

  #lose(held: Held<S>, reason: Error): void {
    if (held.reason !== undefined || this.#held.get(held.mirror.key.id) !== held) return
    held.reason = reason
    this.#letGo(held)
    held.controller?.abort(reason)
    tell(() => this.#listener.onLost(held.mirror.key.id, reason))
  }

  #beat(): void {
    const { timeline, settings } = this.#shop
    if (this.#isClosed || this.#held.size === 0) return
    this.#heartbeat ??= timeline.add(settings.leaseMs / 3, () => void this.#renew())
  }

  async #renew(): Promise<void> {
    this.#heartbeat = undefined
    const { access, settings } = this.#shop
    const all = [...this.#held.values()].filter(({ mirror }) => mirror.isStored && !hasEnded(mirror))
    const leases = all.map(({ mirror, leaseId }) => ({ key: mirror.key, id: leaseId }))
    const renew = (): Promise<readonly string[]> => settings.store.renew(leases, settings.leaseMs)
    const ask = leases.length === 0 ? Promise.resolve([]) : access.once('renew', renew)
    const renewed = await ask.catch(access.report)
    this.#beat()
    if (renewed === undefined) return
    const ids = new Set(renewed)
    for (const held of all) if (!ids.has(held.leaseId)) await this.#miss(held).catch(access.report)
  }

  /** A lease could not be renewed. Who ended the task, or gives it back, took the lease with it: that is no loss. */
  async #miss(held: Held<S>): Promise<void> {
    await held.mirror.refresh()
    if (!held.isReleasing && !hasEnded(held.mirror)) this.#lose(held, leaseLost(held.mirror.key.id))
  }
}

/** What a listener throws harms nobody. */
function tell(job: () => void): void {
  try {
    job()
  } catch (error) {
    throwLater(error)
  }
}

function abortEnded<S extends string>({ mirror, controller }: Held<S>): void {
  const { over } = mirror.record
  if (hasEnded(mirror) && over !== undefined) controller?.abort(ended(over, mirror.key.id))
}

function hasEnded<S extends string>({ record, lifecycle }: TaskMirror<S>): boolean {
  return isTerminal(record.task.state, lifecycle)
}

function taken<S extends string>({ mirror, leaseId }: Held<S>): Taking<S> {
  return { type: 'taken', task: mirror.tip.show(), leaseId }
}
