/**
 * Requests about messages, tasks and the extended card, and the response that lists tasks.
 *
 * @module
 */
import { JsonObjectSchema } from './json.js'
import { MessageSchema } from './message.js'
import { TaskPushNotificationConfigSchema } from './push.js'
import {
  boolean,
  integer,
  list,
  nonEmptyString,
  object,
  oneOf,
  optional,
  string,
  strings,
  timestamp,
} from './scalars.js'
import { TaskSchema, TaskStateSchema } from './task.js'
import type { Infer } from './schema.js'

/** A2A 1.0 §3.2.2. */
export const SendMessageConfigurationSchema = object({
  acceptedOutputModes: optional(strings),
  taskPushNotificationConfig: optional(TaskPushNotificationConfigSchema),
  historyLength: optional(integer(0)),
  returnImmediately: optional(boolean),
})
export type SendMessageConfiguration = Infer<typeof SendMessageConfigurationSchema>

/** A2A 1.0 §3.2.1. */
export const SendMessageRequestSchema = object({
  tenant: optional(string),
  message: MessageSchema,
  configuration: optional(SendMessageConfigurationSchema),
  metadata: optional(JsonObjectSchema),
})
export type SendMessageRequest = Infer<typeof SendMessageRequestSchema>

/** A2A 1.0 §3.1.3. */
export const GetTaskRequestSchema = object({
  tenant: optional(string),
  id: nonEmptyString,
  historyLength: optional(integer(0)),
})
export type GetTaskRequest = Infer<typeof GetTaskRequestSchema>

// A call, because bundlers drop an unused pure call but keep a spread.
function taskStateFilter() {
  return oneOf(['TASK_STATE_UNSPECIFIED', ...TaskStateSchema.options])
}

/** A2A 1.0 §3.1.4. The status `TASK_STATE_UNSPECIFIED` does not filter. */
export const ListTasksRequestSchema = object({
  tenant: optional(string),
  contextId: optional(nonEmptyString),
  status: optional(taskStateFilter()),
  pageSize: optional(integer(1, 100)),
  pageToken: optional(string),
  historyLength: optional(integer(0)),
  statusTimestampAfter: optional(timestamp),
  includeArtifacts: optional(boolean),
})
export type ListTasksRequest = Infer<typeof ListTasksRequestSchema>

/** A2A 1.0 §3.1.4. `tasks` and `nextPageToken` are required but may be empty. The token of the last page is. */
export const ListTasksResponseSchema = object({
  tasks: list(TaskSchema),
  nextPageToken: string,
  pageSize: integer(0),
  totalSize: integer(0),
})
export type ListTasksResponse = Infer<typeof ListTasksResponseSchema>

/** A2A 1.0 §3.1.5. */
export const CancelTaskRequestSchema = object({
  tenant: optional(string),
  id: nonEmptyString,
  metadata: optional(JsonObjectSchema),
})
export type CancelTaskRequest = Infer<typeof CancelTaskRequestSchema>

/** A2A 1.0 §3.1.6. */
export const SubscribeToTaskRequestSchema = object({
  tenant: optional(string),
  id: nonEmptyString,
})
export type SubscribeToTaskRequest = Infer<typeof SubscribeToTaskRequestSchema>

/** A2A 1.0 §3.1.11. */
export const GetExtendedAgentCardRequestSchema = object({
  tenant: optional(string),
})
export type GetExtendedAgentCardRequest = Infer<typeof GetExtendedAgentCardRequestSchema>
