/**
 * The webhooks of all tasks: registering them, and their end.
 *
 * @module
 */
import { A2AError, invalidParams } from '../core/errors.js'
import type { TaskSnapshot } from '../core/task.js'
import type { Dialect, PushConfig, Requests, Results, TaskPushConfig } from '../wire/index.js'
import { settled, unavailable } from './closing.js'
import type { Settings } from './options.js'
import { requirePushConfig } from './push-config.js'
import type { PushDeadLetter, PushDeliveries, PushHealth } from './push-deliveries.js'
import type { PushSettings } from './push-options.js'
import { Outbox } from './push-outbox.js'
import { Slots } from './push-slots.js'
import { PushStory } from './push-story.js'
import { TaskTexts, Texts } from './push-texts.js'
import type { PushFailure } from './push-webhook.js'
import type { Accepted } from './runs.js'
import type { Caller } from './visibility.js'

/** A configuration that was checked, and a place for it. */
interface Ticket {
  /** Registers it. Its first notification is the task as it is now. */
  register(taskId: string): TaskPushConfig
  /** Gives the place back, unless it was taken. */
  cancel(): void
}

/** What is held for a configuration that is not registered yet. */
interface Place {
  readonly config: PushConfig
  readonly dialect: Dialect
  /** Whether it came with a message. */
  readonly isInline: boolean
}

interface Registered {
  readonly config: TaskPushConfig['config']
  readonly dialect: Dialect
  /** Among those of its task, kept when it is replaced. Later ones have greater numbers; a page ends at one. */
  readonly number: number
  /** Shared by those of the same task and dialect; absent where changes are told, and not whole tasks. */
  readonly texts: TaskTexts | undefined
  readonly outbox: Outbox
}

/** How many tasks that are gone may still have notifications on their way. */
const MAX_RELEASED = 10_000

type Context = Pick<Settings, 'tasks' | 'onError' | 'generateId' | 'clock'>

