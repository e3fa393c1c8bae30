/**
 * Delivery to one webhook: one notification at a time, in order, each repeated until it arrives.
 *
 * @module
 */
import { pauseMs, abortableSleep } from '../../http/retry.js'
import { elapsed } from '../../runtime/clock.js'
import { A2AError, type ErrorCode } from '../../core/errors.js'
import type { JsonObject } from '../../core/json-types.js'
import type { Dialect, PushConfig } from '../../wire/dialect.js'
import type { Observers } from '../observers.js'
import type { TraceHeaders } from '../../runtime/trace-headers.js'
import type { PushAttempt } from './attempts.js'
import type { PushHealth, PushState } from './health.js'
import { encodeNotification, notificationIdOf, showNotification } from './encoding.js'
import type { PushSettings } from './options.js'
import type { ConcurrencyLimit } from './concurrency.js'
import type { BudgetKeys, FirstDeliveries } from './first-deliveries.js'
import type { NotificationReader, TaskNotification } from './notifications.js'
import type { TaskPayloads } from './payloads.js'
import { sendNotification, type DeliveryFailure, type HttpNotification, type PushFailure } from './webhook.js'

/** What an outbox needs of the record that is kept of its delivery. */
export interface OutboxRecord {
  /** How far the delivery had come when this outbox took it over. */
  readonly begun: {
    readonly delivered: number
    readonly attempts: number
    readonly failure: PushFailure | undefined
  }
  /** Whether this process may still send to the webhook. Called before each attempt. */
  isHeld(): Promise<boolean>
  /** Called after each attempt, with the notification if it has arrived. */
  onAttempt(arrived: TaskNotification | undefined): void
  /** Called when a request has ended, also one that was aborted. */
  onSent(attempt: PushAttempt): void
}

export interface OutboxContext {
  readonly settings: PushSettings
  readonly limit: ConcurrencyLimit
  readonly firstDeliveries: FirstDeliveries
  /** Whether the webhook came with the message that began the task: its first attempt waits for no budget. */
  readonly isOfNewTask: boolean
  readonly taskId: string
  /** The owner of the task. */
  readonly owner: string | undefined
  readonly config: PushConfig & { readonly id: string }
  /** The trace in which the webhook was registered. */
  readonly trace: TraceHeaders | undefined
  readonly observers: Observers
  /** The dialect in which the configuration was registered. */
  readonly dialect: Dialect
  /** Present where the dialect sends whole tasks; shared with the other webhooks of this task and dialect. */
  readonly payloads: TaskPayloads | undefined
  /** Opens the task's log. `turn` waits until a whole task may be encoded. */
  readonly read: (turn: (() => Promise<void>) | undefined) => NotificationReader
  /** Called when a notification is given up. */
  readonly onDisabled: (failure: PushFailure) => void
  /** Called with errors that no webhook causes. */
  readonly onFault: (error: unknown) => void
  readonly record: OutboxRecord
}

/** Errors that end a task's events before the task ends. */
const ENDS: readonly ErrorCode[] = ['TASK_EXPIRED', 'MANAGER_DESTROYED', 'TASK_NOT_FOUND']
/** Whether the notification arrived is unknown. */
const ABORTED: DeliveryFailure = { reason: 'aborted', isFinal: false, retryAfterMs: 0 }
const FAULT: PushFailure = { reason: 'a fault of the agent' }

/** Reads the task's log at the webhook's pace, so nothing is queued: undelivered events stay behind the cursor. */
export class Outbox {
  readonly origin: string
  readonly configId: string
  readonly #context: OutboxContext
  readonly #controller = new AbortController()
  /** Settles when nothing more will be sent. Never rejects. */
  readonly ended: Promise<void>
  #reader: NotificationReader
  #current: TaskNotification | undefined
  #attempts: number
  #delivered: number
  #failure: PushFailure | undefined
  #nextAttemptAt: string | undefined
  #enable: (() => void) | undefined
  #isReleased = false
  #isClosing = false
  #hasEnded = false
  #isComplete = false
  /** The reader has failed: a new one is needed. */
  #mustReopen = false
  /** A notification waits for its turn to be encoded. */
  #isPreparing = false
  #isFirstAttempt = true
  readonly #budget: BudgetKeys

  constructor(context: OutboxContext) {
    this.#context = context
    const { taskId: task, owner = '' } = context
    const { origin, hostname } = new URL(context.config.url)
    this.origin = origin
    this.#budget = { task, owner, host: hostname }
    this.configId = context.config.id
    const { delivered, attempts, failure } = context.record.begun
    this.#delivered = delivered
    this.#attempts = attempts
    this.#failure = failure
    this.#reader = this.#open()
    this.ended = this.#run()
  }

