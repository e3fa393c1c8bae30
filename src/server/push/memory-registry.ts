/**
 * The webhooks of all tasks: registering them, and their end.
 *
 * @module
 */
import type { LocalTasks } from '../../core/managers.js'
import type { TaskSnapshot } from '../../core/task.js'
import type { Dialect, PushConfig, Requests, Results, TaskPushConfig } from '../../wire/dialect.js'
import { settleWithin } from '../../runtime/shutdown.js'
import { unavailable } from '../unavailable.js'
import type { Settings } from '../options.js'
import { healthOf, type PushDeadLetter, type PushDeliveries, type PushHealth } from './health.js'
import { configIn, isNewTo, pageOf, requireAtMost, sameIn, type Listed, type Place } from './listing.js'
import type { PushSettings } from './options.js'
import { Outbox } from './outbox.js'
import { PushChecks, requireNotifications, webhookError, type PushService, type Ticket } from './service.js'
import { Slots } from './concurrency.js'
import { PushStory } from './notifications.js'
import { TaskTexts, Texts } from './payloads.js'
import type { PushFailure } from './webhook.js'
import type { Caller } from '../caller.js'

interface Registered extends Listed {
  readonly dialect: Dialect
  /** Shared by those of the same task and dialect; absent where changes are told, and not whole tasks. */
  readonly texts: TaskTexts | undefined
  readonly outbox: Outbox
}

/** How many tasks that are gone may still have notifications on their way. */
const MAX_RELEASED = 10_000

interface Context extends Pick<Settings, 'onError' | 'generateId' | 'clock'> {
  readonly tasks: LocalTasks
}

/** Webhooks that live in memory, as their tasks do. */
export class PushNotifications implements PushService, PushDeliveries {
  readonly #settings: PushSettings
  readonly #context: Context
  readonly #slots: Slots
  readonly #checks: PushChecks
  readonly #texts: Texts
  readonly #byTask = new Map<string, Map<string, Registered>>()
  /** Places that tickets hold. */
  readonly #held = new Map<string, Set<Place>>()
  /** Of tasks that are gone, the one that has been for the longest time first. */
  readonly #released = new Map<Outbox, string>()
  #isClosed = false

