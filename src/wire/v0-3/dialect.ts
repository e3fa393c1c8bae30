/**
 * Dialect of A2A 0.3.
 *
 * @module
 */
import type * as z from 'zod/mini'
import type { A2AError } from '../../core/errors.js'
import type { JsonObject } from '../../core/json-types.js'
import { check } from '../check.js'
import type { Codecs, Dialect, RpcError, SendRequest } from '../dialect.js'
import { describeError, errorDetails } from '../errors.js'
import { toV03Card, toProtoCard } from './card.js'
import { toMessage } from './messages.js'
import { JSON_FORM, PROTO_FORM, toEntry, toTask, type Form } from './objects.js'
import { withQuery } from '../query.js'
import { METHODS, ROUTES } from './routes.js'
import {
  DeletePushConfigParamsSchema,
  fromListQuery,
  fromMessage,
  fromPushConfig,
  fromSetBody,
  GetPushConfigParamsSchema,
  ListPushConfigsParamsSchema,
  ListTasksQuerySchema,
  SendBodySchema,
  SendParamsSchema,
  SetPushConfigBodySchema,
  SetPushConfigParamsSchema,
  TaskParamsSchema,
} from './schemas.js'

type SendParams = z.infer<typeof SendParamsSchema>

function fromSendParams({ message, configuration = {}, metadata }: SendParams): SendRequest {
  const { acceptedOutputModes = [], historyLength, blocking = true } = configuration
  const { pushNotification, pushNotificationConfig = pushNotification } = configuration
  return {
    message: fromMessage(message),
    // What a configuration without `blocking` means, the specification leaves open; the SDKs of 0.3 waited.
    returnImmediately: !blocking,
    acceptedOutputModes,
    ...(historyLength !== undefined && { historyLength }),
    ...(pushNotificationConfig !== undefined && { pushConfig: fromPushConfig(pushNotificationConfig) }),
    ...(metadata !== undefined && { metadata }),
  }
}

function fromSendBody(params: unknown): SendRequest {
  const body = check(SendBodySchema, params)
  const { configuration, metadata } = body
  const message = body.message === undefined ? body.request : body.message
  const request = fromSendParams({
    message,
    ...(configuration !== undefined && { configuration }),
    ...(metadata !== undefined && { metadata }),
  })
  if (message.content === undefined || configuration === undefined) return request
  // ProtoJSON leaves `false` and 0 out: with `content`, what is absent is that. A length of 0 is no limit there.
  const { historyLength, ...rest } = request
  return {
    ...rest,
    returnImmediately: configuration.blocking !== true,
    ...(historyLength && { historyLength }),
  }
}

function fromTaskParams(params: unknown): { id: string; metadata?: JsonObject } {
  const { id, metadata } = check(TaskParamsSchema, params)
  return { id, ...(metadata !== undefined && { metadata }) }
}

/** What both bindings have, each in its form. */
function codecsIn(form: Form) {
  return {
    GetTask: {
      decode(params) {
        const { id, historyLength } = check(TaskParamsSchema, params)
        return { id, ...(historyLength !== undefined && { historyLength }) }
      },
      encode: (view) => toTask(form, view),
    },
    CancelTask: { decode: fromTaskParams, encode: (view) => toTask(form, view) },
    SubscribeToTask: {
      decode: (params) => ({ id: fromTaskParams(params).id, evenIfEnded: true }),
      encode: (entry) => toEntry(form, entry),
    },
    GetTaskPushNotificationConfig: {
      decode(params) {
        const { id: taskId, pushNotificationConfigId: id } = check(GetPushConfigParamsSchema, params)
        return { taskId, ...(id && { id }) }
      },
      encode: form.pushConfig,
    },
    DeleteTaskPushNotificationConfig: {
      decode(params) {
        const { id: taskId, pushNotificationConfigId: id } = check(DeletePushConfigParamsSchema, params)
        return { taskId, id }
      },
      encode: () => null,
    },
  } satisfies Codecs
}

