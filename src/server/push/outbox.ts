/**
 * The delivery to one webhook: one notification after the other, each until it has arrived.
 *
 * @module
 */
import { pauseMs, sleep } from '../../http/retry.js'
import { A2AError, type ErrorCode } from '../../core/errors.js'
import type { JsonObject } from '../../core/json-types.js'
import type { Dialect, PushConfig } from '../../wire/dialect.js'
import type { PushSettings } from './options.js'
import type { Slots } from './concurrency.js'
import type { Happening, PushStory } from './notifications.js'
import type { TaskTexts } from './payloads.js'
import { notify, type Missed, type Notification, type PushFailure } from './webhook.js'

/**
 * `'idle'`: nothing to tell. `'delivering'`: a notification is being sent, or waits for its turn. `'retrying'`: it
 * waits to be sent again. `'disabled'`: it has been given up, and those after it wait. `'done'`: all is told.
 */
export type PushState = 'idle' | 'delivering' | 'retrying' | 'disabled' | 'done'

/** What a webhook is told under, where other processes might tell it, too. */
export interface OutboxClaim {
  /** How far others had come. */
  readonly begun: {
    readonly delivered: number
    readonly attempts: number
    readonly failure: PushFailure | undefined
  }
  /** Whether the webhook is still this process's to tell. Asked before each attempt. */
  isHeld(): Promise<boolean>
  /** Is told of each attempt after it was made, with what has arrived, if it has. */
  onAttempt(arrived: Happening | undefined): void
}

export interface OutboxContext {
  readonly settings: PushSettings
  readonly slots: Slots
  readonly taskId: string
  /** Of the task. */
  readonly owner: string | undefined
  readonly config: PushConfig & { readonly id: string }
  /** That of whoever registered the configuration. */
  readonly dialect: Dialect
  /** Where the dialect tells whole tasks: they are shared with the other webhooks of this task and dialect. */
  readonly texts: TaskTexts | undefined
  /** Reads the task's events, beginning with the task as it is. `turn` is what it takes to tell a whole task. */
  readonly read: (turn: (() => Promise<void>) | undefined) => PushStory
  /** Is told when a notification is given up. */
  readonly onDisabled: (failure: PushFailure) => void
  /** Is told of what must not happen. */
  readonly onFault: (error: unknown) => void
  /** Is told when nothing more will be sent, whatever the reason. */
  readonly onEnd?: (() => void) | undefined
  /** Absent where tasks are this process's own. */
  readonly claim?: OutboxClaim | undefined
}

/** Why a task's events come to an end before it does. */
const ENDS: readonly ErrorCode[] = ['TASK_EXPIRED', 'MANAGER_DESTROYED']
/** Those of tasks in a store. */
const SHARED_ENDS: readonly ErrorCode[] = [...ENDS, 'TASK_NOT_FOUND']
const FAULT: PushFailure = { reason: 'a fault of the agent' }

/** Reads the task's log at the webhook's pace: no queue grows, and what is not delivered is where the cursor stands. */
export class Outbox {
  readonly origin: string
  readonly configId: string
  readonly #context: OutboxContext
  readonly #controller = new AbortController()
  /** Settles when nothing more will be sent. Never rejects. */
  readonly ended: Promise<void>
  #story: PushStory
  #current: Happening | undefined
  #attempts = 0
  #delivered = 0
  #failure: PushFailure | undefined
  #nextAttemptAt: string | undefined
  #enable: (() => void) | undefined
  #isReleased = false
  #isClosing = false
  #isOver = false
  #isComplete = false
  /** Whether the story has to begin anew. */
  #isUnread = false
  /** Whether there is something to tell that waits for its turn. */
  #isPreparing = false

  constructor(context: OutboxContext) {
    this.#context = context
    this.origin = new URL(context.config.url).origin
    this.configId = context.config.id
    const { delivered = 0, attempts = 0, failure } = context.claim?.begun ?? {}
    this.#delivered = delivered
    this.#attempts = attempts
    this.#failure = failure
    this.#story = this.#read()
    this.ended = this.#run()
  }

