/**
 * The webhooks of all tasks: registration, state and end.
 *
 * @module
 */
import type { TaskDocuments } from '../../core/managers.js'
import { randomId } from '../../runtime/ids.js'
import type { TaskKey, TaskSnapshot } from '../../core/task.js'
import type { PushConfig, Requests, Results, TaskPushConfig } from '../../wire/dialect.js'
import type { WebhookStats } from '../stats.js'
import { isShared } from '../tasks.js'
import { unavailable } from '../unavailable.js'
import { Claims, type PushContext } from './claims.js'
import { PushChecks, pushNotSupported, requireNotifications } from './config.js'
import { storedHealthOf, type PushDeadLetter, type PushDeliveries, type PushHealth } from './health.js'
import { PushStorage, type Progress, type Registration, type StoredProgress } from './storage.js'
import { configIn, isNewTo, pageOf, requireAtMost, sameIn, type Candidate } from './listing.js'
import type { PushSettings } from './options.js'
import { notificationIdOf, showNotification } from './encoding.js'
import { NotificationReader } from './notifications.js'
import { healthOf } from './outbox.js'
import { WebhookMemory } from './webhook-memory.js'
import type { Caller } from '../caller.js'

/** Registers a checked configuration for a task. Its first notification is `task`; `null` when that is gone. */
export type Register = (taskId: string, task: TaskSnapshot | null) => Promise<TaskPushConfig>

const FRESH = { cursor: null, delivered: 0, attempts: 0, failure: null, state: 'active' } as const

/**
 * Webhooks live in documents beside their tasks: in memory over a `TaskManager`, otherwise in the store, where every
 * process registers and delivers. In addition to the errors of each method, methods reject with `STORE_FAILED`.
 */
export class PushRegistry implements PushDeliveries {
  readonly #settings: PushSettings
  readonly #context: PushContext
  readonly #checks: PushChecks
  readonly #storage: PushStorage
  readonly #memory: WebhookMemory
  readonly #claims: Claims
  #isClosed = false

  constructor(settings: PushSettings, context: PushContext, documents: TaskDocuments) {
    this.#settings = settings
    this.#context = context
    this.#checks = new PushChecks(settings, context.onError)
    this.#storage = new PushStorage(documents, isShared(context.tasks))
    this.#memory = new WebhookMemory(documents)
    this.#claims = new Claims(settings, context, this.#storage, this.#memory)
  }