// A call, because bundlers drop an unused pure call but keep a spread.
function rpcCodecs() {
  return {
    ...codecsIn(JSON_FORM),
    SendMessage: {
      decode: (params) => fromSendParams(check(SendParamsSchema, params)),
      encode: (sent) =>
        sent.type === 'task' ? toTask(JSON_FORM, sent) : toMessage(JSON_FORM.messages, sent.message),
    },
    SendStreamingMessage: {
      decode: (params) => fromSendParams(check(SendParamsSchema, params)),
      encode: (entry) => toEntry(JSON_FORM, entry),
    },
    CreateTaskPushNotificationConfig: {
      decode(params) {
        const { taskId, pushNotificationConfig } = check(SetPushConfigParamsSchema, params)
        return { taskId, config: fromPushConfig(pushNotificationConfig) }
      },
      encode: JSON_FORM.pushConfig,
    },
    ListTaskPushNotificationConfigs: {
      decode: (params) => ({ taskId: fromTaskParams(params).id }),
      encode: ({ configs }) => configs.map(JSON_FORM.pushConfig),
    },
    GetExtendedAgentCard: { decode: () => ({}), encode: toV03Card },
  } satisfies Codecs
}

const RPC = rpcCodecs()

function restCodecs() {
  return {
    ...codecsIn(PROTO_FORM),
    SendMessage: {
      decode: fromSendBody,
      encode: (sent) =>
        sent.type === 'task'
          ? { task: toTask(PROTO_FORM, sent) }
          : { message: toMessage(PROTO_FORM.messages, sent.message) },
    },
    SendStreamingMessage: { decode: fromSendBody, encode: (entry) => toEntry(PROTO_FORM, entry) },
    ListTasks: {
      decode: (params) => fromListQuery(check(ListTasksQuerySchema, params)),
      encode: ({ tasks }) => tasks.map((view) => toTask(PROTO_FORM, view)),
    },
    CreateTaskPushNotificationConfig: {
      decode: (params) => fromSetBody(check(SetPushConfigBodySchema, params)),
      encode: PROTO_FORM.pushConfig,
    },
    ListTaskPushNotificationConfigs: {
      decode(params) {
        const { id: taskId, pageSize, pageToken } = check(ListPushConfigsParamsSchema, params)
        return { taskId, ...(pageSize && { pageSize }), ...(pageToken && { pageToken }) }
      },
      encode: ({ configs, nextPageToken }) => ({
        configs: configs.map(PROTO_FORM.pushConfig),
        nextPageToken,
      }),
    },
    GetExtendedAgentCard: { decode: () => ({}), encode: toProtoCard },
  } satisfies Codecs
}

const REST = restCodecs()

const INVALID_REQUEST = -32600
/** The last code that 0.3 knows; those below came with 1.0. */
const LAST_CODE = -32007
const LAST_A2A_CODE = -32099

/**
 * 0.3 has no codes for an extension that is required (−32008), a version that is not spoken (−32009) and a generation
 * that is past (−32010). All three say that the request cannot be served as it is: they become "Invalid Request".
 * `data` may be anything in 0.3: it is the same as in 1.0.
 */
function encodeError(error: A2AError): RpcError {
  const described = describeError(error)
  const isLater = described.code < LAST_CODE && described.code >= LAST_A2A_CODE
  return {
    code: isLater ? INVALID_REQUEST : described.code,
    message: described.message,
    data: errorDetails(described),
  }
}

/**
 * A2A 0.3, over JSON-RPC and HTTP+JSON.
 *
 * HTTP+JSON is the ProtoJSON of the 0.3 proto, as all official SDKs speak it, not what the prose shows.
 */
export function v0_3(): Dialect {
  return {
    version: '0.3',
    isInCards: true,
    extensionsHeader: 'X-A2A-Extensions',
    mediaType: 'application/json',
    methods: new Map(METHODS),
    rpc: RPC,
    routes: withQuery(ROUTES),
    rest: REST,
    hasTenants: false,
    errorsInStream: ['SendStreamingMessage', 'SubscribeToTask'],
    encodeRpcError: encodeError,
    encodeHttpError(error: A2AError, httpStatus?: number) {
      const { http } = describeError(error)
      // The SDKs of 0.3 answer a method that does not exist so.
      const status = error.code === 'METHOD_NOT_FOUND' ? 501 : http
      return { status: httpStatus ?? status, body: { ...encodeError(error) } }
    },
    encodeCard: toV03Card,
    // The whole task, whatever has changed (§9.5).
    encodeTaskNotification: (task) => toTask(JSON_FORM, { task }),
  }
}
