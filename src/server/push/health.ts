/**
 * Health of webhook deliveries, dead letters and redelivery, for the integrator.
 *
 * @module
 */
import type { JsonObject } from '../../core/json-types.js'
import type { PushAttempt } from './attempts.js'
import type { Progress, Registration } from './storage.js'
import type { PushFailure } from './webhook.js'

/**
 * State of a delivery. `'idle'`: nothing to send. `'delivering'`: a notification is being sent, or waits for its turn.
 * `'retrying'`: it waits to be sent again. `'disabled'`: it and later ones wait. `'done'`: everything has arrived or ended.
 */
export type PushState = 'idle' | 'delivering' | 'retrying' | 'disabled' | 'done'

/** The state of the delivery to one webhook. It contains no secret, and only the origin of the URL. */
export interface PushHealth {
  readonly taskId: string
  /** The id of the configuration. */
  readonly id: string
  readonly origin: string
  readonly state: PushState
  /** How many notifications have arrived since the configuration was registered. */
  readonly delivered: number
  /** How often the current notification was sent. */
  readonly attempts: number
  /** Why the latest attempt failed; absent if it succeeded. */
  readonly failure?: PushFailure
  /** The time of the next attempt, ISO 8601, while the state is `'retrying'`. */
  readonly nextAttemptAt?: string
  /**
   * The latest attempts that this process has made, at most 20, the oldest first. They stay in memory after the delivery
   * has ended, for the 1,000 webhooks that this process has sent to last.
   */
  readonly recent: readonly PushAttempt[]
}

/** A notification that could not be delivered and is not retried. Later notifications wait in the task's log. */
export interface PushDeadLetter {
  readonly taskId: string
  /** The id of the configuration. */
  readonly id: string
  readonly origin: string
  /** The value of the header `X-A2A-Notification-Id`. */
  readonly notificationId: string
  /** The body, as JSON. */
  readonly notification: JsonObject
  readonly attempts: number
  readonly failure?: PushFailure
}

/**
 * The deliveries to webhooks. Empty if the agent sends no push notifications.
 *
 * Over a `DurableTaskManager`, these are the deliveries of all processes that share its store. For a webhook that another
 * process delivers to, the health is the one that it stored last, without `nextAttemptAt`. When the store fails, the
 * methods reject with `STORE_FAILED`.
 */
export interface PushDeliveries {
  /**
   * The health of all configurations, or of those of one task, in the order of their registration within each task. Over
   * a `TaskManager` tasks come in the order of their first registration.
   * O(configurations), or O(configurations of the task).
   */
  readonly health: (taskId?: string) => Promise<PushHealth[]>
  /**
   * The notifications of disabled configurations, with the tasks as the log has them, in the order of {@link health}.
   * O(webhooks that are delivered to).
   */
  readonly deadLetters: () => Promise<PushDeadLetter[]>
  /**
   * Enables a disabled configuration: sends the failed notification again, and then those after it, in order. If the
   * task's log no longer has that notification, the webhook receives the current task instead. Over a store, this process
   * takes over the delivery, even if another process disabled it.
   *
   * @returns Whether the configuration was disabled.
   */
  readonly redeliver: (taskId: string, id: string) => Promise<boolean>
}

/** The deliveries of an agent that sends no push notifications. */
export const NO_DELIVERIES: PushDeliveries = {
  health: () => Promise.resolve([]),
  deadLetters: () => Promise.resolve([]),
  redeliver: () => Promise.resolve(false),
}

/** The health of a delivery of another process, as that process stored it. */
export function storedHealthOf(
  taskId: string,
  { config, told: total = 0 }: Registration,
  progress: Progress | undefined,
): Omit<PushHealth, 'recent'> {
  const about = { taskId, id: config.id, origin: new URL(config.url).origin }
  if (progress === undefined) return { ...about, state: 'done', delivered: total, attempts: 0 }
  const { delivered, attempts, failure, cursor, state } = progress
  const active = attempts > 0 ? 'retrying' : cursor === null ? 'delivering' : 'idle'
  return {
    ...about,
    state: state === 'active' ? active : state,
    delivered,
    attempts,
    ...(failure && { failure }),
  }
}