  get state(): PushState {
    if (this.#hasEnded) return 'done'
    if (this.#enable !== undefined) return 'disabled'
    if (this.#nextAttemptAt !== undefined) return 'retrying'
    // The first notification exists from the beginning.
    const isIdle = this.#current === undefined && this.#delivered > 0 && !this.#isPreparing
    return isIdle ? 'idle' : 'delivering'
  }

  /** A notification is being sent, or waits to be sent. */
  get isBusy(): boolean {
    return this.state === 'delivering' || this.state === 'retrying'
  }

  /** Everything has arrived, the end of the task included. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  /** How many notifications have arrived. */
  get delivered(): number {
    return this.#delivered
  }

  /** How often the current notification was sent. */
  get attempts(): number {
    return this.#attempts
  }

  /** Why the latest attempt failed; `undefined` if it succeeded. */
  get failure(): PushFailure | undefined {
    return this.#failure
  }

  get nextAttemptAt(): string | undefined {
    return this.#nextAttemptAt
  }

  /** The notification that was given up, if any. */
  get deadLetter(): { readonly notificationId: string; readonly notification: JsonObject } | undefined {
    if (this.state !== 'disabled' || this.#current === undefined) return undefined
    return {
      notificationId: this.#idOf(this.#current),
      notification: showNotification(this.#context.dialect, this.#current),
    }
  }

  /** Sends the notification that was given up once more. Returns `false` when none was. */
  redeliver(): boolean {
    const enable = this.#enable
    this.#enable = undefined
    enable?.()
    return enable !== undefined
  }

  /** Ends when everything that has happened so far is delivered or given up. */
  close(): void {
    this.#isClosing = true
    // The reader of a task that is gone ends by itself.
    if (!this.#isReleased) this.#reader.close()
    if (this.state === 'disabled') this.stop()
  }

  /** The task ended and was then removed: the rest of its events is delivered or given up for good. */
  release(): void {
    this.#isReleased = true
    this.#isClosing = true
    this.#reader.release()
    if (this.state === 'disabled') this.stop()
  }

  /** Sends nothing more. A request that is under way is aborted; it may have arrived. */
  stop(): void {
    this.#controller.abort(new Error('The push notification configuration is gone'))
    this.#reader.end()
    this.redeliver()
  }

  #open(): NotificationReader {
    const { payloads, read } = this.#context
    return read(payloads && (() => this.#prepare(payloads)))
  }

  async #prepare(payloads: TaskPayloads): Promise<void> {
    this.#isPreparing = true
    await payloads.turn(this.#controller.signal)
  }

  async #readNext(): Promise<TaskNotification | undefined> {
    try {
      return await this.#reader.next()
    } finally {
      this.#isPreparing = false
    }
  }

  async #run(): Promise<void> {
    try {
      while (await this.#deliverNext());
    } finally {
      this.#reader.end()
      this.#hasEnded = true
      this.#current = undefined
      this.#nextAttemptAt = undefined
    }
  }

  /** Whether there may be more. */
  async #deliverNext(): Promise<boolean> {
    try {
      if (this.#mustReopen) this.#reader = this.#open()
      this.#mustReopen = false
      const current = (this.#current ??= await this.#readNext())
      // A reader that was not closed ends with its task.
      if (current === undefined) this.#isComplete ||= !this.#isClosing && !this.#isStopped()
      if (current === undefined || !(await this.#deliver(current))) return false
      this.#delivered += 1
      this.#attempts = 0
      this.#current = undefined
      this.#isComplete = current.entry.last
      this.#context.record.onAttempt(current)
      return true
    } catch (error) {
      return await this.#recover(error)
    }
  }

  async #recover(error: unknown): Promise<boolean> {
    if (this.#isStopped() || (A2AError.is(error) && ENDS.includes(error.code))) return false
    this.#context.onFault(error)
    // The webhook is not at fault; a process that reaches the store takes the delivery over.
    if (A2AError.is(error, 'STORE_FAILED')) return false
    this.#failure = FAULT
    this.#mustReopen = this.#current === undefined
    await this.#disable()
    return !this.#isStopped()
  }

  #isStopped(): boolean {
    return this.#controller.signal.aborted
  }

  /** Sends until the notification arrives. Resolves to `false` when this process may not send any more. */
  async #deliver(notification: TaskNotification): Promise<boolean> {
    const { settings, record } = this.#context
    const { signal } = this.#controller
    for (;;) {
      if (this.#waitMs() > 0) await this.#waitForBudget()
      if (signal.aborted || !(await record.isHeld())) return false
      const failure = await this.#attempt(notification)
      if (failure === 'later') continue
      this.#failure = failure && toPushFailure(failure)
      if (failure === undefined) return true
      record.onAttempt(undefined)
      if (failure.isFinal || this.#attempts >= settings.pacing.attempts) await this.#disable()
      else await this.#pause(failure)
    }
  }

  /** Resolves to the failure, if any; to `'later'` when the budget for whole tasks was used up during the wait. */
  async #attempt(notification: TaskNotification): Promise<DeliveryFailure | 'later' | undefined> {
    const { limit, payloads, firstDeliveries } = this.#context
    const { signal } = this.#controller
    await payloads?.turn(signal)
    const { owner, host } = this.#budget
    const releaseSlot = await limit.acquire([owner, host, this.origin], signal)
    try {
      if (this.#waitMs() > 0) return 'later'
      const isCounted = this.#isCounted
      const { text, release } = this.#payloadOf(notification)
      if (isCounted) firstDeliveries.charge(this.#budget, new TextEncoder().encode(text).byteLength)
      this.#attempts += 1
      this.#isFirstAttempt = false
      try {
        return await this.#send(notification, text)
      } finally {
        release()
      }
    } finally {
      releaseSlot()
    }
  }

  async #send(notification: TaskNotification, body: string): Promise<DeliveryFailure | undefined> {
    const { settings, config, observers, taskId, trace, record } = this.#context
    const { clock } = settings.pacing
    const attempt = this.#attempts
    const about = { taskId, url: config.url, attempt, trace }
    const follower = observers.onDelivery(about)
    const { signal } = this.#controller
    const [sentAt, started] = [clock.now(), elapsed(clock)]
    let failure: DeliveryFailure | undefined = ABORTED
    try {
      const http = { ...this.#toHttp(notification, body), headers: follower?.headers ?? {} }
      failure = await sendNotification(settings, config, http, signal)
      return failure
    } finally {
      follower?.end(failure)
      record.onSent({
        ...{ generation: notification.generation, attempt, sentAt: new Date(sentAt).toISOString() },
        durationMs: elapsed(clock) - started,
        ...(failure && { failure: toPushFailure(failure) }),
      })
    }
  }

  /** Whether the next attempt sends a whole task, and the client can have it sent at will. */
  get #isCounted(): boolean {
    const { isOfNewTask, payloads } = this.#context
    return (this.#delivered === 0 || payloads !== undefined) && !(isOfNewTask && this.#isFirstAttempt)
  }

  /** The time until the budget for whole tasks allows an attempt, in ms. */
  #waitMs(): number {
    return this.#isCounted ? this.#context.firstDeliveries.waitMs(this.#budget) : 0
  }

  async #waitForBudget(): Promise<void> {
    const { clock } = this.#context.settings.pacing
    const sleep = (delayMs: number): Promise<void> => abortableSleep(clock, delayMs, this.#controller.signal)
    await this.#context.firstDeliveries.wait(this.#budget, sleep)
  }

  async #pause({ retryAfterMs }: DeliveryFailure): Promise<void> {
    const { pacing } = this.#context.settings
    const delayMs = pauseMs(pacing, this.#attempts, retryAfterMs)
    this.#nextAttemptAt = new Date(pacing.clock.now() + delayMs).toISOString()
    try {
      await abortableSleep(pacing.clock, delayMs, this.#controller.signal)
    } finally {
      this.#nextAttemptAt = undefined
    }
  }

  /** Waits until `redeliver` or `stop` is called. */
  async #disable(): Promise<void> {
    const enabled = new Promise<void>((resolve) => {
      this.#enable = resolve
    })
    this.#context.onDisabled(this.#failure ?? { reason: 'unknown' })
    if (this.#isClosing) this.stop()
    await enabled
    this.#attempts = 0
  }

  #toHttp(notification: TaskNotification, body: string): HttpNotification {
    const { dialect } = this.#context
    return {
      id: this.#idOf(notification),
      // Dialects that have a name instead of a version number do not use the header.
      version: /^\d+\.\d+$/.test(dialect.version) ? dialect.version : undefined,
      mediaType: dialect.mediaType,
      body,
    }
  }

  /** Encodes for each attempt: no payload stays in memory while the webhook cannot be reached. */
  #payloadOf(notification: TaskNotification): ReturnType<TaskPayloads['hold']> {
    const { dialect, payloads } = this.#context
    const encode = (): string => JSON.stringify(encodeNotification(dialect, notification))
    return payloads?.hold(notification.generation, encode) ?? { text: encode(), release: () => undefined }
  }

  #idOf(notification: TaskNotification): string {
    const { taskId, config } = this.#context
    return notificationIdOf(taskId, config.id, notification)
  }
}

function toPushFailure({ reason, status }: DeliveryFailure): PushFailure {
  return { reason, ...(status !== undefined && { status }) }
}

/** The health of a delivery of this process. */
export function healthOf(taskId: string, outbox: Outbox): Omit<PushHealth, 'recent'> {
  const { configId: id, origin, state, delivered, attempts, failure, nextAttemptAt } = outbox
  return {
    taskId,
    id,
    origin,
    state,
    delivered,
    attempts,
    ...(failure && { failure }),
    ...(nextAttemptAt !== undefined && { nextAttemptAt }),
  }
}
