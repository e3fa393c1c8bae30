/**
 * Dialect of A2A 0.3.
 *
 * @module
 */
import type { Infer } from '../../schemas/schema.js'
import type { A2AError } from '../../core/errors.js'
import type { JsonObject } from '../../core/json-types.js'
import type { Codecs, Dialect, RpcError, SendRequest } from '../dialect.js'
import { describeError, errorDetails } from '../errors.js'
import { toV03Card, toProtoCard } from './card.js'
import { toMessage } from './messages.js'
import { JSON_FORM, PROTO_FORM, toEntry, toTask, type Form } from './objects.js'
import { decode } from '../proto-json.js'
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

type SendParams = Infer<typeof SendParamsSchema>

function fromSendParams({ message, configuration = {}, metadata }: SendParams): SendRequest {
  const { acceptedOutputModes = [], historyLength, blocking = true } = configuration
  const { pushNotification, pushNotificationConfig = pushNotification } = configuration
  return {
    message: fromMessage(message),
    // The specification does not define the default of `blocking`. The SDKs of 0.3 waited.
    returnImmediately: !blocking,
    acceptedOutputModes,
    ...(historyLength !== undefined && { historyLength }),
    ...(pushNotificationConfig !== undefined && { pushConfig: fromPushConfig(pushNotificationConfig) }),
    ...(metadata !== undefined && { metadata }),
  }
}

function fromSendBody(params: unknown): SendRequest {
  const body = decode(SendBodySchema, params)
  const { configuration, metadata } = body
  const message = body.message === undefined ? body.request : body.message
  const request = fromSendParams({
    message,
    ...(configuration !== undefined && { configuration }),
    ...(metadata !== undefined && { metadata }),
  })
  if (message.content === undefined || configuration === undefined) return request
  // ProtoJSON omits `false` and 0, so in a message with `content` an absent field has that value. A length of 0 means
  // no limit there.
  const { historyLength, ...rest } = request
  return {
    ...rest,
    returnImmediately: configuration.blocking !== true,
    ...(historyLength && { historyLength }),
  }
}

function fromTaskParams(params: unknown): { id: string; metadata?: JsonObject } {
  const { id, metadata } = decode(TaskParamsSchema, params)
  return { id, ...(metadata !== undefined && { metadata }) }
}

/** The codecs that both bindings have, each in its own form. */
function codecsIn(form: Form) {
  return {
    GetTask: {
      decode(params) {
        const { id, historyLength } = decode(TaskParamsSchema, params)
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
        const { id: taskId, pushNotificationConfigId: id } = decode(GetPushConfigParamsSchema, params)
        return { taskId, ...(id && { id }) }
      },
      encode: form.pushConfig,
    },
    DeleteTaskPushNotificationConfig: {
      decode(params) {
        const { id: taskId, pushNotificationConfigId: id } = decode(DeletePushConfigParamsSchema, params)
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
      decode: (params) => fromSendParams(decode(SendParamsSchema, params)),
      encode: (sent) =>
        sent.type === 'task' ? toTask(JSON_FORM, sent) : toMessage(JSON_FORM.messages, sent.message),
    },
    SendStreamingMessage: {
      decode: (params) => fromSendParams(decode(SendParamsSchema, params)),
      encode: (entry) => toEntry(JSON_FORM, entry),
    },
    CreateTaskPushNotificationConfig: {
      decode(params) {
        const { taskId, pushNotificationConfig } = decode(SetPushConfigParamsSchema, params)
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
      decode: (params) => fromListQuery(decode(ListTasksQuerySchema, params)),
      encode: ({ tasks }) => tasks.map((view) => toTask(PROTO_FORM, view)),
    },
    CreateTaskPushNotificationConfig: {
      decode: (params) => fromSetBody(decode(SetPushConfigBodySchema, params)),
      encode: PROTO_FORM.pushConfig,
    },
    ListTaskPushNotificationConfigs: {
      decode(params) {
        const { id: taskId, pageSize, pageToken } = decode(ListPushConfigsParamsSchema, params)
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
/** The last code of 0.3. The codes below it are new in 1.0. */
const LAST_CODE = -32007
const LAST_A2A_CODE = -32099

/**
 * 0.3 has no codes for a required extension (−32008), an unsupported version (−32009) and an outdated generation
 * (−32010). All three mean that the request cannot be served as it is, and become "Invalid Request". `data` may be any
 * JSON in 0.3, and is the same as in 1.0.
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

/** Classes of errors in the SDK for Python, by code. Its client over HTTP+JSON finds the class by the `type` of an error. */
const ERROR_TYPES: ReadonlyMap<number, string> = new Map([
  [-32700, 'JSONParseError'],
  [-32600, 'InvalidRequestError'],
  [-32601, 'MethodNotFoundError'],
  [-32602, 'InvalidParamsError'],
  [-32603, 'InternalError'],
  [-32001, 'TaskNotFoundError'],
  [-32002, 'TaskNotCancelableError'],
  [-32003, 'PushNotificationNotSupportedError'],
  [-32004, 'UnsupportedOperationError'],
  [-32005, 'ContentTypeNotSupportedError'],
  [-32006, 'InvalidAgentResponseError'],
  [-32007, 'ExtendedAgentCardNotConfiguredError'],
  [-32008, 'ExtensionSupportRequiredError'],
  [-32009, 'VersionNotSupportedError'],
])

/** The `type` of an error. Absent where the HTTP status says more: credentials, overload. */
function typeOf({ code, http }: { readonly code: number; readonly http: number }): JsonObject {
  const type = code === -32603 && http !== 500 ? undefined : ERROR_TYPES.get(code)
  return type === undefined ? {} : { type }
}

/**
 * A2A 0.3, over JSON-RPC and HTTP+JSON.
 *
 * HTTP+JSON is the ProtoJSON of the 0.3 proto, which all official SDKs use, not the form in the specification's prose.
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
      const described = describeError(error)
      // The SDKs of 0.3 use this status for an unknown method.
      const status = error.code === 'METHOD_NOT_FOUND' ? 501 : described.http
      return { status: httpStatus ?? status, body: { ...encodeError(error), ...typeOf(described) } }
    },
    encodeCard: toV03Card,
    // Always the whole task (§9.5).
    encodeTaskNotification: (task) => toTask(JSON_FORM, { task }),
  }
}
