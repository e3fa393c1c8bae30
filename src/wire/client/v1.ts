/**
 * Client side of A2A 1.0.
 *
 * @module
 */
import type { JsonObject } from '../../core/json-types.js'
import { codecsOf, requireState, same, type Encoders } from './codecs.js'
import type { ClientDialect, ClientRequests } from './dialect.js'
import type { Operation, SendRequest } from '../dialect.js'
import { compact } from '../../runtime/compact.js'
import { ROLES, STATES, toPushConfig } from '../v1/objects.js'
import { ROUTES } from '../v1/routes.js'
import { json, knownParts } from '../view.js'

function toSendRequest(request: SendRequest): JsonObject {
  const { message, returnImmediately, acceptedOutputModes, historyLength, pushConfig, metadata } = request
  const configuration = compact({
    returnImmediately: returnImmediately || undefined,
    acceptedOutputModes: acceptedOutputModes.length > 0 ? [...acceptedOutputModes] : undefined,
    historyLength,
    taskPushNotificationConfig: pushConfig && json(pushConfig),
  })
  const isDefault = Object.keys(configuration).length === 0
  return compact({
    message: { ...message, role: ROLES[message.role], parts: json(knownParts(message.parts)) },
    configuration: isDefault ? undefined : configuration,
    metadata,
  })
}

function toListRequest({ state, since, ...rest }: ClientRequests['ListTasks']): JsonObject {
  return compact({ ...rest, status: state && STATES[requireState(state)], statusTimestampAfter: since })
}

const ENCODERS: Encoders = {
  SendMessage: toSendRequest,
  SendStreamingMessage: toSendRequest,
  GetTask: same,
  ListTasks: toListRequest,
  CancelTask: same,
  SubscribeToTask: same,
  CreateTaskPushNotificationConfig: ({ taskId, config }) => toPushConfig(taskId, config),
  GetTaskPushNotificationConfig: same,
  ListTaskPushNotificationConfigs: same,
  DeleteTaskPushNotificationConfig: same,
  GetExtendedAgentCard: same,
}

/** The client side of A2A 1.0, over JSON-RPC and HTTP+JSON. */
export const v1Client: ClientDialect = {
  version: '1.0',
  extensionsHeader: 'A2A-Extensions',
  mediaType: 'application/a2a+json',
  methods: new Map(ROUTES.map(({ operation }): [Operation, string] => [operation, operation])),
  rpc: codecsOf(ENCODERS, false),
  routes: ROUTES,
  rest: codecsOf(ENCODERS, false),
  hasTenants: true,
}