  /**
   * Checks a configuration before it is registered.
   *
   * @param taskId - Of the task, if it exists already.
   * @param isInline - Whether the configuration came with a message.
   * @throws {A2AError} As a rejection: `INVALID_PARAMS`; `LIMIT_EXCEEDED`; `PUSH_NOTIFICATION_NOT_SUPPORTED` in a
   *   version that has no notifications; `UNAVAILABLE`; `REQUEST_ABORTED`.
   */
  async prepare(
    config: PushConfig,
    caller: Pick<Caller, 'dialect' | 'signal' | 'principal'>,
    taskId: string | undefined,
    isInline: boolean,
  ): Promise<Register> {
    const { dialect } = caller
    requireNotifications(dialect)
    const about = { dialect, isInline, isOfNewTask: taskId === undefined }
    const isKnown = taskId !== undefined && (await this.#isKnown(taskId, { config, ...about }))
    this.#memory.requireRoom(config)
    const checked = await this.#checks.check(config, caller, taskId, isKnown)
    this.#requireOpen()
    return (id, task) => this.#register(id, task, { config: checked, ...about })
  }

  /** The configuration with this id; without an id, the latest. */
  async get(task: TaskSnapshot, id: string | undefined): Promise<TaskPushConfig> {
    return configIn(await this.#of(task), task.id, id)
  }

  async list(
    task: TaskSnapshot,
    request: Requests['ListTaskPushNotificationConfigs'],
  ): Promise<Results['ListTaskPushNotificationConfigs']> {
    return pageOf(await this.#of(task), request)
  }

  /** Nothing more is sent afterwards, but a request that is under way may still arrive. Idempotent. */
  async delete(task: TaskSnapshot, id: string): Promise<void> {
    const key = keyOf(task)
    await this.#storage.change(key, async ({ list, next }) => {
      const found = list.find(({ config }) => config.id === id)
      if (found === undefined) return { result: undefined }
      await this.#end(key, found)
      return { result: undefined, changed: { list: list.filter((one) => one !== found), next } }
    })
  }

  /** The deliveries of this process. */
  count(): WebhookStats {
    return this.#claims.count()
  }

  /** Registers nothing more, and ends deliveries within `graceMs`. */
  async close(graceMs: number): Promise<void> {
    this.#isClosed = true
    await this.#claims.close(graceMs)
  }

  readonly health = async (taskId?: string): Promise<PushHealth[]> => {
    if (taskId !== undefined) {
      const task = await this.#peek(taskId)
      if (task === null) return []
      const outboxes = await this.#storage.outboxes(keyOf(task))
      return this.#healthIn(keyOf(task), await this.#of(task), outboxes)
    }
    const outboxes = new Map<string, StoredProgress>()
    for await (const stored of this.#storage.allOutboxes()) outboxes.set(stored.outbox, stored)
    const all: PushHealth[] = []
    for await (const { key, value } of this.#storage.allConfigurations()) {
      all.push(...this.#healthIn(key, value.list, outboxes))
    }
    return all
  }

  readonly deadLetters = async (): Promise<PushDeadLetter[]> => {
    const byTask = new Map<string, StoredProgress[]>()
    for await (const stored of this.#storage.allOutboxes()) {
      const { id, createdAt } = stored.key
      const task = JSON.stringify([id, createdAt])
      // A task has its place by its first webhook, also if only later ones are disabled.
      const disabled = byTask.get(task) ?? []
      if (stored.value.state === 'disabled') disabled.push(stored)
      byTask.set(task, disabled)
    }
    const letters: PushDeadLetter[] = []
    for (const disabled of byTask.values()) letters.push(...(await this.#lettersOf(disabled)))
    return letters
  }

  readonly redeliver = async (taskId: string, id: string): Promise<boolean> => {
    const task = await this.#peek(taskId)
    if (task === null) return false
    const found = (await this.#of(task)).find(({ config }) => config.id === id)
    return found !== undefined && (await this.#enable(keyOf(task), found))
  }

  #requireOpen(): void {
    if (this.#isClosed) throw unavailable()
  }

  /**
   * Whether the task has a webhook with this URL.
   *
   * @throws {A2AError} As a rejection: `LIMIT_EXCEEDED` when the task has no room for it. Registering checks this again:
   *   other configurations may be registered in between.
   */
  async #isKnown(taskId: string, candidate: Candidate): Promise<boolean> {
    const task = await this.#peek(taskId)
    if (task === null) return false
    const known = await this.#of(task)
    if (isNewTo(known, candidate)) requireAtMost(this.#settings.maxPerTask, known.length + 1)
    return known.some(({ config }) => config.url === candidate.config.url)
  }

  async #register(taskId: string, task: TaskSnapshot | null, candidate: Candidate): Promise<TaskPushConfig> {
    const config = { ...candidate.config, id: candidate.config.id ?? this.#context.generateId() }
    if (!candidate.isInline) this.#requireOpen()
    // The task may have been removed since its message was accepted: then there is nothing to deliver.
    if (task === null || this.#isClosed) return { taskId, config }
    const key = keyOf(task)
    const trace = this.#context.observers.trace()
    const traced = trace && { trace }
    const fresh = { config, version: candidate.dialect.version, outbox: randomId(), ...traced }
    const value: Progress = { ...FRESH, claim: this.#claims.claim() }
    const written = { isOutbox: false, isAll: false }
    try {
      const registered = await this.#storage.change(key, async ({ list, next }) => {
        const present = await this.#present(key, list, candidate, fresh.outbox)
        if (present !== undefined) return { result: present }
        const replaced = list.find((one) => one.config.id === config.id)
        if (replaced === undefined) requireAtMost(this.#settings.maxPerTask, list.length + 1)
        // Before the configuration: if this process crashes after that, another one delivers.
        written.isOutbox ||= await this.#storage.putOutbox(key, fresh.outbox, value, 0)
        if (replaced !== undefined) await this.#end(key, replaced)
        const result = { ...fresh, number: replaced?.number ?? next }
        const others = list.filter((one) => one !== replaced)
        return { result, changed: { list: [...others, result], next: Math.max(next, result.number + 1) } }
      })
      written.isAll = registered.outbox === fresh.outbox
      const { isOfNewTask } = candidate
      if (written.isAll)
        this.#claims.begin(task, registered, { value, version: 1 }, { opening: task, isOfNewTask })
      // Registering the same configuration again enables it again.
      else await this.#enable(key, registered)
      return { taskId, config: registered.config }
    } finally {
      const isStray = written.isOutbox && !written.isAll
      if (isStray) await this.#storage.deleteOutbox(key, fresh.outbox).catch(() => undefined)
    }
  }

  /** The registration that makes a new one needless: this very one, or the same configuration while it is delivered. */
  async #present(
    key: TaskKey,
    list: readonly Registration[],
    candidate: Candidate,
    outbox: string,
  ): Promise<Registration | undefined> {
    const own = list.find((one) => one.outbox === outbox)
    const same = own ?? sameIn(list, candidate)
    if (same === undefined || same === own) return same
    if (candidate.isInline && same.told !== undefined) return same
    // Without progress no process delivers it: its registration was cut short.
    return (await this.#storage.outboxes(key)).has(same.outbox) ? same : undefined
  }

  /** Stops sending first: a configuration that is still there can be deleted again. */
  async #end(key: TaskKey, { outbox }: Registration): Promise<void> {
    this.#claims.get(outbox)?.stop()
    this.#claims.attempts.delete(outbox)
    await this.#storage.deleteOutbox(key, outbox)
  }

  /** Resolves to whether the configuration was disabled. */
  async #enable(key: TaskKey, { outbox }: Registration): Promise<boolean> {
    const live = this.#claims.get(outbox)
    if (live?.outbox.redeliver()) return true
    // The write that it is disabled may be under way.
    if (live?.isEnding) await live.ended
    const found = (await this.#storage.outboxes(key)).get(outbox)
    if (found?.value.state !== 'disabled' || this.#claims.get(outbox) !== undefined) return false
    return await this.#claims.acquire(found, { state: 'active', attempts: 0, failure: null })
  }

  #healthIn(
    { id: taskId }: TaskKey,
    list: readonly Registration[],
    outboxes: ReadonlyMap<string, StoredProgress>,
  ): PushHealth[] {
    return list.map((registration) => {
      const recent = this.#claims.attempts.of(registration.outbox)
      const live = this.#claims.get(registration.outbox)
      const isLocal = !isShared(this.#context.tasks)
      if (live !== undefined && (isLocal || !live.isEnding))
        return { ...healthOf(taskId, live.outbox), recent }
      const progress = outboxes.get(registration.outbox)?.value
      const health = { ...storedHealthOf(taskId, registration, progress), recent }
      // In memory no other process continues a delivery that was given up.
      return isLocal && progress?.claim === null ? { ...health, state: 'done' } : health
    })
  }

  /** The dead letters among the webhooks of one task, in the order of their registration. */
  async #lettersOf(disabled: readonly StoredProgress[]): Promise<PushDeadLetter[]> {
    const [first] = disabled
    if (first === undefined) return []
    const letters: PushDeadLetter[] = []
    for (const registration of (await this.#storage.configurations(first.key)).value.list) {
      const stored = disabled.find(({ outbox }) => outbox === registration.outbox)
      const letter = stored && (await this.#letterOf(stored, registration))
      if (letter !== undefined) letters.push(letter)
    }
    return letters
  }

  async #letterOf(
    { key, outbox, value }: StoredProgress,
    found: Registration,
  ): Promise<PushDeadLetter | undefined> {
    const letter = this.#claims.get(outbox)?.outbox.deadLetter ?? (await this.#read(key, found, value))
    if (letter === undefined) return undefined
    const { config } = found
    const { attempts, failure } = value
    return {
      taskId: key.id,
      id: config.id,
      origin: new URL(config.url).origin,
      ...letter,
      attempts,
      ...(failure && { failure }),
    }
  }

  /** Reads the notification that was given up from the task's log. */
  async #read(
    key: TaskKey,
    { version, config }: Registration,
    { cursor }: Progress,
  ): Promise<Pick<PushDeadLetter, 'notificationId' | 'notification'> | undefined> {
    const { dialects, tasks } = this.#context
    const dialect = dialects.find((each) => each.version === version)
    const task = await this.#peek(key.id)
    if (dialect === undefined || task?.createdAt !== key.createdAt) return undefined
    const turn = dialect.encodeTaskNotification && (() => Promise.resolve())
    const reader = new NotificationReader(tasks, task, turn, { after: cursor ?? undefined })
    // Reads what is there, and waits for nothing.
    reader.close()
    const found = await reader.next()
    const notification = found && showNotification(dialect, found)
    reader.end()
    if (found === undefined || notification === undefined) return undefined
    return { notificationId: notificationIdOf(key.id, config.id, found), notification }
  }

  async #of(task: TaskSnapshot): Promise<readonly Registration[]> {
    return (await this.#storage.configurations(keyOf(task))).value.list
  }

  async #peek(taskId: string): Promise<TaskSnapshot | null> {
    return await this.#context.tasks.peekTask(taskId)
  }
}

function keyOf({ id, createdAt }: TaskSnapshot): TaskKey {
  return { id, createdAt }
}

/** @throws {A2AError} `PUSH_NOTIFICATION_NOT_SUPPORTED` without one. */
export function requirePush(push: PushRegistry | undefined): PushRegistry {
  if (push === undefined) throw pushNotSupported()
  return push
}
