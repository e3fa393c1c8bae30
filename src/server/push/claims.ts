/**
 * The webhooks that this process delivers to, and its claims on them.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import { randomId } from '../../runtime/ids.js'
import type { TaskKey, TaskSnapshot } from '../../core/task.js'
import { settleWithin } from '../../runtime/shutdown.js'
import type { ErrorContext, Settings } from '../options.js'
import type { Observers } from '../observers.js'
import type { WebhookStats } from '../stats.js'
import { isShared, lastSeen, type ServedTasks } from '../tasks.js'
import { AttemptHistory } from './attempts.js'
import { CLAIM_MS, Delivery } from './delivery.js'
import type { Progress, PushStorage, Registration, StoredProgress } from './storage.js'
import type { PushSettings } from './options.js'
import { webhookError } from './webhook.js'
import { ConcurrencyLimit } from './concurrency.js'
import { FirstDeliveries } from './first-deliveries.js'
import { NotificationReader } from './notifications.js'
import { PayloadQueue, TaskPayloads } from './payloads.js'
import type { WebhookMemory } from './webhook-memory.js'

export interface PushContext extends Pick<Settings, 'onError' | 'generateId' | 'clock' | 'dialects'> {
  readonly tasks: ServedTasks
  readonly observers: Observers
}

/** How often claims are renewed, and claims that have run out are looked for, in ms. */
const TICK_MS = 5_000
/** Progress without a configuration is deleted this long after its claim has run out, in ms: it was left by a crash. */
const STRAY_MS = 600_000
/** How long closing waits for the storage, in ms. */
const STORING_MS = 5_000
/** How many deliveries may continue whose tasks were evicted. */
const MAX_RELEASED = 10_000

/**
 * A process that has claimed a webhook delivers to it and renews the claim; any process may take over a claim that has
 * run out. When two processes deliver to one webhook anyway, because a clock is wrong or a process was suspended,
 * the webhook receives notifications twice, with the same ids.
 *
 * Over a `TaskManager` there is no other process: claims never run out, a task that is evicted is still delivered to its
 * end, and closing drops what has not arrived.
 */
export class Claims {
  /** What this process has sent, also in deliveries that have ended. */
  readonly attempts = new AttemptHistory()
  readonly #settings: PushSettings
  readonly #context: PushContext
  readonly #storage: PushStorage
  readonly #isShared: boolean
  readonly #limit: ConcurrencyLimit
  readonly #firstDeliveries: FirstDeliveries
  readonly #payloads: PayloadQueue
  readonly #memory: WebhookMemory
  readonly #by = randomId()
  /** By the ids of their progress documents. */
  readonly #live = new Map<string, Delivery>()
  readonly #byTask = new Map<string, Set<Delivery>>()
  /** Deliveries of evicted tasks, the one that was evicted first is the first. */
  readonly #released = new Set<Delivery>()
  #stopTimer: () => void = () => undefined
  #sweeping: Promise<void> | undefined
  #isClosed = false

