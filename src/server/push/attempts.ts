/**
 * Attempts to send notifications to webhooks, as this process has made them.
 *
 * @module
 */
import type { PushFailure } from './webhook.js'

/** One request to a webhook. */
export interface PushAttempt {
  /** The generation of the task that the notification tells of. */
  readonly generation: number
  /** How often the notification had been sent, this attempt included. */
  readonly attempt: number
  /** When it was sent, ISO 8601. */
  readonly sentAt: string
  /** The time until the webhook had answered or the attempt had failed, in ms. */
  readonly durationMs: number
  /** Why it failed; absent if the notification has arrived. */
  readonly failure?: PushFailure
}

const MAX_ATTEMPTS = 20
/** With 20 attempts each, they take a few MB. */
const MAX_WEBHOOKS = 1_000

/** The latest attempts of the webhooks that were sent to last. */
export class AttemptHistory {
  /** By the ids of progress documents. The webhook that was sent to longest ago is the first. */
  readonly #byOutbox = new Map<string, readonly PushAttempt[]>()

  add(outbox: string, attempt: PushAttempt): void {
    const attempts = [...this.of(outbox), attempt].slice(-MAX_ATTEMPTS)
    this.#byOutbox.delete(outbox)
    this.#byOutbox.set(outbox, attempts)
    for (const oldest of this.#byOutbox.keys()) {
      if (this.#byOutbox.size <= MAX_WEBHOOKS) break
      this.#byOutbox.delete(oldest)
    }
  }

  /** The oldest first. */
  of(outbox: string): readonly PushAttempt[] {
    return this.#byOutbox.get(outbox) ?? []
  }

  delete(outbox: string): void {
    this.#byOutbox.delete(outbox)
  }
}
