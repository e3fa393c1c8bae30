/**
 * The webhooks that this process tells, and how it comes by them.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import { randomId } from '../../runtime/ids.js'
import { settleWithin } from '../../runtime/shutdown.js'
import type { TaskSnapshot, TaskKey } from '../../core/task.js'
import type { SharedTasks } from '../../core/managers.js'
import type { ErrorContext, Settings } from '../options.js'
import { CLAIM_MS, Delivery } from './delivery.js'
import type { Progress, PushDocuments, Registration, StoredProgress } from './storage.js'
import type { PushSettings } from './options.js'
import { webhookError } from './service.js'
import { Slots } from './concurrency.js'
import { PushStory } from './notifications.js'
import { TaskTexts, Texts } from './payloads.js'

export interface SharedContext extends Pick<Settings, 'onError' | 'generateId' | 'clock' | 'dialects'> {
  readonly tasks: SharedTasks
}

/** How often claims are looked at: to renew one's own, and to take those that have run out. */
const TICK_MS = 5_000
/** After this time, in ms, nobody will make a configuration any more for an outbox that has none. */
const STRAY_MS = 600_000
/** How long closing waits for the store. */
const STORING_MS = 5_000

/**
 * Whoever has claimed a webhook tells it, and renews the claim meanwhile; a claim that has run out is anybody's. Where
 * two tell one webhook all the same, since a clock is wrong or a process was stopped for a while, it hears twice of the
 * same, with the same ids.
 */
export class Claims {
  readonly #settings: PushSettings
  readonly #context: SharedContext
  readonly #documents: PushDocuments
  readonly #slots: Slots
  readonly #texts: Texts
  readonly #by = randomId()
  /** By the ids of their registrations. */
  readonly #live = new Map<string, Delivery>()
  #stopTimer: () => void = () => undefined
  #sweeping: Promise<void> | undefined
  #isClosed = false

  constructor(settings: PushSettings, context: SharedContext, documents: PushDocuments) {
    this.#settings = settings
    this.#context = context
    this.#documents = documents
    this.#slots = new Slots(settings.maxConcurrent)
    this.#texts = new Texts(context.clock)
    this.#arm()
  }

  /** What is delivered from here. */
  get(outbox: string): Delivery | undefined {
    return this.#live.get(outbox)
  }

