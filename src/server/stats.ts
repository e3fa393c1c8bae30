/**
 * Statistics of a handler: its current runs, streams and webhooks.
 *
 * @module
 */

/** The webhooks that this process delivers to, by the state of their delivery. */
export interface WebhookStats {
  /** Everything so far was delivered, or was given up, and the task continues. */
  readonly idle: number
  /** A notification is being sent, or waits for its turn. */
  readonly delivering: number
  /** A notification waits to be sent again. */
  readonly retrying: number
  /** Over a `TaskManager`: a notification was given up. Over a store, no process delivers to such webhooks. */
  readonly disabled: number
  /** Events that the webhooks that are not idle have yet to deliver, in total: at least one for each webhook. */
  readonly backlog: number
}

/** What a handler of this process is doing now. */
export interface HandlerStats {
  /** Runs of `execute` that are at work, and those that wait for the user in `run.requireInput()`. */
  readonly runs: { readonly working: number; readonly waiting: number }
  /** Open streams of clients. */
  readonly streams: number
  readonly webhooks: WebhookStats
}

export const NO_WEBHOOKS: WebhookStats = { idle: 0, delivering: 0, retrying: 0, disabled: 0, backlog: 0 }
