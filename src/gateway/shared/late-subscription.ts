/**
 * Subscription to a task that is yet to be stored.
 *
 * @module
 */
import type { TaskStreamEvent } from '../../core/events.js'
import type { TaskSubscription } from '../../core/subscription.js'

type Result = IteratorResult<TaskStreamEvent, undefined>

/** Rejects from `next()` with the reason for which there is no subscription. */
export class LateSubscription implements TaskSubscription {
  readonly #subscription: Promise<TaskSubscription>
  #isClosed = false

  constructor(subscription: Promise<TaskSubscription>) {
    this.#subscription = subscription
    // `next` reports the failure.
    subscription.catch(() => undefined)
  }

  async next(): Promise<Result> {
    if (this.#isClosed) return { done: true, value: undefined }
    return await (await this.#subscription).next()
  }

  async return(): Promise<Result> {
    this.#isClosed = true
    const subscription = await this.#subscription.catch(() => undefined)
    return (await subscription?.return()) ?? { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}
