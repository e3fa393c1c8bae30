/**
 * The wire format of A2A 1.0 as zod/mini schemas, each with its inferred type. They compose with schemas of zod.
 *
 * `TaskSchema` validates values of the type `Task`, `MessageSchema` those of the type `Message`, and so on. Schemas ignore
 * unknown fields and coerce nothing.
 *
 * @module
 */
export {
  AgentCapabilitiesSchema,
  AgentCardSchema,
  AgentCardSignatureSchema,
  AgentExtensionSchema,
  AgentInterfaceSchema,
  AgentProviderSchema,
  AgentSkillSchema,
} from './agent-card.js'
export type {
  AgentCapabilities,
  AgentCard,
  AgentCardSignature,
  AgentExtension,
  AgentInterface,
  AgentProvider,
  AgentSkill,
} from './agent-card.js'
export { ArtifactSchema } from './artifact.js'
export type { Artifact } from './artifact.js'
export {
  SendMessageResponseSchema,
  StreamResponseSchema,
  TaskArtifactUpdateEventSchema,
  TaskStatusUpdateEventSchema,
} from './events.js'
export type {
  SendMessageResponse,
  StreamResponse,
  TaskArtifactUpdateEvent,
  TaskStatusUpdateEvent,
} from './events.js'
export { JsonObjectSchema, JsonValueSchema } from './json.js'
export type { JsonObject, JsonValue } from './json.js'
export {
  JsonRpcErrorSchema,
  JsonRpcIdSchema,
  JsonRpcRequestSchema,
  JsonRpcResponseSchema,
} from './json-rpc.js'
export type { JsonRpcError, JsonRpcId, JsonRpcRequest, JsonRpcResponse } from './json-rpc.js'
export { MessageSchema, RoleSchema } from './message.js'
export type { Message, Role } from './message.js'
export { PartSchema } from './part.js'
export type { Part } from './part.js'
export {
  AuthenticationInfoSchema,
  DeleteTaskPushNotificationConfigRequestSchema,
  GetTaskPushNotificationConfigRequestSchema,
  ListTaskPushNotificationConfigsRequestSchema,
  ListTaskPushNotificationConfigsResponseSchema,
  TaskPushNotificationConfigSchema,
} from './push.js'
export type {
  AuthenticationInfo,
  DeleteTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponse,
  TaskPushNotificationConfig,
} from './push.js'
export {
  CancelTaskRequestSchema,
  GetExtendedAgentCardRequestSchema,
  GetTaskRequestSchema,
  ListTasksRequestSchema,
  ListTasksResponseSchema,
  SendMessageConfigurationSchema,
  SendMessageRequestSchema,
  SubscribeToTaskRequestSchema,
} from './requests.js'
export type {
  CancelTaskRequest,
  GetExtendedAgentCardRequest,
  GetTaskRequest,
  ListTasksRequest,
  ListTasksResponse,
  SendMessageConfiguration,
  SendMessageRequest,
  SubscribeToTaskRequest,
} from './requests.js'
export type { ListSchema, RecordSchema } from './scalars.js'
export type { OneOfSchema } from './one-of.js'
export { OAuthFlowsSchema, SecurityRequirementSchema, SecuritySchemeSchema } from './security.js'
export type { OAuthFlows, SecurityRequirement, SecurityScheme } from './security.js'
export { TaskSchema, TaskStateSchema, TaskStatusSchema } from './task.js'
export type { Task, TaskState, TaskStatus } from './task.js'