export class PushNotifications implements PushDeliveries {
  readonly #settings: PushSettings
  readonly #context: Context
  readonly #slots: Slots
  /** Of the look-ups when webhooks are registered. */
  readonly #checks: Slots
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
    this.#checks = new Slots(settings.maxConcurrent)
    this.#texts = new Texts(context.clock)
    context.tasks.on('task:evicted', this.#onEvicted)
    context.tasks.on('task:expired', this.#onExpired)
  }

  /**
   * Checks what a client says of a webhook. `taskId` is that of the task, where there is one yet.
   *
   * @throws {A2AError} `INVALID_PARAMS`; `LIMIT_EXCEEDED`; `PUSH_NOTIFICATION_NOT_SUPPORTED` in a version that has
   *   none; `UNAVAILABLE`; `REQUEST_ABORTED`.
   */
  async prepare(
    config: PushConfig,
    { dialect, signal, principal }: Pick<Caller, 'dialect' | 'signal' | 'principal'>,
    taskId: string | undefined,
    isInline: boolean,
  ): Promise<Ticket> {
    if ((dialect.encodeNotification ?? dialect.encodeTaskNotification) === undefined) throw pushNotSupported()
    const cancel = this.#hold(taskId, { config, dialect, isInline })
    try {
      const place = (host: string, until: AbortSignal): Promise<() => void> =>
        this.#checks.take([principal?.id ?? '', host], until)
      const checked = await requirePushConfig(config, this.#settings, { signal, place }, (refusal) =>
        this.#context.onError(refusal, { during: 'push', taskId, configId: config.id }),
      )
      this.#requireOpen()
      return {
        register: (id) => {
          cancel()
          return this.#register(id, { config: checked, dialect, isInline })
        },
        cancel,
      }
    } catch (error) {
      cancel()
      throw error
    }
  }

  /** The configuration with this id; without one, the latest. */
  get(taskId: string, id: string | undefined): TaskPushConfig {
    const all = this.#byTask.get(taskId)
    const found = id === undefined ? [...(all?.values() ?? [])].at(-1) : all?.get(id)
    if (found !== undefined) return { taskId, config: found.config }
    // A2A 1.0 §3.1.8 has no other error for it.
    throw new A2AError('TASK_NOT_FOUND', 'Push notification configuration not found', { taskId })
  }

  list({
    taskId,
    pageSize,
    pageToken,
  }: Requests['ListTaskPushNotificationConfigs']): Results['ListTaskPushNotificationConfigs'] {
    const after = pageToken ? Number(pageToken) : 0
    if (!/^\d{0,15}$/.test(pageToken ?? '')) throw invalidParams('pageToken', 'is none that was given out')
    const rest = [...(this.#byTask.get(taskId)?.values() ?? [])]
      .filter(({ number }) => number > after)
      .sort(byNumber)
    const page = pageSize ? rest.slice(0, pageSize) : rest
    const last = page.length < rest.length ? page.at(-1) : undefined
    return {
      configs: page.map(({ config }) => ({ taskId, config })),
      nextPageToken: last === undefined ? '' : String(last.number),
    }
  }

  /** Nothing is sent from now on; what is on its way at the moment may still arrive. Deleting twice is deleting once. */
  delete(taskId: string, id: string): void {
    const all = this.#byTask.get(taskId)
    all?.get(id)?.outbox.stop()
    all?.delete(id)
    if (all?.size === 0) this.#byTask.delete(taskId)
  }

  readonly health = (taskId?: string): PushHealth[] =>
    this.#all(taskId).map(([id, { config, outbox }]) => {
      const { origin, state, delivered, attempts, failure, nextAttemptAt } = outbox
      return {
        ...{ taskId: id, id: config.id, origin, state, delivered, attempts },
        ...(failure && { failure }),
        ...(nextAttemptAt !== undefined && { nextAttemptAt }),
      }
    })

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
      await settled(this.#context.clock, graceMs, work)
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
    const present = this.#byTask.get(taskId)
    const held = this.#held.get(taskId) ?? new Set()
    const isNew = (one: Place): boolean =>
      present?.has(one.config.id ?? '') !== true && sameIn(present, one) === undefined
    const actual = (present?.size ?? 0) + [...held].filter(isNew).length + 1
    const { maxPerTask: max } = this.#settings
    if (isNew(place) && actual > max) {
      const limit = 'maxPerTask'
      const text = `A task may have at most ${max} push notification configurations`
      throw new A2AError('LIMIT_EXCEEDED', text, { limit, max, actual })
    }
    this.#held.set(taskId, held.add(place))
    return () => {
      if (held.delete(place) && held.size === 0) this.#held.delete(taskId)
    }
  }

  #register(taskId: string, place: Place): TaskPushConfig {
    const { config: given, dialect } = place
    const { tasks, generateId } = this.#context
    const task = tasks.peekTask(taskId)
    const config = { ...given, id: given.id ?? generateId() }
    if (!place.isInline) this.#requireOpen()
    // It may have been evicted since its message was taken: then there is nothing to tell of it.
    if (task === null || this.#isClosed) return { taskId, config }
    const known = this.#byTask.get(taskId) ?? new Map<string, Registered>()
    const same = sameIn(known, place)
    if (same !== undefined && (place.isInline || same.outbox.state !== 'done')) {
      // Whoever asks once more wants to be told.
      same.outbox.redeliver()
      return { taskId, config: same.config }
    }
    const replaced = known.get(config.id)
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
    known.set(config.id, { config, dialect, number, texts, outbox })
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

  #report(taskId: string, { origin, configId }: Outbox, { reason, status }: PushFailure, what: string): void {
    const text = `A webhook at ${origin} ${what}: ${reason}`
    const data = { service: 'webhook', url: origin, ...(status !== undefined && { status }) }
    const error = new A2AError('EXTERNAL_SERVICE_ERROR', text, data)
    this.#context.onError(error, { during: 'push', taskId, configId })
  }

  #all(taskId?: string): [string, Registered][] {
    const of = (id: string): [string, Registered][] =>
      [...(this.#byTask.get(id)?.values() ?? [])].map((one) => [id, one])
    return taskId === undefined ? [...this.#byTask.keys()].flatMap(of) : of(taskId)
  }
}

/** Takes a message in: if its webhook is refused, so is the message; where no task comes of it, nobody is told. */
export async function acceptWith(
  accept: () => Promise<Accepted>,
  prepare: () => Promise<Ticket>,
): Promise<Accepted> {
  const ticket = await prepare()
  try {
    const accepted = await accept()
    if (accepted.type === 'task') ticket.register(accepted.taskId)
    return accepted
  } finally {
    ticket.cancel()
  }
}

/** What is registered already: some clients send the same configuration with each message of a conversation. */
function sameIn(
  known: ReadonlyMap<string, Registered> | undefined,
  { config, dialect, isInline }: Place,
): Registered | undefined {
  const isSame = (one: Registered): boolean =>
    one.dialect === dialect &&
    (config.id ?? (isInline ? one.config.id : undefined)) === one.config.id &&
    one.config.url === config.url &&
    one.config.token === config.token &&
    one.config.authentication?.scheme === config.authentication?.scheme &&
    one.config.authentication?.credentials === config.authentication?.credentials
  return [...(known?.values() ?? [])].find(isSame)
}

function byNumber(a: Registered, b: Registered): number {
  return a.number - b.number
}

export function pushNotSupported(): A2AError<'PUSH_NOTIFICATION_NOT_SUPPORTED'> {
  return new A2AError('PUSH_NOTIFICATION_NOT_SUPPORTED', 'Push notifications are not supported', {})
}
