/**
 * Client side of A2A 0.3.
 *
 * @module
 */
import type { JsonObject } from '../../core/json-types.js'
import { codecsOf, requireState, same, type Encoders } from './codecs.js'
import type { ClientDialect, ClientRequests, RemotePushConfig } from './dialect.js'
import type { Operation, SendRequest } from '../dialect.js'
import { compact } from '../../runtime/compact.js'
import { protoState } from '../v0-3/forms.js'
import { JSON_MESSAGES, PROTO_MESSAGES, toMessage, toPushConfig, type MessageForm } from '../v0-3/messages.js'
import { METHODS, ROUTES } from '../v0-3/routes.js'

function toSendRequest(form: MessageForm, request: SendRequest): JsonObject {
  const { message, returnImmediately, acceptedOutputModes, historyLength, pushConfig, metadata } = request
  const configuration = compact({
    blocking: !returnImmediately,
    acceptedOutputModes: [...acceptedOutputModes],
    historyLength,
    ...(pushConfig && { [form.pushConfig]: toPushConfig(pushConfig) }),
  })
  return compact({ message: toMessage(form, message), configuration, metadata })
}

function toConfigRequest({ taskId, id }: ClientRequests['GetTaskPushNotificationConfig']): JsonObject {
  return compact({ id: taskId, pushNotificationConfigId: id })
}

/** The configuration of the proto. Its name contains both ids. */
function toNamedConfig({ taskId, config }: RemotePushConfig): JsonObject {
  const name = `tasks/${taskId}/pushNotificationConfigs/${config.id ?? ''}`
  return { name, pushNotificationConfig: toPushConfig(config) }
}

/**
 * The request of the proto. The servers of the SDKs for Python and Java read only this one, and refuse other fields. So
 * does that of `@a2a-js/sdk` 0.3.13 and 0.3.14.
 */
function toCreateRequest(request: RemotePushConfig): JsonObject {
  const { taskId, config } = request
  const { id } = config
  return { taskId, parent: `tasks/${taskId}`, ...(id && { configId: id }), config: toNamedConfig(request) }
}

/** The configuration alone, for the other versions of `@a2a-js/sdk`, and for that of .NET, which reads a flat one. */
function toCreateBody(request: RemotePushConfig): JsonObject {
  return { ...toPushConfig(request.config), taskId: request.taskId, ...toNamedConfig(request) }
}

function toListQuery({ state, since, ...rest }: ClientRequests['ListTasks']): JsonObject {
  const status = state && protoState(requireState(state))
  return compact({ ...rest, tenant: undefined, status, statusTimestampAfter: since })
}

/** `toCreate`: the request that creates a configuration differs entirely between the bindings. */
function encodersOf(form: MessageForm, toCreate: (request: RemotePushConfig) => JsonObject): Encoders {
  return {
    SendMessage: (request) => toSendRequest(form, request),
    SendStreamingMessage: (request) => toSendRequest(form, request),
    GetTask: same,
    CancelTask: same,
    SubscribeToTask: same,
    CreateTaskPushNotificationConfig: toCreate,
    GetTaskPushNotificationConfig: toConfigRequest,
    ListTaskPushNotificationConfigs: ({ taskId, pageSize, pageToken }) =>
      compact({ id: taskId, pageSize, pageToken }),
    DeleteTaskPushNotificationConfig: toConfigRequest,
    GetExtendedAgentCard: same,
  }
}

// Functions, because bundlers keep a spread at module level.

const rpc = (): Encoders =>
  encodersOf(JSON_MESSAGES, ({ taskId, config }) => ({
    taskId,
    pushNotificationConfig: toPushConfig(config),
  }))

const rest = (): Encoders => ({ ...encodersOf(PROTO_MESSAGES, toCreateRequest), ListTasks: toListQuery })

/** The client side of A2A 0.3, over JSON-RPC and HTTP+JSON. */
export const v0_3Client: ClientDialect = {
  version: '0.3',
  extensionsHeader: 'X-A2A-Extensions',
  mediaType: 'application/json',
  // The first name of an operation is the one to send.
  methods: new Map(
    [...METHODS].reverse().map(([method, operation]): [Operation, string] => [operation, method]),
  ),
  rpc: codecsOf(rpc(), true),
  routes: ROUTES,
  rest: codecsOf(rest(), true, { CreateTaskPushNotificationConfig: toCreateBody }),
  hasTenants: false,
}
