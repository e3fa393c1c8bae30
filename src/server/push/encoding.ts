/**
 * Ids and bodies of notifications.
 *
 * @module
 */
import type { JsonObject } from '../../core/json-types.js'
import type { Dialect } from '../../wire/dialect.js'
import { shownEntry, shownId, shownTask } from '../chosen-ids.js'
import type { TaskNotification } from './notifications.js'

/** The value of the header `X-A2A-Notification-Id`. */
export function notificationIdOf(taskId: string, configId: string, { generation }: TaskNotification): string {
  return `${encodeURIComponent(shownId(taskId))}/${encodeURIComponent(configId)}/${generation}`
}

export function encodeNotification(dialect: Dialect, { entry, task }: TaskNotification): JsonObject {
  // Registering requires a dialect that has one of the two encoders.
  if (task === undefined) return dialect.encodeNotification?.(shownEntry(entry)) ?? {}
  return dialect.encodeTaskNotification?.(shownTask(task)) ?? {}
}

/** The notification as JSON; empty if it cannot be encoded, so that one faulty entry does not hide a whole list. */
export function showNotification(dialect: Dialect, notification: TaskNotification): JsonObject {
  try {
    return encodeNotification(dialect, notification)
  } catch {
    return {}
  }
}
