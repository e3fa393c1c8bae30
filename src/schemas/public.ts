/**
 * The public schemas: those that the library reads with, as schemas of zod.
 *
 * @module
 */
import * as card from './agent-card.js'
import * as artifact from './artifact.js'
import * as events from './events.js'
import * as json from './json.js'
import * as rpc from './json-rpc.js'
import * as message from './message.js'
import * as part from './part.js'
import * as push from './push.js'
import * as requests from './requests.js'
import * as security from './security.js'
import * as task from './task.js'
import { toZod } from './zod.js'

/** A2A 1.0 §4.4.3. */
export const AgentCapabilitiesSchema = toZod(card.AgentCapabilitiesSchema)

/** A2A 1.0 §4.4.1. */
export const AgentCardSchema = toZod(card.AgentCardSchema)

/** A JWS (A2A 1.0 §4.4.7). */
export const AgentCardSignatureSchema = toZod(card.AgentCardSignatureSchema)

/** A2A 1.0 §4.4.4. */
export const AgentExtensionSchema = toZod(card.AgentExtensionSchema)

/** A2A 1.0 §4.4.6. The binding is open: a custom one is named by a URI (§5.8). */
export const AgentInterfaceSchema = toZod(card.AgentInterfaceSchema)

/** A2A 1.0 §4.4.2. */
export const AgentProviderSchema = toZod(card.AgentProviderSchema)

/** A2A 1.0 §4.4.5. */
export const AgentSkillSchema = toZod(card.AgentSkillSchema)

/** A2A 1.0 §4.1.7. */
export const ArtifactSchema = toZod(artifact.ArtifactSchema)

/** A2A 1.0 §3.1.1. */
export const SendMessageResponseSchema = toZod(events.SendMessageResponseSchema)

/** One event of a stream, or the body of a push notification (A2A 1.0 §3.2.3). */
export const StreamResponseSchema = toZod(events.StreamResponseSchema)

/** A2A 1.0 §4.2.2. */
export const TaskArtifactUpdateEventSchema = toZod(events.TaskArtifactUpdateEventSchema)

/** A2A 1.0 §4.2.1. */
export const TaskStatusUpdateEventSchema = toZod(events.TaskStatusUpdateEventSchema)

/** An object, not an array. Returned unchanged, not copied. */
export const JsonObjectSchema = toZod(json.JsonObjectSchema)

/** Any value of a JSON type. Returned unchanged, not copied. */
export const JsonValueSchema = toZod(json.JsonValueSchema)

/** `data` may be any JSON here: A2A 1.0 sends an array of details (§9.5), other versions leave it open. */
export const JsonRpcErrorSchema = toZod(rpc.JsonRpcErrorSchema)

/** A number must be a safe integer, so that the response carries the id of the request unchanged. */
export const JsonRpcIdSchema = toZod(rpc.JsonRpcIdSchema)

/** `params` may be any JSON here. The schema of the method's request checks them. */
export const JsonRpcRequestSchema = toZod(rpc.JsonRpcRequestSchema)

/** A response: a result or an error, never both (JSON-RPC 2.0 §5). */
export const JsonRpcResponseSchema = toZod(rpc.JsonRpcResponseSchema)

/** A2A 1.0 §4.1.4. */
export const MessageSchema = toZod(message.MessageSchema)

/** A2A 1.0 §4.1.5, without `ROLE_UNSPECIFIED`, which means that the role is missing. */
export const RoleSchema = toZod(message.RoleSchema)

/** A2A 1.0 §4.1.6. */
export const PartSchema = toZod(part.PartSchema)

/** A2A 1.0 §4.3.2. */
export const AuthenticationInfoSchema = toZod(push.AuthenticationInfoSchema)

/** A2A 1.0 §3.1.10. */
export const DeleteTaskPushNotificationConfigRequestSchema = toZod(
  push.DeleteTaskPushNotificationConfigRequestSchema,
)

/** A2A 1.0 §3.1.8. */
export const GetTaskPushNotificationConfigRequestSchema = toZod(
  push.GetTaskPushNotificationConfigRequestSchema,
)

/** A2A 1.0 §3.1.9. The page size is not `optional` in the proto, so 0 means no limit. */
export const ListTaskPushNotificationConfigsRequestSchema = toZod(
  push.ListTaskPushNotificationConfigsRequestSchema,
)

/** A2A 1.0 §3.1.9. ProtoJSON leaves an empty `configs` out. */
export const ListTaskPushNotificationConfigsResponseSchema = toZod(
  push.ListTaskPushNotificationConfigsResponseSchema,
)

/** A2A 1.0 §4.3.1; also the request that creates one (§3.1.7). Without `id` the agent chooses one. */
export const TaskPushNotificationConfigSchema = toZod(push.TaskPushNotificationConfigSchema)

/** A2A 1.0 §3.1.5. */
export const CancelTaskRequestSchema = toZod(requests.CancelTaskRequestSchema)

/** A2A 1.0 §3.1.11. */
export const GetExtendedAgentCardRequestSchema = toZod(requests.GetExtendedAgentCardRequestSchema)

/** A2A 1.0 §3.1.3. */
export const GetTaskRequestSchema = toZod(requests.GetTaskRequestSchema)

/** A2A 1.0 §3.1.4. The status `TASK_STATE_UNSPECIFIED` does not filter. */
export const ListTasksRequestSchema = toZod(requests.ListTasksRequestSchema)

/** A2A 1.0 §3.1.4. `tasks` and `nextPageToken` are required but may be empty. The token of the last page is. */
export const ListTasksResponseSchema = toZod(requests.ListTasksResponseSchema)

/** A2A 1.0 §3.2.2. */
export const SendMessageConfigurationSchema = toZod(requests.SendMessageConfigurationSchema)

/** A2A 1.0 §3.2.1. */
export const SendMessageRequestSchema = toZod(requests.SendMessageRequestSchema)

/** A2A 1.0 §3.1.6. */
export const SubscribeToTaskRequestSchema = toZod(requests.SubscribeToTaskRequestSchema)

/** A2A 1.0 §4.5.7. The two deprecated flows, `implicit` and `password`, have no required fields. */
export const OAuthFlowsSchema = toZod(security.OAuthFlowsSchema)

/** The required scopes of each scheme (A2A 1.0 §4.5). ProtoJSON leaves out what is empty. */
export const SecurityRequirementSchema = toZod(security.SecurityRequirementSchema)

/** A2A 1.0 §4.5.1. */
export const SecuritySchemeSchema = toZod(security.SecuritySchemeSchema)

/** A2A 1.0 §4.1.1. */
export const TaskSchema = toZod(task.TaskSchema)

/** A2A 1.0 §4.1.3, without `TASK_STATE_UNSPECIFIED`, which is not the state of any task. */
export const TaskStateSchema = toZod(task.TaskStateSchema)

/** A2A 1.0 §4.1.2. */
export const TaskStatusSchema = toZod(task.TaskStatusSchema)
