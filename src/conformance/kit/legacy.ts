/**
 * Parameters of A2A 0.3, made of those of 1.0: the objects with `kind` of JSON-RPC, and the ProtoJSON that the official
 * SDKs send over HTTP+JSON.
 */

import type { Configuration, Params, SentMessage } from './params.js'

const ROLES: Readonly<Record<string, string>> = { ROLE_USER: 'user', ROLE_AGENT: 'agent' }

/** For JSON-RPC (0.3 §7). */
export function toLegacyParams(operation: string, params: Params): Params {
  switch (operation) {
    case 'SendMessage':
    case 'SendStreamingMessage':
      return {
        ...params,
        ...(params.message && { message: toLegacyMessage(params.message) }),
        ...(params.configuration && { configuration: toLegacyConfiguration(params.configuration) }),
      }
    case 'CreateTaskPushNotificationConfig': {
      const { taskId, ...pushNotificationConfig } = params
      return { taskId, pushNotificationConfig }
    }
    case 'GetTaskPushNotificationConfig':
    case 'DeleteTaskPushNotificationConfig':
      return { id: params.taskId, pushNotificationConfigId: params.id }
    case 'ListTaskPushNotificationConfigs':
      return { id: params.taskId }
    default:
      return params
  }
}

/** For HTTP+JSON: the messages of `a2a.proto` of 0.3. */
export function toProtoParams(operation: string, params: Params): object {
  if (operation === 'CreateTaskPushNotificationConfig') {
    // The body is the field `config` of the request.
    const { taskId, ...pushNotificationConfig } = params
    return {
      name: `tasks/${String(taskId)}/pushNotificationConfigs/${String(pushNotificationConfig.id)}`,
      pushNotificationConfig,
    }
  }
  const { message, configuration } = params
  const { parts, ...rest }: SentMessage = message ?? {}
  return {
    ...params,
    ...(message && { message: { ...rest, ...(parts !== undefined && { content: parts }) } }),
    ...(configuration && { configuration: toLegacyConfiguration(configuration) }),
  }
}

function toLegacyMessage({ role, parts, ...rest }: SentMessage): SentMessage {
  return {
    kind: 'message',
    ...rest,
    ...(role !== undefined && { role: ROLES[role] ?? role }),
    ...(parts !== undefined && { parts: Array.isArray(parts) ? parts.map(toLegacyPart) : parts }),
  }
}

function toLegacyPart(part: { readonly text?: string }): object {
  return typeof part.text === 'string' ? { kind: 'text', ...part } : part
}

function toLegacyConfiguration({ returnImmediately, ...rest }: Configuration): Configuration {
  return { ...rest, ...(returnImmediately !== undefined && { blocking: !returnImmediately }) }
}
