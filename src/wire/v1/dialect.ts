/**
 * Dialect of A2A 1.0.
 *
 * @module
 */
import { requireKnown, requireOneOf } from '../../runtime/options.js'
import { invalidParams, type A2AError } from '../../core/errors.js'
import type { ArtifactChanged, StatusChanged } from '../../core/events.js'
import type { TaskState } from '../../core/lifecycle.js'
import type { DeepReadonly, Message } from '../../core/task.js'
import type { JsonObject } from '../../core/json-types.js'
import {
  CancelTaskRequestSchema,
  GetExtendedAgentCardRequestSchema,
  GetTaskRequestSchema,
  ListTasksRequestSchema,
  SendMessageRequestSchema,
  SubscribeToTaskRequestSchema,
  type ListTasksRequest,
} from '../../schemas/requests.js'
import {
  DeleteTaskPushNotificationConfigRequestSchema,
  GetTaskPushNotificationConfigRequestSchema,
  ListTaskPushNotificationConfigsRequestSchema,
  TaskPushNotificationConfigSchema,
} from '../../schemas/push.js'
import type { AgentCard } from '../../schemas/agent-card.js'
import type { Codecs, Dialect, Operation, SendRequest, StreamEntry, TaskView } from '../dialect.js'
import { describeError, errorDetails } from '../errors.js'
import {
  CORE_STATES,
  fromMessage,
  fromPushConfig,
  ROLES,
  shownState,
  STATES,
  toMessage,
  toPushConfig,
} from './objects.js'
import { decode } from '../proto-json.js'
import { withQuery } from '../query.js'
import { ROUTES } from './routes.js'
import { artifactsOf, completeArtifact, historyOf, json, statusMessage } from '../view.js'

/** Options of {@link v1}. */
export interface V1Options {
  /**
   * The release of A2A 1.0 to follow. They differ in a few HTTP statuses and in the media type of the HTTP+JSON binding.
   * Default is `'1.0.1'`.
   */
  readonly profile?: '1.0.0' | '1.0.1' | undefined
}

function toStatus(
  state: TaskState,
  timestamp: string,
  message: string | DeepReadonly<Message> | null | undefined,
  taskId: string,
  contextId: string,
): JsonObject {
  const status: JsonObject = { state: STATES[shownState(state)], timestamp }
  if (message != null) status['message'] = toMessage(statusMessage(message, taskId, contextId))
  return status
}

function toTask({ task, historyLength, artifacts }: TaskView): JsonObject {
  const { id, contextId, state, updatedAt, message, metadata } = task
  const shown: JsonObject = { id, contextId, status: toStatus(state, updatedAt, message, id, contextId) }
  const made = artifacts === false ? [] : artifactsOf(task)
  // Requested artifacts are sent even if there are none (A2A 1.0 §3.1.4). Otherwise ProtoJSON omits an empty array.
  if (made.length > 0 || artifacts === true) shown['artifacts'] = json(made)
  const history = historyOf(task, historyLength)
  if (history.length > 0) shown['history'] = history.map(toMessage)
  if (Object.keys(metadata).length > 0) shown['metadata'] = json(metadata)
  return shown
}

export function toStatusUpdate(event: StatusChanged, contextId: string): JsonObject {
  const { taskId, to, timestamp, message, metadata } = event
  const update: JsonObject = {
    ...{ taskId, contextId },
    status: toStatus(to, timestamp, message, taskId, contextId),
  }
  if (metadata !== undefined) update['metadata'] = json(metadata)
  return update
}

export function toArtifactUpdate(event: ArtifactChanged, contextId: string): JsonObject {
  const { taskId, generation, artifact, append, lastChunk } = event
  const update: JsonObject = {
    taskId,
    contextId,
    artifact: json(completeArtifact(artifact, `artifact-${generation}`)),
  }
  if (append) update['append'] = true
  if (lastChunk) update['lastChunk'] = true
  return update
}

function toStreamResponse(entry: StreamEntry): JsonObject {
  if (entry.type === 'task') return { task: toTask(entry) }
  if (entry.type === 'message') return { message: toMessage(entry.message) }
  const { event, contextId } = entry
  if (event.type === 'status') return { statusUpdate: toStatusUpdate(event, contextId) }
  return { artifactUpdate: toArtifactUpdate(event, contextId) }
}

function fromSendRequest(params: unknown): SendRequest {
  const { message, configuration = {}, tenant, metadata } = decode(SendMessageRequestSchema, params)
  const { returnImmediately = false, acceptedOutputModes = [], historyLength } = configuration
  const push = configuration.taskPushNotificationConfig
  return {
    message: fromMessage(message),
    returnImmediately,
    acceptedOutputModes,
    ...(historyLength !== undefined && { historyLength }),
    ...(push !== undefined && { pushConfig: fromPushConfig(push) }),
    ...(metadata !== undefined && { metadata }),
    ...(tenant !== undefined && { tenant }),
  }
}