  /** A claim of this process, as it is to be stored. */
  claim(): NonNullable<Progress['claim']> {
    return { by: this.#by, until: this.#context.clock.now() + CLAIM_MS }
  }

  /** Tells a webhook from now on. `progress` is in the store, with a claim of this process. */
  begin(
    task: TaskSnapshot,
    registration: Registration,
    { value, version }: Pick<StoredProgress, 'value' | 'version'>,
  ): void {
    const { tasks, onError, dialects } = this.#context
    const dialect = dialects.find((each) => each.version === registration.version)
    const { outbox } = registration
    if (dialect === undefined || this.#live.has(outbox)) return
    const { id: taskId, createdAt, owner } = task
    const key = { id: taskId, createdAt }
    const about = { during: 'push', taskId, configId: registration.config.id }
    const report = (what: string, failure: { reason: string }): void =>
      onError(webhookError(delivery.outbox.origin, what, failure), about)
    const delivery = new Delivery(
      {
        ...{ documents: this.#documents, clock: this.#context.clock, by: this.#by, key, registration },
        onDisabled: (failure) => report('is disabled', failure),
        onError: (error) => this.#report(error, about),
        onLost: (isBusy) => {
          const tell = (): void => report('is dropped', { reason: 'its task has expired' })
          if (isBusy) void this.#isGone(key).then((isGone) => isGone && tell())
        },
      },
      {
        ...{ settings: this.#settings, slots: this.#slots, owner, dialect },
        texts: dialect.encodeTaskNotification && this.#textsOf(key, registration.version, owner),
        read: (turn, told) => new PushStory(tasks, task, turn, told),
      },
      value,
      version,
    )
    this.#live.set(outbox, delivery)
    void delivery.ended.then(() => this.#live.delete(outbox))
    if (this.#isClosed) delivery.giveBack()
  }

  /** Those of one task and dialect send the same. */
  #textsOf({ id, createdAt }: TaskKey, version: string, owner: string | undefined): TaskTexts {
    for (const { key, registration, texts } of this.#live.values()) {
      if (texts && key.id === id && key.createdAt === createdAt && registration.version === version)
        return texts
    }
    return new TaskTexts(this.#texts, owner)
  }

  /**
   * Takes a webhook over, whose claim has run out or was given back.
   *
   * @param change - What is changed of how far it was told.
   * @returns Whether it is this process's now.
   */
  async take(
    { key, outbox, value, version }: StoredProgress,
    change: Partial<Progress> = {},
  ): Promise<boolean> {
    const { dialects, tasks } = this.#context
    const { list } = (await this.#documents.configurations(key)).value
    const registration = list.find((one) => one.outbox === outbox)
    if (registration === undefined) {
      await this.#clear(key, outbox, value)
      return false
    }
    // Another process may speak it.
    if (!dialects.some((each) => each.version === registration.version)) return false
    const task = await tasks.peekTask(key.id)
    if (task?.createdAt !== key.createdAt) return false
    const claimed = { ...value, ...change, claim: this.claim() }
    if (!(await this.#documents.putOutbox(key, outbox, claimed, version))) return false
    this.begin(task, registration, { value: claimed, version: version + 1 })
    return true
  }

  /** Its configuration may yet be on its way to the store. */
  async #clear(key: TaskKey, outbox: string, { claim }: Progress): Promise<void> {
    if (claim === null || claim.until + STRAY_MS > this.#context.clock.now()) return
    await this.#documents.deleteOutbox(key, outbox)
  }

  async #isGone({ id, createdAt }: TaskKey): Promise<boolean> {
    const task = await Promise.resolve(this.#context.tasks.peekTask(id)).catch(() => undefined)
    return task !== undefined && task?.createdAt !== createdAt
  }

  #arm(): void {
    this.#stopTimer = this.#context.clock.schedule(() => {
      for (const delivery of this.#live.values()) delivery.renew()
      this.#sweeping ??= this.#sweep().finally(() => {
        this.#sweeping = undefined
      })
      this.#arm()
    }, TICK_MS)
  }

  async #sweep(): Promise<void> {
    const { clock } = this.#context
    try {
      for await (const stored of this.#documents.allOutboxes()) {
        if (this.#isClosed) break
        const { state, claim } = stored.value
        const isFree = claim === null || claim.until <= clock.now()
        if (state === 'disabled' || !isFree || this.#live.has(stored.outbox)) continue
        await this.take(stored)
      }
    } catch (error) {
      this.#report(error, { during: 'push' })
    }
  }

  /** A manager that was destroyed has nothing to tell, and its claims run out. */
  #report(error: unknown, about: ErrorContext): void {
    if (!A2AError.is(error, 'MANAGER_DESTROYED')) this.#context.onError(error, about)
  }

  /** Tells what has happened, within `graceMs`, and leaves the rest to other processes. */
  async close(graceMs: number): Promise<void> {
    this.#isClosed = true
    this.#stopTimer()
    const { clock } = this.#context
    for (const delivery of this.#live.values()) delivery.close()
    const work = [...this.#live.values()].map(({ ended }) => ended)
    if (graceMs > 0) await settleWithin(clock, graceMs, work)
    for (const delivery of this.#live.values()) delivery.giveBack()
    const ending = [...this.#live.values()].map(({ ended }) => ended)
    await settleWithin(clock, STORING_MS, [...ending, this.#sweeping ?? Promise.resolve()])
    this.#texts.close()
  }
}