  get state(): PushState {
    if (this.#isOver) return 'done'
    if (this.#enable !== undefined) return 'disabled'
    if (this.#nextAttemptAt !== undefined) return 'retrying'
    // The first notification is there from the beginning.
    const isIdle = this.#current === undefined && this.#delivered > 0 && !this.#isPreparing
    return isIdle ? 'idle' : 'delivering'
  }

  /** Whether the webhook was told of all, the task's end included. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  /** How many notifications have arrived. */
  get delivered(): number {
    return this.#delivered
  }

  /** How often the present notification was sent. */
  get attempts(): number {
    return this.#attempts
  }

  /** Why the last attempt failed; absent since one has not. */
  get failure(): PushFailure | undefined {
    return this.#failure
  }

  get nextAttemptAt(): string | undefined {
    return this.#nextAttemptAt
  }

  /** The notification that was given up; absent where none was. */
  get deadLetter(): { readonly notificationId: string; readonly notification: JsonObject } | undefined {
    if (this.state !== 'disabled' || this.#current === undefined) return undefined
    return {
      notificationId: this.#idOf(this.#current),
      notification: showHappening(this.#context.dialect, this.#current),
    }
  }

  /** Goes on with the notification that was given up. Whether one was. */
  redeliver(): boolean {
    const enable = this.#enable
    this.#enable = undefined
    enable?.()
    return enable !== undefined
  }

  /** Ends when all that has happened is delivered, or given up. */
  close(): void {
    this.#isClosing = true
    // The story of a task that is gone comes to its end by itself.
    if (!this.#isReleased) this.#story.close()
    if (this.state === 'disabled') this.stop()
  }

  /** The task is gone, having ended: what is left of it is delivered, or given up for good. */
  release(): void {
    this.#isReleased = true
    this.#isClosing = true
    this.#story.release()
    if (this.state === 'disabled') this.stop()
  }

  /** Sends nothing any more. What is being sent at the moment is broken off; it may have arrived. */
  stop(): void {
    this.#controller.abort(new Error('The push notification configuration is gone'))
    this.#story.end()
    this.redeliver()
  }

  #read(): PushStory {
    const { texts, read } = this.#context
    return read(texts && (() => this.#prepare(texts)))
  }

  async #prepare(texts: TaskTexts): Promise<void> {
    this.#isPreparing = true
    try {
      await texts.turn(this.#controller.signal)
    } finally {
      this.#isPreparing = false
    }
  }

  async #run(): Promise<void> {
    const { onEnd, onFault } = this.#context
    try {
      while (await this.#tellNext(onFault));
    } finally {
      this.#story.end()
      this.#isOver = true
      this.#current = undefined
      this.#nextAttemptAt = undefined
      onEnd?.()
    }
  }

  /** Whether there may be more. */
  async #tellNext(onFault: OutboxContext['onFault']): Promise<boolean> {
    try {
      if (this.#isUnread) this.#story = this.#read()
      this.#isUnread = false
      const current = (this.#current ??= await this.#story.next())
      // A story that nobody has ended ends with the task.
      if (current === undefined) this.#isComplete ||= !this.#isClosing && !this.#isStopped()
      if (current === undefined || !(await this.#deliver(current))) return false
      this.#delivered += 1
      this.#attempts = 0
      this.#current = undefined
      this.#isComplete = current.entry.last
      this.#context.claim?.onAttempt(current)
      return true
    } catch (error) {
      if (this.#isStopped() || this.#isEnd(error)) return false
      onFault(error)
      // The webhook is not to blame, and somebody will go on.
      if (this.#context.claim !== undefined && A2AError.is(error, 'STORE_FAILED')) return false
      this.#failure = FAULT
      // What has failed to read has ended.
      this.#isUnread = this.#current === undefined
      await this.#disable()
      return !this.#isStopped()
    }
  }

  #isEnd(error: unknown): boolean {
    const ends = this.#context.claim === undefined ? ENDS : SHARED_ENDS
    return A2AError.is(error) && ends.includes(error.code)
  }

  #isStopped(): boolean {
    return this.#controller.signal.aborted
  }

  /** Whether it has arrived at last. */
  async #deliver(happening: Happening): Promise<boolean> {
    const { settings, claim } = this.#context
    const { signal } = this.#controller
    while (!signal.aborted && !this.#story.isOver) {
      if (claim !== undefined && !(await claim.isHeld())) break
      const missed = await this.#attempt(happening)
      this.#failure = missed && failureOf(missed)
      if (missed === undefined) return true
      claim?.onAttempt(undefined)
      if (missed.isFinal || this.#attempts >= settings.pacing.attempts) await this.#disable()
      else await this.#pause(missed)
    }
    return false
  }

  async #attempt(happening: Happening): Promise<Missed | undefined> {
    const { settings, slots, config, owner, texts } = this.#context
    const { signal } = this.#controller
    await texts?.turn(signal)
    const { origin, hostname } = new URL(config.url)
    const giveBack = await slots.take([owner ?? '', hostname, origin], signal)
    this.#attempts += 1
    try {
      const { text, release } = this.#textOf(happening)
      try {
        return await notify(settings, config, this.#notificationOf(happening, text), signal)
      } finally {
        release()
      }
    } finally {
      giveBack()
    }
  }

  async #pause(missed: Missed): Promise<void> {
    const { pacing } = this.#context.settings
    const { reason, retryAfterMs } = missed
    const asked = new A2AError('UNAVAILABLE', reason, { reason, retryAfterMs })
    const delayMs = pauseMs(pacing, this.#attempts, asked)
    this.#nextAttemptAt = new Date(pacing.clock.now() + delayMs).toISOString()
    try {
      await sleep(pacing.clock, delayMs, this.#controller.signal)
    } finally {
      this.#nextAttemptAt = undefined
    }
  }

  /** Waits until somebody wants it to go on. */
  async #disable(): Promise<void> {
    const enabled = new Promise<void>((resolve) => {
      this.#enable = resolve
    })
    this.#context.onDisabled(this.#failure ?? { reason: 'unknown' })
    if (this.#isClosing) this.stop()
    await enabled
    this.#attempts = 0
  }

  #notificationOf(happening: Happening, body: string): Notification {
    const { dialect } = this.#context
    return {
      id: this.#idOf(happening),
      // Versions that have a name instead of a number have no such header.
      version: /^\d+\.\d+$/.test(dialect.version) ? dialect.version : undefined,
      mediaType: dialect.mediaType,
      body,
    }
  }

  /** Made anew for each attempt, rather than held while the webhook is away. */
  #textOf(happening: Happening): ReturnType<TaskTexts['hold']> {
    const make = (): string => JSON.stringify(encodeHappening(this.#context.dialect, happening))
    const { texts } = this.#context
    return texts?.hold(happening.generation, make) ?? { text: make(), release: () => undefined }
  }

  #idOf(happening: Happening): string {
    const { taskId, config } = this.#context
    return idOfNotification(taskId, config.id, happening)
  }
}

/** As in the header `X-A2A-Notification-Id`. */
export function idOfNotification(taskId: string, configId: string, { generation }: Happening): string {
  return `${encodeURIComponent(taskId)}/${encodeURIComponent(configId)}/${generation}`
}

function encodeHappening(dialect: Dialect, { entry, task }: Happening): JsonObject {
  // Who registers a configuration speaks a version that has notifications.
  if (task === undefined) return dialect.encodeNotification?.(entry) ?? {}
  return dialect.encodeTaskNotification?.(task) ?? {}
}

/** What cannot be encoded has disabled its webhook; it should not hide the others. */
export function showHappening(dialect: Dialect, happening: Happening): JsonObject {
  try {
    return encodeHappening(dialect, happening)
  } catch {
    return {}
  }
}

function failureOf({ reason, status }: Missed): PushFailure {
  return { reason, ...(status !== undefined && { status }) }
}
