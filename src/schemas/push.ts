/**
 * Push notifications: where an agent sends them, and the requests that arrange it.
 *
 * @module
 */
import * as z from 'zod'
import { integer, list, nonEmptyString, optional } from './scalars.js'

/** A2A 1.0 §4.3.2. */
export const AuthenticationInfoSchema = z.object({
  scheme: nonEmptyString,
  credentials: optional(z.string()),
})
export type AuthenticationInfo = z.infer<typeof AuthenticationInfoSchema>

/** A2A 1.0 §4.3.1; also the request that creates one (§3.1.7), which may leave `id` to the agent. */
export const TaskPushNotificationConfigSchema = z.object({
  tenant: optional(z.string()),
  id: optional(nonEmptyString),
  taskId: optional(nonEmptyString),
  url: nonEmptyString,
  token: optional(z.string()),
  authentication: optional(AuthenticationInfoSchema),
})
export type TaskPushNotificationConfig = z.infer<typeof TaskPushNotificationConfigSchema>

/** A2A 1.0 §3.1.8. */
export const GetTaskPushNotificationConfigRequestSchema = z.object({
  tenant: optional(z.string()),
  taskId: nonEmptyString,
  id: nonEmptyString,
})
export type GetTaskPushNotificationConfigRequest = z.infer<typeof GetTaskPushNotificationConfigRequestSchema>

/** A2A 1.0 §3.1.9. The page size is no `optional int32` here, so that 0 stands for none. */
export const ListTaskPushNotificationConfigsRequestSchema = z.object({
  tenant: optional(z.string()),
  taskId: nonEmptyString,
  pageSize: optional(integer(0)),
  pageToken: optional(z.string()),
})
export type ListTaskPushNotificationConfigsRequest = z.infer<
  typeof ListTaskPushNotificationConfigsRequestSchema
>

/** A2A 1.0 §3.1.9. `configs` is not required: an empty list may be left out. */
export const ListTaskPushNotificationConfigsResponseSchema = z.object({
  configs: optional(list(TaskPushNotificationConfigSchema)),
  nextPageToken: optional(z.string()),
})
export type ListTaskPushNotificationConfigsResponse = z.infer<
  typeof ListTaskPushNotificationConfigsResponseSchema
>

/** A2A 1.0 §3.1.10. */
export const DeleteTaskPushNotificationConfigRequestSchema = z.object({
  tenant: optional(z.string()),
  taskId: nonEmptyString,
  id: nonEmptyString,
})
export type DeleteTaskPushNotificationConfigRequest = z.infer<
  typeof DeleteTaskPushNotificationConfigRequestSchema
>
