/**
 * Conversion between the objects of A2A 1.0 and those of the core, for servers and clients.
 *
 * @module
 */
import type { TaskState } from '../../core/lifecycle.js'
import type { DeepReadonly, Message } from '../../core/task.js'
import type { JsonObject } from '../../core/json-types.js'
import type { Message as WireMessage } from '../../schemas/message.js'
import type { TaskPushNotificationConfig } from '../../schemas/push.js'
import type { TaskState as WireState } from '../../schemas/task.js'
import type { PushConfig } from '../dialect.js'
import { completeMessage, json, standardBase64 } from '../view.js'

export const STATES = {
  submitted: 'TASK_STATE_SUBMITTED',
  working: 'TASK_STATE_WORKING',
  'input-required': 'TASK_STATE_INPUT_REQUIRED',
  'auth-required': 'TASK_STATE_AUTH_REQUIRED',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  canceled: 'TASK_STATE_CANCELED',
  rejected: 'TASK_STATE_REJECTED',
} as const satisfies Record<TaskState, string>

/** The state as clients see it: one that a lifecycle adds to those of the protocol is shown as `working`. */
export function shownState(state: TaskState): TaskState {
  return Object.hasOwn(STATES, state) ? state : 'working'
}

// The keys of the table are the states.
export const TASK_STATES = Object.keys(STATES) as TaskState[]

// Each state of the wire corresponds to one of the core.
export const CORE_STATES = Object.fromEntries(TASK_STATES.map((state) => [STATES[state], state])) as Readonly<
  Record<WireState, TaskState>
>

export const ROLES = { user: 'ROLE_USER', agent: 'ROLE_AGENT' } as const

export function toMessage(message: DeepReadonly<Message>): JsonObject {
  return { ...(json(completeMessage(message)) as JsonObject), role: ROLES[message.role] }
}

export function fromMessage(message: WireMessage): Message {
  const { role, parts } = message
  return { ...message, parts: parts.map(standardBase64), role: role === 'ROLE_USER' ? 'user' : 'agent' }
}

export function fromPushConfig(params: TaskPushNotificationConfig): PushConfig {
  const { id, url, token, authentication } = params
  return {
    url,
    ...(id && { id }),
    ...(token && { token }),
    ...(authentication !== undefined && { authentication }),
  }
}

export function toPushConfig(taskId: string, config: PushConfig): JsonObject {
  return { taskId, ...(json(config) as JsonObject) }
}
