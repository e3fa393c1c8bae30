/**
 * The delivery to one webhook: one notification after the other, each until it has arrived.
 *
 * @module
 */
import { pauseMs, sleep } from '../client/retry.js'
import { A2AError, type ErrorCode } from '../core/errors.js'
import type { JsonObject } from '../core/task.js'
import type { Dialect, PushConfig } from '../wire/index.js'
import type { PushSettings } from './push-options.js'
import type { Slots } from './push-slots.js'
import type { Happening, PushStory } from './push-story.js'
import { notify, type Missed, type Notification, type PushFailure } from './push-webhook.js'

/**
 * `'idle'`: nothing to tell. `'delivering'`: a notification is being sent, or waits for its turn. `'retrying'`: it
 * waits to be sent again. `'disabled'`: it has been given up, and those after it wait. `'done'`: all is told.
 */
export type PushState = 'idle' | 'delivering' | 'retrying' | 'disabled' | 'done'

interface OutboxContext {
  readonly settings: PushSettings
  readonly slots: Slots
  readonly taskId: string
  readonly config: PushConfig & { readonly id: string }
  /** That of whoever registered the configuration. */
  readonly dialect: Dialect
  readonly story: PushStory
  /** Is told when a notification is given up. */
  readonly onDisabled: (failure: PushFailure) => void
  /** Is told of what must not happen. */
  readonly onFault: (error: unknown) => void
  /** Is told when nothing more will be sent, whatever the reason. */
  readonly onEnd: () => void
}

/** Why a task's events come to an end before it does. */
const ENDS: readonly ErrorCode[] = ['TASK_EXPIRED', 'MANAGER_DESTROYED']

/** Reads the task's log at the webhook's pace: no queue grows, and what is not delivered is where the cursor stands. */
export class Outbox {
  readonly origin: string
  readonly #context: OutboxContext
  readonly #controller = new AbortController()
  /** Settles when nothing more will be sent. Never rejects. */
  readonly ended: Promise<void>
  #current: Happening | undefined
  #attempts = 0
  #delivered = 0
  #failure: PushFailure | undefined
  #nextAttemptAt: string | undefined
  #enable: (() => void) | undefined
  #isReleased = false
  #isClosing = false
  #isOver = false

  constructor(context: OutboxContext) {
    this.#context = context
    this.origin = new URL(context.config.url).origin
    this.ended = this.#run()
  }

  get state(): PushState {
    if (this.#isOver) return 'done'
    if (this.#enable !== undefined) return 'disabled'
    if (this.#nextAttemptAt !== undefined) return 'retrying'
    // The first notification is there from the beginning.
    return this.#current === undefined && this.#delivered > 0 ? 'idle' : 'delivering'
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
    return { notificationId: this.#idOf(this.#current), notification: this.#encode(this.#current) }
  }

  /** Goes on with the notification that was given up. Whether one was. */
  redeliver(): boolean {
    if (this.#enable === undefined) return false
    this.#enable()
    return true
  }

  /** Ends when all that has happened is delivered, or given up. */
  close(): void {
    this.#isClosing = true
    // The story of a task that is gone comes to its end by itself.
    if (!this.#isReleased) this.#context.story.close()
    if (this.state === 'disabled') this.stop()
  }

  /** The task is gone, having ended: what is left of it is delivered, or given up for good. */
  release(): void {
    this.#isReleased = true
    this.#isClosing = true
    if (this.state === 'disabled') this.stop()
  }

  /** Sends nothing any more. What is being sent at the moment is broken off; it may have arrived. */
  stop(): void {
    this.#controller.abort(new Error('The push notification configuration is gone'))
    this.#context.story.end()
    this.#enable?.()
  }

  async #run(): Promise<void> {
    const { story, onEnd, onFault } = this.#context
    try {
      for (;;) {
        this.#current = await story.next()
        if (this.#current === undefined || !(await this.#deliver(this.#current))) break
        this.#delivered += 1
        this.#attempts = 0
        this.#current = undefined
      }
    } catch (error) {
      const isExpected = this.#controller.signal.aborted || (A2AError.is(error) && ENDS.includes(error.code))
      if (!isExpected) onFault(error)
    } finally {
      story.end()
      this.#isOver = true
      this.#current = undefined
      this.#nextAttemptAt = undefined
      onEnd()
    }
  }

  /** Whether it has arrived at last. */
  async #deliver(happening: Happening): Promise<boolean> {
    const { settings } = this.#context
    const { signal } = this.#controller
    for (this.#attempts = 0; !signal.aborted;) {
      const missed = await this.#attempt(happening)
      this.#failure = missed && failureOf(missed)
      if (missed === undefined) return true
      if (missed.isFinal || this.#attempts >= settings.pacing.attempts) await this.#disable()
      else await this.#pause(missed)
    }
    return false
  }

  async #attempt(happening: Happening): Promise<Missed | undefined> {
    const { settings, slots, config } = this.#context
    const { signal } = this.#controller
    const giveBack = await slots.take(this.origin, signal)
    this.#attempts += 1
    try {
      return await notify(settings, config, this.#notificationOf(happening), signal)
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
    this.#enable = undefined
    this.#attempts = 0
  }

  #notificationOf(happening: Happening): Notification {
    const { dialect } = this.#context
    return {
      id: this.#idOf(happening),
      // Versions that have a name instead of a number have no such header.
      version: /^\d+\.\d+$/.test(dialect.version) ? dialect.version : undefined,
      mediaType: dialect.mediaType,
      body: JSON.stringify(this.#encode(happening)),
    }
  }

  /** Made anew for each attempt, rather than held while the webhook is away. */
  #encode({ entry, task }: Happening): JsonObject {
    // Who registers a configuration speaks a version that has notifications.
    return this.#context.dialect.encodeNotification?.(entry, task) ?? {}
  }

  #idOf({ generation }: Happening): string {
    const { taskId, config } = this.#context
    return `${encodeURIComponent(taskId)}/${encodeURIComponent(config.id)}/${generation}`
  }
}

function failureOf({ reason, status }: Missed): PushFailure {
  return { reason, ...(status !== undefined && { status }) }
}
