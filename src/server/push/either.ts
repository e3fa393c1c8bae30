/**
 * Webhooks over either manager of tasks.
 *
 * @module
 */
import type { Settings } from '../options.js'
import {
  NO_DELIVERIES,
  NO_DURABLE_DELIVERIES,
  type DurablePushDeliveries,
  type PushDeliveries,
} from './health.js'
import { PushNotifications } from './memory-registry.js'
import type { PushService } from './service.js'
import { SharedPush } from './registry.js'
import { isShared, type ServedTasks } from '../tasks.js'

export type EitherDeliveries = PushDeliveries | DurablePushDeliveries

type Needed = 'push' | 'tasks' | 'onError' | 'generateId' | 'clock' | 'dialects'

/** They live where their tasks do. Nothing where the agent sends no push notifications. */
export function toPush(settings: Pick<Settings, Needed>): (PushService & EitherDeliveries) | undefined {
  const { push, tasks } = settings
  if (push === undefined) return undefined
  return isShared(tasks)
    ? new SharedPush(push, { ...settings, tasks })
    : new PushNotifications(push, { ...settings, tasks })
}

export function noDeliveries(tasks: ServedTasks): EitherDeliveries {
  return isShared(tasks) ? NO_DURABLE_DELIVERIES : NO_DELIVERIES
}
