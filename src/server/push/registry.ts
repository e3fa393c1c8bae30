/**
 * Webhooks of tasks that other processes may share: any process registers, and any tells.
 *
 * @module
 */
import { randomId } from '../../runtime/ids.js'
import { unavailable } from '../unavailable.js'
import type { TaskSnapshot, TaskKey } from '../../core/task.js'
import type { PushConfig, Requests, Results, TaskPushConfig } from '../../wire/dialect.js'
import { Claims, type SharedContext } from './claims.js'
import { healthOf, type DurablePushDeliveries, type PushDeadLetter, type PushHealth } from './health.js'
import { PushDocuments, type Progress, type Registration, type StoredProgress } from './storage.js'
import { configIn, isNewTo, pageOf, requireAtMost, sameIn, type Place } from './listing.js'
import type { PushSettings } from './options.js'
import { idOfNotification, showHappening } from './outbox.js'
import { PushChecks, requireNotifications, type PushService, type Ticket } from './service.js'
import { PushStory } from './notifications.js'
import type { Caller } from '../caller.js'

const FRESH = { cursor: null, delivered: 0, attempts: 0, failure: null, state: 'active' } as const

/** Webhooks that live in the store of their tasks. Beside what each says, methods reject with `STORE_FAILED`. */
export class SharedPush implements PushService, DurablePushDeliveries {
  readonly #settings: PushSettings
  readonly #context: SharedContext
  readonly #checks: PushChecks
  readonly #documents: PushDocuments
  readonly #claims: Claims
  #isClosed = false

  constructor(settings: PushSettings, context: SharedContext) {
    this.#settings = settings
    this.#context = context
    this.#checks = new PushChecks(settings, context.onError)
    this.#documents = new PushDocuments(context.tasks.documents)
    this.#claims = new Claims(settings, context, this.#documents)
  }

  async prepare(
    config: PushConfig,
    caller: Pick<Caller, 'dialect' | 'signal' | 'principal'>,
    taskId: string | undefined,
    isInline: boolean,
  ): Promise<Ticket> {
    const { dialect } = caller
    requireNotifications(dialect)
    // When it is registered this is looked at again: others may register one meanwhile.
    if (taskId !== undefined) await this.#requireRoom(taskId, { config, dialect, isInline })
    const checked = await this.#checks.check(config, caller, taskId)
    this.#requireOpen()
    return {
      register: (id, task) => this.#register(id, task, { config: checked, dialect, isInline }),
      cancel: () => undefined,
    }
  }

  async get(task: TaskSnapshot, id: string | undefined): Promise<TaskPushConfig> {
    return configIn(await this.#of(task), task.id, id)
  }

  async list(
    task: TaskSnapshot,
    request: Requests['ListTaskPushNotificationConfigs'],
  ): Promise<Results['ListTaskPushNotificationConfigs']> {
    return pageOf(await this.#of(task), request)
  }

  async delete(task: TaskSnapshot, id: string): Promise<void> {
    const key = keyOf(task)
    await this.#documents.change(key, async ({ list, next }) => {
      const found = list.find(({ config }) => config.id === id)
      if (found === undefined) return { result: undefined }
      await this.#end(key, found)
      return { result: undefined, changed: { list: list.filter((one) => one !== found), next } }
    })
  }

  async close(graceMs: number): Promise<void> {
    this.#isClosed = true
    await this.#claims.close(graceMs)
  }

