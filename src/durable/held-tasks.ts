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
import { decideCreate, terminal } from '../core/decide.js'
import { A2AError, invalidParams, taskNotFound } from '../core/errors.js'
import type { ArtifactChanged, MessageAdded, TaskEvent } from '../core/events.js'
import { copyTask, create } from '../core/evolve.js'
import { signalOf } from '../core/followers.js'
import { freezeDeep } from '../core/json.js'
import { canTransition, isInterrupted, isTerminal } from '../core/lifecycle.js'
import type { AppendArtifactOptions, ArtifactInput, ChangeOptions, CreateTaskParams } from '../core/params.js'
import type { MessageInput, TaskUpdate } from '../core/params.js'
import { randomId } from '../core/ports.js'
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
  /** Why it is no longer held. */
  reason: Error | undefined
}

export class HeldTasks<S extends string> implements LeasedTasks<S> {
  readonly #shop: Workshop<S>
  readonly #listener: LeasedTasksListener<S>
  readonly #onClose: () => void
  readonly #held = new Map<string, Held<S>>()
  #heartbeat: Deadline | undefined

  constructor(shop: Workshop<S>, listener: LeasedTasksListener<S>, onClose: () => void) {
    this.#shop = shop
    this.#listener = listener
    this.#onClose = onClose
  }

