/**
 * What a client asks for: the requests about messages, tasks and the extended card, and the answer that lists tasks.
 *
 * @module
 */
import * as z from 'zod'
import { JsonObjectSchema } from './json.js'
import { MessageSchema } from './message.js'
import { TaskPushNotificationConfigSchema } from './push.js'
import { integer, list, nonEmptyString, optional, strings, timestamp } from './scalars.js'
import { TaskSchema, TaskStateSchema } from './task.js'

/** A2A 1.0 §3.2.2. */
export const SendMessageConfigurationSchema = z.object({
  acceptedOutputModes: optional(strings),
  taskPushNotificationConfig: optional(TaskPushNotificationConfigSchema),
  historyLength: optional(integer(0)),
  returnImmediately: optional(z.boolean()),
})
export type SendMessageConfiguration = z.infer<typeof SendMessageConfigurationSchema>

/** A2A 1.0 §3.2.1. */
export const SendMessageRequestSchema = z.object({
  tenant: optional(z.string()),
  message: MessageSchema,
  configuration: optional(SendMessageConfigurationSchema),
  metadata: optional(JsonObjectSchema),
})
export type SendMessageRequest = z.infer<typeof SendMessageRequestSchema>

/** A2A 1.0 §3.1.3. */
export const GetTaskRequestSchema = z.object({
  tenant: optional(z.string()),
  id: nonEmptyString,
  historyLength: optional(integer(0)),
})
export type GetTaskRequest = z.infer<typeof GetTaskRequestSchema>

/** A2A 1.0 §3.1.4. The status `TASK_STATE_UNSPECIFIED` is no filter. */
export const ListTasksRequestSchema = z.object({
  tenant: optional(z.string()),
  contextId: optional(nonEmptyString),
  status: optional(z.enum(['TASK_STATE_UNSPECIFIED', ...TaskStateSchema.options])),
  pageSize: optional(integer(1, 100)),
  pageToken: optional(z.string()),
  historyLength: optional(integer(0)),
  statusTimestampAfter: optional(timestamp),
  includeArtifacts: optional(z.boolean()),
})
export type ListTasksRequest = z.infer<typeof ListTasksRequestSchema>

/** A2A 1.0 §3.1.4. `tasks` is required and yet may be empty, and so may the token: that of the last page is. */
export const ListTasksResponseSchema = z.object({
  tasks: list(TaskSchema),
  nextPageToken: z.string(),
  pageSize: integer(0),
  totalSize: integer(0),
})
export type ListTasksResponse = z.infer<typeof ListTasksResponseSchema>

/** A2A 1.0 §3.1.5. */
export const CancelTaskRequestSchema = z.object({
  tenant: optional(z.string()),
  id: nonEmptyString,
  metadata: optional(JsonObjectSchema),
})
export type CancelTaskRequest = z.infer<typeof CancelTaskRequestSchema>

/** A2A 1.0 §3.1.6. */
export const SubscribeToTaskRequestSchema = z.object({
  tenant: optional(z.string()),
  id: nonEmptyString,
})
export type SubscribeToTaskRequest = z.infer<typeof SubscribeToTaskRequestSchema>

/** A2A 1.0 §3.1.11. */
export const GetExtendedAgentCardRequestSchema = z.object({
  tenant: optional(z.string()),
})
export type GetExtendedAgentCardRequest = z.infer<typeof GetExtendedAgentCardRequestSchema>