  readonly health = async (taskId?: string): Promise<PushHealth[]> => {
    if (taskId !== undefined) {
      const task = await this.#peek(taskId)
      if (task === null) return []
      return this.#healthIn(keyOf(task), await this.#of(task), await this.#documents.outboxes(keyOf(task)))
    }
    const outboxes = new Map<string, StoredProgress>()
    for await (const stored of this.#documents.allOutboxes()) outboxes.set(stored.outbox, stored)
    const all: PushHealth[] = []
    for await (const { key, value } of this.#documents.allConfigurations()) {
      all.push(...this.#healthIn(key, value.list, outboxes))
    }
    return all
  }

  readonly deadLetters = async (): Promise<PushDeadLetter[]> => {
    const letters: PushDeadLetter[] = []
    for await (const stored of this.#documents.allOutboxes()) {
      const letter = stored.value.state === 'disabled' ? await this.#letterOf(stored) : undefined
      if (letter !== undefined) letters.push(letter)
    }
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

  async #requireRoom(taskId: string, place: Place): Promise<void> {
    const task = await this.#peek(taskId)
    if (task === null) return
    const known = await this.#of(task)
    if (isNewTo(known, place)) requireAtMost(this.#settings.maxPerTask, known.length + 1)
  }

  async #register(taskId: string, task: TaskSnapshot | null, place: Place): Promise<TaskPushConfig> {
    const config = { ...place.config, id: place.config.id ?? this.#context.generateId() }
    if (!place.isInline) this.#requireOpen()
    if (task === null || this.#isClosed) return { taskId, config }
    const key = keyOf(task)
    const fresh = { config, version: place.dialect.version, outbox: randomId() }
    const value: Progress = { ...FRESH, claim: this.#claims.claim() }
    const written = { isOutbox: false, isAll: false }
    try {
      const registered = await this.#documents.change(key, async ({ list, next }) => {
        const present = await this.#present(key, list, place, fresh.outbox)
        if (present !== undefined) return { result: present }
        const replaced = list.find((one) => one.config.id === config.id)
        if (replaced === undefined) requireAtMost(this.#settings.maxPerTask, list.length + 1)
        // Before the configuration is there: whatever happens after that, somebody will tell it.
        written.isOutbox ||= await this.#documents.putOutbox(key, fresh.outbox, value, 0)
        if (replaced !== undefined) await this.#end(key, replaced)
        const result = { ...fresh, number: replaced?.number ?? next }
        const others = list.filter((one) => one !== replaced)
        return { result, changed: { list: [...others, result], next: Math.max(next, result.number + 1) } }
      })
      written.isAll = registered.outbox === fresh.outbox
      if (written.isAll) this.#claims.begin(task, registered, { value, version: 1 })
      // Whoever asks once more wants to be told.
      else await this.#enable(key, registered)
      return { taskId, config: registered.config }
    } finally {
      const isStray = written.isOutbox && !written.isAll
      if (isStray) await this.#documents.deleteOutbox(key, fresh.outbox).catch(() => undefined)
    }
  }

  /** What makes another registration needless: the same configuration, while it is told; or this very one. */
  async #present(
    key: TaskKey,
    list: readonly Registration[],
    place: Place,
    outbox: string,
  ): Promise<Registration | undefined> {
    const own = list.find((one) => one.outbox === outbox)
    const same = own ?? sameIn(list, place)
    if (same === undefined || same === own) return same
    if (place.isInline && same.told !== undefined) return same
    // Without it nobody would tell it: it was not registered to the end.
    return (await this.#documents.outboxes(key)).has(same.outbox) ? same : undefined
  }

  /** First of all nothing more is sent: a configuration that is still there can be deleted once more. */
  async #end(key: TaskKey, { outbox }: Registration): Promise<void> {
    this.#claims.get(outbox)?.stop()
    await this.#documents.deleteOutbox(key, outbox)
  }

  /** Whether it was disabled. */
  async #enable(key: TaskKey, { outbox }: Registration): Promise<boolean> {
    const live = this.#claims.get(outbox)
    // That it is disabled may be on its way to the store.
    if (live?.isEnding) await live.ended
    const found = (await this.#documents.outboxes(key)).get(outbox)
    if (found?.value.state !== 'disabled') return false
    return await this.#claims.take(found, { state: 'active', attempts: 0, failure: null })
  }

  #healthIn(
    { id: taskId }: TaskKey,
    list: readonly Registration[],
    outboxes: ReadonlyMap<string, StoredProgress>,
  ): PushHealth[] {
    return list.map((registration) => {
      const live = this.#claims.get(registration.outbox)
      if (live !== undefined && !live.isEnding) return healthOf(taskId, live.outbox)
      return storedHealth(taskId, registration, outboxes.get(registration.outbox)?.value)
    })
  }

  async #letterOf({ key, outbox, value }: StoredProgress): Promise<PushDeadLetter | undefined> {
    const { dialects, tasks } = this.#context
    const { list } = (await this.#documents.configurations(key)).value
    const found = list.find((one) => one.outbox === outbox)
    const dialect = dialects.find(({ version }) => version === found?.version)
    const task = await this.#peek(key.id)
    if (found === undefined || dialect === undefined || task?.createdAt !== key.createdAt) return undefined
    const turn = dialect.encodeTaskNotification && (() => Promise.resolve())
    const story = new PushStory(tasks, task, turn, value.cursor ?? undefined)
    // Nobody waits for what has not happened.
    story.close()
    const happening = await story.next()
    const notification = happening && showHappening(dialect, happening)
    story.end()
    if (happening === undefined || notification === undefined) return undefined
    const { config } = found
    const notificationId = idOfNotification(key.id, config.id, happening)
    const { origin } = new URL(config.url)
    const { attempts, failure } = value
    return {
      taskId: key.id,
      id: config.id,
      origin,
      notificationId,
      notification,
      attempts,
      ...(failure && { failure }),
    }
  }

  async #of(task: TaskSnapshot): Promise<readonly Registration[]> {
    return (await this.#documents.configurations(keyOf(task))).value.list
  }

  async #peek(taskId: string): Promise<TaskSnapshot | null> {
    return await this.#context.tasks.peekTask(taskId)
  }
}

/** As whoever tells it has stored it. */
function storedHealth(
  taskId: string,
  { config, told = 0 }: Registration,
  progress: Progress | undefined,
): PushHealth {
  const about = { taskId, id: config.id, origin: new URL(config.url).origin }
  if (progress === undefined) return { ...about, state: 'done', delivered: told, attempts: 0 }
  const { delivered, attempts, failure, cursor, state } = progress
  const active = attempts > 0 ? 'retrying' : cursor === null ? 'delivering' : 'idle'
  return {
    ...{ ...about, state: state === 'active' ? active : state, delivered, attempts },
    ...(failure && { failure }),
  }
}

function keyOf({ id, createdAt }: TaskSnapshot): TaskKey {
  return { id, createdAt }
}
