/**
 * Numbers of what a handler is doing now.
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
  /** How many events of their tasks' logs webhooks that are not idle lack, in total: at least one each. */
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
