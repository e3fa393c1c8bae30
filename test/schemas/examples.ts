/** One full and one minimal example of each protocol object, all of them new whenever they are asked for. */
import type * as z from 'zod/mini'
import * as schemas from '../../src/schemas/index.js'

type Json = Record<string, unknown>

interface Examples {
  schema: z.ZodMiniType
  full: Json
  minimal: Json
}

const metadata = { 'https://example.com/ext': { level: 1 } }
const message = { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'hello' }] }
const fullMessage = {
  ...message,
  role: 'ROLE_AGENT',
  parts: [
    { text: '', metadata },
    { raw: 'aGk=', filename: 'a.txt', mediaType: 'text/plain' },
    { url: 'https://example.com/a.pdf' },
    { data: null },
  ],
  contextId: 'c-1',
  taskId: 't-1',
  metadata,
  extensions: ['https://example.com/ext'],
  referenceTaskIds: ['t-0'],
}
const artifact = { artifactId: 'a-1', parts: [{ data: { rows: [1, 2] } }] }
const fullArtifact = { ...artifact, name: 'n', description: 'd', metadata, extensions: ['urn:x'] }
const status = { state: 'TASK_STATE_SUBMITTED' }
const fullStatus = {
  state: 'TASK_STATE_INPUT_REQUIRED',
  message: fullMessage,
  timestamp: '2026-01-31T12:00:00.000Z',
}
const task = { id: 't-1', status }
const fullTask = {
  id: 't-1',
  contextId: 'c-1',
  status: fullStatus,
  artifacts: [fullArtifact],
  history: [message],
  metadata,
}
const statusUpdate = { taskId: 't-1', contextId: 'c-1', status }
const artifactUpdate = { taskId: 't-1', contextId: 'c-1', artifact }
const authentication = { scheme: 'Bearer', credentials: 'secret' }
const pushConfig = { url: 'https://example.com/hook' }
const fullPushConfig = { tenant: 'x', id: 'p-1', taskId: 't-1', ...pushConfig, token: 'tok', authentication }
const configuration = {
  acceptedOutputModes: ['text/plain'],
  taskPushNotificationConfig: fullPushConfig,
  historyLength: 0,
  returnImmediately: true,
}
const agentInterface = { url: 'https://example.com/rpc', protocolBinding: 'urn:own', protocolVersion: '1.0' }
const scopes = { read: 'Read it' }
const authorizationCode = { authorizationUrl: 'https://example.com/auth', tokenUrl: 'https://x', scopes }
const fullFlows = { authorizationCode: { ...authorizationCode, refreshUrl: 'https://y', pkceRequired: true } }
const requirement = { schemes: { google: { list: ['openid'] } } }
const extension = { uri: 'urn:x', description: 'd', required: false, params: { a: 1 } }
const skill = { id: 's', name: 'S', description: 'does it', tags: ['a'] }
const fullSkill = {
  ...skill,
  examples: ['do it'],
  inputModes: ['text/plain'],
  outputModes: ['text/plain'],
  securityRequirements: [requirement],
}
const signature = { protected: 'e30', signature: 'c2ln' }
const capabilities = {
  streaming: true,
  pushNotifications: false,
  extensions: [extension],
  extendedAgentCard: true,
}
const card = {
  name: 'Agent',
  description: '',
  version: '1.0.0',
  supportedInterfaces: [agentInterface],
  capabilities: {},
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
}
const fullCard = {
  ...card,
  supportedInterfaces: [{ ...agentInterface, tenant: 'x' }],
  provider: { url: 'https://example.com', organization: 'Example' },
  documentationUrl: 'https://example.com/docs',
  iconUrl: 'https://example.com/icon.png',
  capabilities,
  securitySchemes: {
    key: { apiKeySecurityScheme: { description: 'd', location: 'header', name: 'X-Key' } },
    bearer: { httpAuthSecurityScheme: { description: 'd', scheme: 'Bearer', bearerFormat: 'JWT' } },
    oauth: { oauth2SecurityScheme: { description: 'd', flows: fullFlows, oauth2MetadataUrl: 'https://z' } },
    oidc: { openIdConnectSecurityScheme: { description: 'd', openIdConnectUrl: 'https://z' } },
    mtls: { mtlsSecurityScheme: { description: 'd' } },
  },
  securityRequirements: [requirement, {}, { schemes: { key: {} } }],
  skills: [fullSkill],
  signatures: [{ ...signature, header: { kid: '1' } }],
}
const rpc = { jsonrpc: '2.0', id: 1 }
const list = { tenant: 'x', taskId: 't-1', pageSize: 0, pageToken: '' }
const query = {
  tenant: 'x',
  contextId: 'c-1',
  status: 'TASK_STATE_UNSPECIFIED',
  pageSize: 100,
  pageToken: '',
  historyLength: 0,
  statusTimestampAfter: '2026-01-31T12:00:00+02:00',
  includeArtifacts: false,
}
const page = { tasks: [], nextPageToken: '', pageSize: 50, totalSize: 0 }
const configOfTask = { taskId: 't-1', id: 'p-1' }

