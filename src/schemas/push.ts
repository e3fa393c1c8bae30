/**
 * Push notification configurations and the requests that manage them.
 *
 * @module
 */
import { integer, list, nonEmptyString, object, optional, string } from './scalars.js'
import type { Infer } from './schema.js'

/** A2A 1.0 §4.3.2. */
export const AuthenticationInfoSchema = object({
  scheme: nonEmptyString,
  credentials: optional(string),
})
export type AuthenticationInfo = Infer<typeof AuthenticationInfoSchema>

/** A2A 1.0 §4.3.1; also the request that creates one (§3.1.7). Without `id` the agent chooses one. */
export const TaskPushNotificationConfigSchema = object({
  tenant: optional(string),
  id: optional(nonEmptyString),
  taskId: optional(nonEmptyString),
  url: nonEmptyString,
  token: optional(string),
  authentication: optional(AuthenticationInfoSchema),
})
export type TaskPushNotificationConfig = Infer<typeof TaskPushNotificationConfigSchema>

/** A2A 1.0 §3.1.8. */
export const GetTaskPushNotificationConfigRequestSchema = object({
  tenant: optional(string),
  taskId: nonEmptyString,
  id: nonEmptyString,
})
export type GetTaskPushNotificationConfigRequest = Infer<typeof GetTaskPushNotificationConfigRequestSchema>

/** A2A 1.0 §3.1.9. The page size is not `optional` in the proto, so 0 means no limit. */
export const ListTaskPushNotificationConfigsRequestSchema = object({
  tenant: optional(string),
  taskId: nonEmptyString,
  pageSize: optional(integer(0)),
  pageToken: optional(string),
})
export type ListTaskPushNotificationConfigsRequest = Infer<
  typeof ListTaskPushNotificationConfigsRequestSchema
>

/** A2A 1.0 §3.1.9. ProtoJSON leaves an empty `configs` out. */
export const ListTaskPushNotificationConfigsResponseSchema = object({
  configs: optional(list(TaskPushNotificationConfigSchema)),
  nextPageToken: optional(string),
})
export type ListTaskPushNotificationConfigsResponse = Infer<
  typeof ListTaskPushNotificationConfigsResponseSchema
>

/** A2A 1.0 §3.1.10. */
export const DeleteTaskPushNotificationConfigRequestSchema = object({
  tenant: optional(string),
  taskId: nonEmptyString,
  id: nonEmptyString,
})
export type DeleteTaskPushNotificationConfigRequest = Infer<
  typeof DeleteTaskPushNotificationConfigRequestSchema
>
