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
  ArtifactSchema,
  AuthenticationInfoSchema,
  CancelTaskRequestSchema,
  DeleteTaskPushNotificationConfigRequestSchema,
  GetExtendedAgentCardRequestSchema,
  GetTaskPushNotificationConfigRequestSchema,
  GetTaskRequestSchema,
  JsonObjectSchema,
  JsonRpcErrorSchema,
  JsonRpcIdSchema,
  JsonRpcRequestSchema,
  JsonRpcResponseSchema,
  JsonValueSchema,
  ListTaskPushNotificationConfigsRequestSchema,
  ListTaskPushNotificationConfigsResponseSchema,
  ListTasksRequestSchema,
  ListTasksResponseSchema,
  MessageSchema,
  OAuthFlowsSchema,
  PartSchema,
  RoleSchema,
  SecurityRequirementSchema,
  SecuritySchemeSchema,
  SendMessageConfigurationSchema,
  SendMessageRequestSchema,
  SendMessageResponseSchema,
  StreamResponseSchema,
  SubscribeToTaskRequestSchema,
  TaskArtifactUpdateEventSchema,
  TaskPushNotificationConfigSchema,
  TaskSchema,
  TaskStateSchema,
  TaskStatusSchema,
  TaskStatusUpdateEventSchema,
} from './public.js'
export type {
  AgentCapabilities,
  AgentCard,
  AgentCardSignature,
  AgentExtension,
  AgentInterface,
  AgentProvider,
  AgentSkill,
} from './agent-card.js'
export type { Artifact } from './artifact.js'
export type {
  SendMessageResponse,
  StreamResponse,
  TaskArtifactUpdateEvent,
  TaskStatusUpdateEvent,
} from './events.js'
export type { JsonObject, JsonValue } from './json.js'
export type { JsonRpcError, JsonRpcId, JsonRpcRequest, JsonRpcResponse } from './json-rpc.js'
export type { Message, Role } from './message.js'
export type { Part } from './part.js'
export type {
  AuthenticationInfo,
  DeleteTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponse,
  TaskPushNotificationConfig,
} from './push.js'
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
export type { OAuthFlows, SecurityRequirement, SecurityScheme } from './security.js'
export type { Task, TaskState, TaskStatus } from './task.js'