  createTask(params: CreateTaskParams, note?: JsonValue): Task<S> {
    const { settings, timeline, mirrors, host } = this.#shop
    const command = toCreate(params, settings)
    if (mirrors.get(command.id)?.isGone === false) throw invalidParams('id', `is taken: ${command.id}`)
    const now = timeline.now()
    const created = decideCreate(command, settings.lifecycle, now.iso)
    const lease = this.#newLease(note)
    const { mirror } = TaskMirror.create(host, new TaskRecord(create(created), now), created, lease)
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
    let isFirst = true
    const decideOnce: Decide<S> = (record) => {
      if (!isFirst) throw overtaken
      isFirst = false
      return decide(record)
    }
    try {
      return await held.mirror.execute(decideOnce, held.leaseId, () => true).stored
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
    const controller = new AbortController()
    held.controller = controller
    const { record, lifecycle } = held.mirror
    const signal = signalOf(record, isTerminal(record.task.state, lifecycle))
    const abort = (): void => controller.abort(signal.reason)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    return controller.signal
  }

  async take(taskId: string, note?: JsonValue): Promise<Taking<S>> {
    const known = this.#held.get(taskId)
    if (known !== undefined) return taken(known)
    const { mirrors, settings, access } = this.#shop
    return await mirrors.use(taskId, true, async (mirror) => {
      const lease = this.#newLease(note)
      const acquire = (): Promise<string | undefined> => settings.store.acquire(mirror.key, lease)
      const leaseId = await access.insist('acquire', acquire)
      // What the holder before did is known then.
      await mirror.refresh()
      if (mirror.isGone) throw taskNotFound(taskId)
      const { state } = mirror.record.task
      if (leaseId === undefined || isTerminal(state, settings.lifecycle)) {
        throw terminal({ id: taskId, state }, 'update')
      }
      if (leaseId !== lease.id) return { type: 'elsewhere', leaseId }
      return taken(this.#hold(mirror, leaseId))
    })
  }

  async send(seen: TaskSnapshot<S>, leaseId: string, message: MessageInput): Promise<boolean> {
    const { settings, mirrors } = this.#shop
    const { generation } = seen
    const add = toMessage(message, { expectedGeneration: generation }, settings)
    const resume = toUpdate<S>({ message: null }, settings)
    const decideAdd = this.#shop.decideFor(add)
    const decide: Decide<S> = (record) => {
      const events = decideAdd(record)
      const { task } = record
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
        const news = await mirror.execute(decide, leaseId, (_, events) => events).stored
        this.onNews(mirror, news)
        return true
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
    const { mirror, leaseId } = held
    const { task } = mirror.record
    if (!isTerminal(task.state, mirror.lifecycle)) {
      const { generation } = task
      const { settings, access } = this.#shop
      const release = (): Promise<boolean> => settings.store.release(mirror.key, leaseId, generation)
      if (!(await access.insist('release', release))) {
        await mirror.refresh()
        return false
      }
    }
    this.#letGo(held)
    return true
  }

  async close(): Promise<void> {
    this.#onClose()
    if (this.#heartbeat !== undefined) this.#shop.timeline.remove(this.#heartbeat)
    const { settings, access } = this.#shop
    await Promise.all(
      [...this.#held.values()].map(async (held) => {
        const { mirror, leaseId } = held
        await mirror.settle()
        // Of a task that is worked on, whoever finds the lease run out sees to it.
        if (isInterrupted(mirror.record.task.state, mirror.lifecycle)) {
          const release = (): Promise<boolean> => settings.store.release(mirror.key, leaseId)
          await access.once('release', release).catch(access.report)
        }
        this.#letGo(held)
      }),
    )
  }

  /** Others have changed a task: nothing to those who do not hold it. */
  onNews(mirror: TaskMirror<S>, events: readonly TaskEvent<S>[]): void {
    if (this.#held.get(mirror.key.id)?.mirror !== mirror) return
    this.#listener.onNews(mirror.tip.show(), events)
  }

  onGone(mirror: TaskMirror<S>, reason: Error): void {
    const held = this.#held.get(mirror.key.id)
    if (held?.mirror === mirror) this.#lose(held, reason)
  }

  /** Has a task worked on again whose holder has died. */
  adopt(mirror: TaskMirror<S>, leaseId: string, note: JsonValue | undefined): void {
    this.#hold(mirror, leaseId)
    this.#listener.onOrphan(mirror.tip.show(), note)
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
    const { events, stored } = held.mirror.execute(this.#stubborn(command), held.leaseId, () => undefined)
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
    const held: Held<S> = { mirror, leaseId, controller: undefined, reason: undefined }
    this.#held.set(mirror.key.id, held)
    mirror.uses += 1
    this.#shop.watch.begin()
    this.#heartbeat ??= this.#shop.timeline.add(this.#shop.settings.leaseMs / 3, () => void this.#renew())
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
    this.#listener.onLost(held.mirror.key.id, reason)
  }

  async #renew(): Promise<void> {
    this.#heartbeat = undefined
    const { settings, access, timeline } = this.#shop
    const all = [...this.#held.values()].filter(({ mirror }) => mirror.isStored && !hasEnded(mirror))
    const leases = all.map(({ mirror, leaseId }) => ({ key: mirror.key, id: leaseId }))
    try {
      const renewed = new Set(await this.#renewAll(leases))
      for (const held of all) {
        if (renewed.has(held.leaseId)) continue
        // Whoever ended the task took the lease with it: that is no loss.
        await held.mirror.refresh()
        if (!hasEnded(held.mirror)) this.#lose(held, leaseLost(held.mirror.key.id))
      }
    } catch (error) {
      access.report(error)
    }
    if (this.#held.size > 0) this.#heartbeat ??= timeline.add(settings.leaseMs / 3, () => void this.#renew())
  }

  #renewAll(leases: readonly { readonly key: TaskKey; readonly id: string }[]): Promise<readonly string[]> {
    const { settings, access } = this.#shop
    if (leases.length === 0) return Promise.resolve([])
    return access.once('renew', () => settings.store.renew(leases, settings.leaseMs))
  }
}

function hasEnded<S extends string>({ record, lifecycle }: TaskMirror<S>): boolean {
  return isTerminal(record.task.state, lifecycle)
}

function taken<S extends string>({ mirror, leaseId }: Held<S>): Taking<S> {
  return { type: 'taken', task: mirror.tip.show(), leaseId }
}