  constructor(settings: PushSettings, context: Context) {
    this.#settings = settings
    this.#context = context
    this.#slots = new Slots(settings.maxConcurrent)
    this.#checks = new PushChecks(settings, context.onError)
    this.#texts = new Texts(context.clock)
    context.tasks.on('task:evicted', this.#onEvicted)
    context.tasks.on('task:expired', this.#onExpired)
  }

  async prepare(
    config: PushConfig,
    caller: Pick<Caller, 'dialect' | 'signal' | 'principal'>,
    taskId: string | undefined,
    isInline: boolean,
  ): Promise<Ticket> {
    const { dialect } = caller
    requireNotifications(dialect)
    const cancel = this.#hold(taskId, { config, dialect, isInline })
    try {
      const checked = await this.#checks.check(config, caller, taskId)
      this.#requireOpen()
      return {
        register: (id, task) => {
          cancel()
          return this.#register(id, task, { config: checked, dialect, isInline })
        },
        cancel,
      }
    } catch (error) {
      cancel()
      throw error
    }
  }

  get(task: TaskSnapshot, id: string | undefined): TaskPushConfig {
    return configIn(this.#of(task.id), task.id, id)
  }

  list(
    task: TaskSnapshot,
    request: Requests['ListTaskPushNotificationConfigs'],
  ): Results['ListTaskPushNotificationConfigs'] {
    return pageOf(this.#of(task.id), request)
  }

  delete({ id: taskId }: TaskSnapshot, id: string): void {
    const all = this.#byTask.get(taskId)
    all?.get(id)?.outbox.stop()
    all?.delete(id)
    if (all?.size === 0) this.#byTask.delete(taskId)
  }

  readonly health = (taskId?: string): PushHealth[] =>
    this.#all(taskId).map(([id, { outbox }]) => healthOf(id, outbox))

  readonly deadLetters = (): PushDeadLetter[] =>
    this.#all().flatMap(([taskId, { config, outbox }]) => {
      const { origin, attempts, failure, deadLetter } = outbox
      if (deadLetter === undefined) return []
      return [{ taskId, id: config.id, origin, ...deadLetter, attempts, ...(failure && { failure }) }]
    })

  readonly redeliver = (taskId: string, id: string): boolean =>
    this.#byTask.get(taskId)?.get(id)?.outbox.redeliver() ?? false

  /** Takes no more, and ends when all that has happened is delivered, at the latest after `graceMs`. */
  async close(graceMs: number): Promise<void> {
    this.#isClosed = true
    const outboxes = [...this.#all().map(([, { outbox }]) => outbox), ...this.#released.keys()]
    for (const outbox of outboxes) outbox.close()
    if (graceMs > 0) {
      const work = outboxes.map(({ ended }) => ended)
      await settleWithin(this.#context.clock, graceMs, work)
    }
    for (const [taskId, { outbox }] of this.#all()) this.#drop(taskId, outbox, 'the agent shuts down')
    for (const [outbox, taskId] of [...this.#released]) this.#drop(taskId, outbox, 'the agent shuts down')
    this.#texts.close()
    const { tasks } = this.#context
    tasks.off('task:evicted', this.#onEvicted)
    tasks.off('task:expired', this.#onExpired)
  }

  #requireOpen(): void {
    if (this.#isClosed) throw unavailable()
  }

  /** A place among the task's configurations, for as long as it takes to check one. A new task has room. */
  #hold(taskId: string | undefined, place: Place): () => void {
    if (taskId === undefined) return () => undefined
    const present = this.#of(taskId)
    const held = this.#held.get(taskId) ?? new Set()
    const isNew = (one: Place): boolean => isNewTo(present, one)
    if (isNew(place)) {
      requireAtMost(this.#settings.maxPerTask, present.length + [...held].filter(isNew).length + 1)
    }
    this.#held.set(taskId, held.add(place))
    return () => {
      if (held.delete(place) && held.size === 0) this.#held.delete(taskId)
    }
  }

  #register(taskId: string, task: TaskSnapshot | null, place: Place): TaskPushConfig {
    const { config: given, dialect } = place
    const { tasks, generateId } = this.#context
    const config = { ...given, id: given.id ?? generateId() }
    if (!place.isInline) this.#requireOpen()
    // It may have been evicted since its message was taken: then there is nothing to tell of it.
    if (task === null || this.#isClosed) return { taskId, config }
    const known = this.#byTask.get(taskId) ?? new Map<string, Registered>()
    const same = sameIn([...known.values()], place)
    if (same !== undefined && (place.isInline || same.outbox.state !== 'done')) {
      // Whoever asks once more wants to be told.
      same.outbox.redeliver()
      return { taskId, config: same.config }
    }
    const replaced = known.get(config.id)
    // Those that came with messages of one chosen id at once had no place: there was no task.
    if (replaced === undefined) requireAtMost(this.#settings.maxPerTask, known.size + 1)
    replaced?.outbox.stop()
    const texts = this.#textsOf(known, dialect, task)
    const number = replaced?.number ?? Math.max(0, ...[...known.values()].map((one) => one.number)) + 1
    const outbox = new Outbox({
      ...{ settings: this.#settings, slots: this.#slots, taskId, owner: task.owner, config, dialect, texts },
      read: (turn) => new PushStory(tasks, task, turn),
      onDisabled: (failure) => this.#report(taskId, outbox, failure, 'is disabled'),
      onFault: (error) => this.#context.onError(error, { during: 'push', taskId, configId: config.id }),
      onEnd: () => this.#released.delete(outbox),
    })
    // The latest is the last one, also if it replaces another.
    known.delete(config.id)
    known.set(config.id, { config, version: dialect.version, dialect, number, texts, outbox })
    this.#byTask.set(taskId, known)
    return { taskId, config }
  }

  #textsOf(
    known: ReadonlyMap<string, Registered>,
    dialect: Dialect,
    { owner }: TaskSnapshot,
  ): TaskTexts | undefined {
    if (dialect.encodeTaskNotification === undefined) return undefined
    const like = [...known.values()].find((one) => one.dialect === dialect)
    return like?.texts ?? new TaskTexts(this.#texts, owner)
  }

  /** A task that is evicted has ended: its end is still told. */
  readonly #onEvicted = ({ id }: TaskSnapshot): void => {
    for (const [, { outbox }] of this.#all(id)) {
      outbox.release()
      if (outbox.state !== 'done') this.#released.set(outbox, id)
    }
    this.#byTask.delete(id)
    for (const [outbox, taskId] of this.#released) {
      if (this.#released.size <= MAX_RELEASED) break
      this.#drop(taskId, outbox, 'its task is gone, and there are too many like it')
    }
  }

  /** A task that expires may be gone before it has ended, and its data should be. */
  readonly #onExpired = ({ id }: TaskSnapshot): void => {
    for (const [, { outbox }] of this.#all(id)) this.#drop(id, outbox, 'its task has expired')
    this.#byTask.delete(id)
  }

  /** Ends an outbox, and says so if there was something in it. */
  #drop(taskId: string, outbox: Outbox, reason: string): void {
    const { state } = outbox
    outbox.stop()
    this.#released.delete(outbox)
    if (state === 'delivering' || state === 'retrying') this.#report(taskId, outbox, { reason }, 'is dropped')
  }

  #report(taskId: string, { origin, configId }: Outbox, failure: PushFailure, what: string): void {
    this.#context.onError(webhookError(origin, what, failure), { during: 'push', taskId, configId })
  }

  #of(taskId: string): Registered[] {
    return [...(this.#byTask.get(taskId)?.values() ?? [])]
  }

  #all(taskId?: string): [string, Registered][] {
    const of = (id: string): [string, Registered][] => this.#of(id).map((one) => [id, one])
    return taskId === undefined ? [...this.#byTask.keys()].flatMap(of) : of(taskId)
  }
}