  constructor(settings: PushSettings, context: PushContext, storage: PushStorage, memory: WebhookMemory) {
    this.#settings = settings
    this.#context = context
    this.#storage = storage
    this.#memory = memory
    this.#limit = new ConcurrencyLimit(settings.maxConcurrent)
    this.#firstDeliveries = new FirstDeliveries(settings.firstDeliveries, context.clock)
    this.#payloads = new PayloadQueue(context.clock)
    const { tasks } = context
    this.#isShared = isShared(tasks)
    if (isShared(tasks)) {
      this.#schedule()
    } else {
      tasks.on('task:evicted', this.#onEvicted)
      tasks.on('task:expired', this.#onExpired)
    }
  }

  /** The delivery of this process with this progress document. */
  get(outbox: string): Delivery | undefined {
    return this.#live.get(outbox)
  }

  /** The deliveries of this process, by state, and how far they are behind the logs of their tasks. */
  count(): WebhookStats {
    const count = { idle: 0, delivering: 0, retrying: 0, disabled: 0, backlog: 0 }
    for (const { key, outbox, cursor } of this.#live.values()) {
      const { state } = outbox
      if (state === 'done') continue
      count[state] += 1
      const { generation = 0 } = lastSeen(this.#context.tasks, key.id) ?? {}
      if (state !== 'idle') count.backlog += Math.max(1, generation - (cursor ?? 0))
    }
    return count
  }

  /** A claim of this process, to be stored. */
  claim(): NonNullable<Progress['claim']> {
    return { by: this.#by, until: this.#context.clock.now() + CLAIM_MS }
  }

  /**
   * Starts a delivery. `progress` is stored already, with a claim of this process.
   *
   * @param fresh - Of a new registration. `opening` is its first notification: the task as it was then. `isOfNewTask`
   *   says whether it came with the message that began the task.
   */
  begin(
    task: TaskSnapshot,
    registration: Registration,
    progress: Pick<StoredProgress, 'value' | 'version'>,
    fresh?: { readonly opening: TaskSnapshot; readonly isOfNewTask: boolean },
  ): void {
    const { tasks, onError, dialects, clock, observers } = this.#context
    const dialect = dialects.find((each) => each.version === registration.version)
    const { outbox } = registration
    if (dialect === undefined || this.#live.has(outbox)) return
    const key = { id: task.id, createdAt: task.createdAt }
    const about = { during: 'push', taskId: key.id, configId: registration.config.id }
    const delivery = new Delivery(
      {
        storage: this.#storage,
        clock,
        by: this.#by,
        key,
        registration,
        isShared: this.#isShared,
        onDisabled: (failure) => onError(webhookError(delivery.outbox.origin, 'is disabled', failure), about),
        onError: (error) => this.#report(error, about),
        onLost: (isBusy) => void this.#reportLost(delivery, isBusy),
        onSent: (attempt) => this.attempts.add(outbox, attempt),
      },
      {
        settings: this.#settings,
        observers,
        limit: this.#limit,
        firstDeliveries: this.#firstDeliveries,
        isOfNewTask: fresh?.isOfNewTask === true,
        owner: task.owner,
        dialect,
        payloads: dialect.encodeTaskNotification && this.#payloadsOf(key, registration.version, task.owner),
        read: (turn, after) =>
          new NotificationReader(
            tasks,
            task,
            turn,
            after === undefined ? { opening: fresh?.opening } : { after },
          ),
      },
      progress,
    )
    this.#add(outbox, delivery)
    if (this.#isClosed) delivery.giveUp()
  }

  #add(outbox: string, delivery: Delivery): void {
    const { id } = delivery.key
    const ofTask = this.#byTask.get(id) ?? new Set()
    this.#byTask.set(id, ofTask.add(delivery))
    this.#live.set(outbox, delivery)
    const { config } = delivery.registration
    this.#memory.add(config)
    void delivery.ended.then(() => {
      this.#memory.remove(config)
      this.#live.delete(outbox)
      this.#released.delete(delivery)
      if (ofTask.delete(delivery) && ofTask.size === 0 && this.#byTask.get(id) === ofTask)
        this.#byTask.delete(id)
    })
  }

  #ofTask({ id, createdAt }: TaskKey): Delivery[] {
    return [...(this.#byTask.get(id) ?? [])].filter(({ key }) => key.createdAt === createdAt)
  }

  /** Webhooks of one task and dialect receive the same payloads. */
  #payloadsOf(key: TaskKey, version: string, owner: string | undefined): TaskPayloads {
    for (const { registration, payloads } of this.#ofTask(key)) {
      if (payloads && registration.version === version) return payloads
    }
    return new TaskPayloads(this.#payloads, owner)
  }

  /**
   * Takes over a delivery whose claim has run out or was given up.
   *
   * @param change - What changes in its progress.
   * @returns Whether this process delivers now.
   */
  async acquire(
    { key, outbox, value, version }: StoredProgress,
    change: Partial<Progress> = {},
  ): Promise<boolean> {
    const { dialects, tasks } = this.#context
    const { list } = (await this.#storage.configurations(key)).value
    const registration = list.find((one) => one.outbox === outbox)
    if (registration === undefined) {
      await this.#deleteStray(key, outbox, value)
      return false
    }
    // A process with other dialects may have registered it.
    if (!dialects.some((each) => each.version === registration.version)) return false
    // Another process delivers, or this one when it has room again.
    if (!this.#memory.hasRoom(registration.config)) return false
    const task = await tasks.peekTask(key.id)
    if (task?.createdAt !== key.createdAt) return false
    const claimed = { ...value, ...change, claim: this.claim() }
    if (!(await this.#storage.putOutbox(key, outbox, claimed, version))) return false
    this.begin(task, registration, { value: claimed, version: version + 1 })
    return true
  }

  /** Progress is stored before its configuration, so a recent one may still get its configuration. */
  async #deleteStray(key: TaskKey, outbox: string, { claim }: Progress): Promise<void> {
    if (claim === null || claim.until + STRAY_MS > this.#context.clock.now()) return
    await this.#storage.deleteOutbox(key, outbox)
  }

  #schedule(): void {
    this.#stopTimer = this.#context.clock.schedule(() => {
      for (const delivery of this.#live.values()) delivery.renew()
      this.#sweeping ??= this.#sweep().finally(() => {
        this.#sweeping = undefined
      })
      this.#schedule()
    }, TICK_MS)
  }

  async #sweep(): Promise<void> {
    const { clock } = this.#context
    try {
      for await (const stored of this.#storage.allOutboxes()) {
        if (this.#isClosed) break
        const { state, claim } = stored.value
        const isFree = claim === null || claim.until <= clock.now()
        if (state === 'disabled' || !isFree || this.#live.has(stored.outbox)) continue
        await this.acquire(stored)
      }
    } catch (error) {
      this.#report(error, { during: 'push' })
    }
  }

  /** An evicted task has ended: its last events are still delivered. */
  readonly #onEvicted = (task: TaskSnapshot): void => {
    for (const delivery of this.#ofTask(task)) {
      this.#released.add(delivery)
      delivery.release()
    }
    for (const delivery of this.#released) {
      if (this.#released.size <= MAX_RELEASED) break
      this.#released.delete(delivery)
      this.#drop(delivery, 'its task is gone, and there are too many like it')
    }
  }

  /** A task may expire before it has ended, and its data must not be sent any more. */
  readonly #onExpired = (task: TaskSnapshot): void => {
    for (const delivery of this.#ofTask(task)) this.#drop(delivery, EXPIRED)
  }

  #drop(delivery: Delivery, reason: string): void {
    const { isBusy } = delivery.outbox
    delivery.giveUp()
    if (isBusy) this.#reportDropped(delivery, reason)
  }

  /** Reports a delivery that stopped because its task has expired, unless another process continues with it. */
  async #reportLost(delivery: Delivery, isBusy: boolean): Promise<void> {
    // Over a TaskManager, `task:expired` reports it.
    if (!isBusy || !this.#isShared) return
    const { id, createdAt } = delivery.key
    const task = await Promise.resolve(this.#context.tasks.peekTask(id)).catch(() => undefined)
    if (task !== undefined && task?.createdAt !== createdAt) this.#reportDropped(delivery, EXPIRED)
  }

  #reportDropped({ key, outbox }: Delivery, reason: string): void {
    const about = { during: 'push', taskId: key.id, configId: outbox.configId }
    this.#context.onError(webhookError(outbox.origin, 'is dropped', { reason }), about)
  }

  /** A manager that was destroyed has nothing to deliver, and the claims of this process run out. */
  #report(error: unknown, about: ErrorContext): void {
    if (!A2AError.is(error, 'MANAGER_DESTROYED')) this.#context.onError(error, about)
  }

  /** Delivers what has happened, for `graceMs` at most. The rest is left to other processes, or dropped. */
  async close(graceMs: number): Promise<void> {
    this.#isClosed = true
    this.#stopTimer()
    const { clock, tasks } = this.#context
    const all = [...this.#live.values()]
    for (const delivery of all) delivery.close()
    const ended = all.map((delivery) => delivery.ended)
    if (graceMs > 0) await settleWithin(clock, graceMs, ended)
    for (const delivery of this.#live.values()) {
      if (this.#isShared) delivery.giveUp()
      else this.#drop(delivery, 'the agent shuts down')
    }
    const left = [...this.#live.values()].map((delivery) => delivery.ended)
    await settleWithin(clock, STORING_MS, [...left, this.#sweeping ?? Promise.resolve()])
    this.#payloads.close()
    if (isShared(tasks)) return
    tasks.off('task:evicted', this.#onEvicted)
    tasks.off('task:expired', this.#onExpired)
  }
}

const EXPIRED = 'its task has expired'