const EXAMPLES: Record<string, [schema: z.ZodMiniType, full: Json, minimal: Json]> = {
  Part: [schemas.PartSchema, { data: [1], metadata, filename: 'a.json', mediaType: 'a/b' }, { text: 'x' }],
  Message: [schemas.MessageSchema, fullMessage, message],
  Artifact: [schemas.ArtifactSchema, fullArtifact, artifact],
  TaskStatus: [schemas.TaskStatusSchema, fullStatus, status],
  Task: [schemas.TaskSchema, fullTask, task],
  TaskStatusUpdateEvent: [schemas.TaskStatusUpdateEventSchema, { ...statusUpdate, metadata }, statusUpdate],
  TaskArtifactUpdateEvent: [
    schemas.TaskArtifactUpdateEventSchema,
    { ...artifactUpdate, append: true, lastChunk: false, metadata },
    artifactUpdate,
  ],
  StreamResponse: [schemas.StreamResponseSchema, { statusUpdate }, { artifactUpdate }],
  SendMessageResponse: [schemas.SendMessageResponseSchema, { task: fullTask }, { message }],
  SendMessageConfiguration: [schemas.SendMessageConfigurationSchema, configuration, {}],
  SendMessageRequest: [
    schemas.SendMessageRequestSchema,
    { tenant: 'x', message: fullMessage, configuration, metadata },
    { message },
  ],
  GetTaskRequest: [schemas.GetTaskRequestSchema, { tenant: 'x', id: 't-1', historyLength: 5 }, { id: 't-1' }],
  ListTasksRequest: [schemas.ListTasksRequestSchema, query, {}],
  ListTasksResponse: [schemas.ListTasksResponseSchema, { ...page, tasks: [fullTask] }, page],
  CancelTaskRequest: [schemas.CancelTaskRequestSchema, { tenant: 'x', id: 't-1', metadata }, { id: 't-1' }],
  SubscribeToTaskRequest: [schemas.SubscribeToTaskRequestSchema, { tenant: 'x', id: 't-1' }, { id: 't-1' }],
  GetExtendedAgentCardRequest: [schemas.GetExtendedAgentCardRequestSchema, { tenant: 'x' }, {}],
  AuthenticationInfo: [schemas.AuthenticationInfoSchema, authentication, { scheme: 'Basic' }],
  TaskPushNotificationConfig: [schemas.TaskPushNotificationConfigSchema, fullPushConfig, pushConfig],
  GetTaskPushNotificationConfigRequest: [
    schemas.GetTaskPushNotificationConfigRequestSchema,
    { tenant: 'x', ...configOfTask },
    configOfTask,
  ],
  DeleteTaskPushNotificationConfigRequest: [
    schemas.DeleteTaskPushNotificationConfigRequestSchema,
    { tenant: 'x', ...configOfTask },
    configOfTask,
  ],
  ListTaskPushNotificationConfigsRequest: [
    schemas.ListTaskPushNotificationConfigsRequestSchema,
    list,
    { taskId: 't-1' },
  ],
  ListTaskPushNotificationConfigsResponse: [
    schemas.ListTaskPushNotificationConfigsResponseSchema,
    { configs: [fullPushConfig], nextPageToken: '' },
    {},
  ],
  OAuthFlows: [schemas.OAuthFlowsSchema, fullFlows, { implicit: {} }],
  SecurityScheme: [
    schemas.SecuritySchemeSchema,
    {
      oauth2SecurityScheme: { flows: { deviceCode: { deviceAuthorizationUrl: 'x', tokenUrl: 'y', scopes } } },
    },
    { mtlsSecurityScheme: {} },
  ],
  SecurityRequirement: [schemas.SecurityRequirementSchema, requirement, {}],
  AgentInterface: [schemas.AgentInterfaceSchema, { ...agentInterface, tenant: '' }, agentInterface],
  AgentProvider: [
    schemas.AgentProviderSchema,
    { url: 'x', organization: 'y' },
    { url: 'x', organization: '' },
  ],
  AgentExtension: [schemas.AgentExtensionSchema, extension, {}],
  AgentCapabilities: [schemas.AgentCapabilitiesSchema, capabilities, {}],
  AgentSkill: [schemas.AgentSkillSchema, fullSkill, skill],
  AgentCardSignature: [schemas.AgentCardSignatureSchema, { ...signature, header: {} }, signature],
  AgentCard: [schemas.AgentCardSchema, fullCard, card],
  JsonRpcRequest: [
    schemas.JsonRpcRequestSchema,
    { ...rpc, method: 'GetTask', params: { id: 't-1' } },
    { jsonrpc: '2.0', id: null, method: 'GetExtendedAgentCard' },
  ],
  JsonRpcError: [
    schemas.JsonRpcErrorSchema,
    { code: -32001, message: 'm', data: [{}] },
    { code: 0, message: '' },
  ],
  JsonRpcResponse: [
    schemas.JsonRpcResponseSchema,
    { ...rpc, error: { code: -32001, message: 'm' } },
    { ...rpc, result: null },
  ],
}

export const NAMES = Object.keys(EXAMPLES)

/** The schema of the protocol object `name`, and copies of its examples. */
export function examplesOf(name: string): Examples {
  const found = EXAMPLES[name]
  if (found === undefined) throw new Error(`No example of ${name}`)
  const [schema, full, minimal] = found
  return { schema, full: copy(full), minimal: copy(minimal) }
}

/** Unlike what `structuredClone` makes, it shares nothing within itself. */
export function copy(value: Json): Json {
  return JSON.parse(JSON.stringify(value)) as Json
}

/** Where the issues of parsing are, as `parts.0.text`. */
export function issuePaths(schema: z.ZodMiniType, value: unknown): string[] {
  return schema.safeParse(value).error?.issues.map(({ path }) => path.join('.')) ?? []
}