function fromListRequest(params: ListTasksRequest): ReturnType<NonNullable<Codecs['ListTasks']>['decode']> {
  const { status, statusTimestampAfter, pageSize = 50, pageToken, includeArtifacts = false, ...rest } = params
  const isFilter = status !== undefined && status !== 'TASK_STATE_UNSPECIFIED'
  return {
    ...rest,
    pageSize,
    includeArtifacts,
    ...(isFilter && { state: CORE_STATES[status] }),
    ...(pageToken && { pageToken }),
    ...(statusTimestampAfter !== undefined && { since: statusTimestampAfter }),
  }
}

export const CODECS = {
  SendMessage: {
    decode: fromSendRequest,
    encode: (sent) => (sent.type === 'task' ? { task: toTask(sent) } : { message: toMessage(sent.message) }),
  },
  SendStreamingMessage: { decode: fromSendRequest, encode: toStreamResponse },
  GetTask: { decode: (params) => decode(GetTaskRequestSchema, params), encode: toTask },
  ListTasks: {
    decode: (params) => fromListRequest(decode(ListTasksRequestSchema, params)),
    encode: ({ tasks, ...page }) => ({ tasks: tasks.map(toTask), ...page }),
  },
  CancelTask: { decode: (params) => decode(CancelTaskRequestSchema, params), encode: toTask },
  SubscribeToTask: {
    decode: (params) => ({ ...decode(SubscribeToTaskRequestSchema, params), evenIfEnded: false }),
    encode: toStreamResponse,
  },
  CreateTaskPushNotificationConfig: {
    decode(params) {
      const { taskId, tenant, ...config } = decode(TaskPushNotificationConfigSchema, params)
      if (!taskId) throw invalidParams('taskId', 'is missing')
      return { taskId, config: fromPushConfig(config), ...(tenant !== undefined && { tenant }) }
    },
    encode: ({ taskId, config }) => toPushConfig(taskId, config),
  },
  GetTaskPushNotificationConfig: {
    decode: (params) => decode(GetTaskPushNotificationConfigRequestSchema, params),
    encode: ({ taskId, config }) => toPushConfig(taskId, config),
  },
  ListTaskPushNotificationConfigs: {
    decode: (params) => decode(ListTaskPushNotificationConfigsRequestSchema, params),
    encode: ({ configs, nextPageToken }) => ({
      configs: configs.map(({ taskId, config }) => toPushConfig(taskId, config)),
      nextPageToken,
    }),
  },
  DeleteTaskPushNotificationConfig: {
    decode: (params) => decode(DeleteTaskPushNotificationConfigRequestSchema, params),
    encode: () => null,
  },
  GetExtendedAgentCard: {
    decode: (params) => decode(GetExtendedAgentCardRequestSchema, params ?? {}),
    encode: json,
  },
} satisfies Codecs

/** The number of the role in the proto. */
const USER = 1

/** The request of the same name in KAOS has a different role. */
function isSend({ message }: JsonObject): boolean {
  if (typeof message !== 'object' || message === null || Array.isArray(message)) return false
  return message['role'] === ROLES.user || message['role'] === USER
}

/** HTTP statuses that differ between 1.0.0 and 1.0.1. */
const STATUSES_OF_1_0_0: Readonly<Record<string, number>> = {
  TASK_NOT_CANCELABLE: 409,
  CONTENT_TYPE_NOT_SUPPORTED: 415,
  INVALID_AGENT_RESPONSE: 502,
}

/**
 * A2A 1.0, over JSON-RPC and HTTP+JSON.
 *
 * @throws {TypeError} for an invalid option; the message names it.
 */
export function v1(options: V1Options = {}): Dialect {
  requireKnown(options, ['profile'], 'v1')
  const { profile = '1.0.1' } = options
  requireOneOf('profile', profile, ['1.0.0', '1.0.1'])
  const statuses = profile === '1.0.0' ? STATUSES_OF_1_0_0 : {}
  return {
    version: '1.0',
    isInCards: true,
    extensionsHeader: 'A2A-Extensions',
    mediaType: profile === '1.0.0' ? 'application/json' : 'application/a2a+json',
    methods: new Map(Object.keys(CODECS).map((operation) => [operation, operation as Operation])),
    rpc: CODECS,
    routes: withQuery(ROUTES),
    rest: CODECS,
    hasTenants: true,
    recognizes: isSend,
    errorsInStream: [],
    encodeRpcError(error: A2AError) {
      const described = describeError(error)
      return { code: described.code, message: described.message, data: errorDetails(described) }
    },
    encodeHttpError(error: A2AError, httpStatus?: number) {
      const described = describeError(error)
      const code = httpStatus ?? statuses[error.code] ?? described.http
      const { status, message } = described
      return { status: code, body: { error: { code, status, message, details: errorDetails(described) } } }
    },
    encodeCard: (card: AgentCard) => json(card) as JsonObject,
    encodeNotification: toStreamResponse,
  }
}
