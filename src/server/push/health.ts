/**
 * What an integrator may know and do about deliveries to webhooks.
 *
 * @module
 */
import type { JsonObject } from '../../core/json-types.js'
import type { TaskManager } from '../../core/task-manager.js'
import type { Outbox, PushState } from './outbox.js'
import type { ServedTasks } from '../tasks.js'
import type { PushFailure } from './webhook.js'

/** How the delivery to one webhook goes. It holds no secret: of the URL no more than its origin. */
export interface PushHealth {
  readonly taskId: string
  /** Of the configuration. */
  readonly id: string
  readonly origin: string
  readonly state: PushState
  /** How many notifications have arrived since the configuration was registered. */
  readonly delivered: number
  /** How often the present notification was sent. */
  readonly attempts: number
  /** Why the latest attempt failed; absent if it has not. */
  readonly failure?: PushFailure
  /** Of the next attempt, while the state is `'retrying'`. ISO 8601. */
  readonly nextAttemptAt?: string
}

/** A notification that was given up. Those after it wait in the task's log. */
export interface PushDeadLetter {
  readonly taskId: string
  /** Of the configuration. */
  readonly id: string
  readonly origin: string
  /** As in the header `X-A2A-Notification-Id`. */
  readonly notificationId: string
  /** What the webhook should have been told. */
  readonly notification: JsonObject
  readonly attempts: number
  readonly failure?: PushFailure
}

/** The deliveries to webhooks. Where the agent sends no push notifications, there are none. */
export interface PushDeliveries {
  /** Of all configurations, or of those of one task, in the order of their registration. */
  readonly health: (taskId?: string) => PushHealth[]
  /** Of the configurations that are disabled. */
  readonly deadLetters: () => PushDeadLetter[]
  /**
   * Enables a configuration again: goes on with the notification that was given up, and then with what came after it,
   * in order. Where the task's log has moved past that, the webhook is told of the task as it is.
   *
   * @returns Whether the configuration was disabled.
   */
  readonly redeliver: (taskId: string, id: string) => boolean
}

/**
 * {@link PushDeliveries} over a `DurableTaskManager`: of all processes that share its store, with promises, as all that is in
 * a store has. Of a webhook that another process tells, the health is what that process stored last, without
 * `nextAttemptAt`. Methods reject with `STORE_FAILED`.
 */
export interface DurablePushDeliveries {
  /** Of all configurations, in no order of their tasks, or of those of one task. O(configurations in the store), or of the task. */
  readonly health: (taskId?: string) => Promise<PushHealth[]>
  /** Of the configurations that are disabled, with the tasks as the log has them. O(webhooks that there is something to tell). */
  readonly deadLetters: () => Promise<PushDeadLetter[]>
  /** As that of {@link PushDeliveries}, whichever process has disabled it: this one goes on. */
  readonly redeliver: (taskId: string, id: string) => Promise<boolean>
}

/** What a handler over tasks of this manager has. */
export type PushDeliveriesOf<M extends ServedTasks> = M extends TaskManager
  ? PushDeliveries
  : DurablePushDeliveries

/** Of an agent that sends none. */
export const NO_DELIVERIES: PushDeliveries = {
  health: () => [],
  deadLetters: () => [],
  redeliver: () => false,
}

/** The same, over a `DurableTaskManager`. */
export const NO_DURABLE_DELIVERIES: DurablePushDeliveries = {
  health: () => Promise.resolve([]),
  deadLetters: () => Promise.resolve([]),
  redeliver: () => Promise.resolve(false),
}

export function healthOf(taskId: string, outbox: Outbox): PushHealth {
  const { configId: id, origin, state, delivered, attempts, failure, nextAttemptAt } = outbox
  return {
    ...{ taskId, id, origin, state, delivered, attempts },
    ...(failure && { failure }),
    ...(nextAttemptAt !== undefined && { nextAttemptAt }),
  }
}
