/**
 * Dialect of A2A 0.1: `tasks/send`.
 *
 * @module
 */
import { A2AError, type ErrorCode } from '../../core/errors.js'
import { check } from '../../wire/check.js'
import type { Codecs, Dialect, Operation, RpcError } from '../../wire/dialect.js'
import { describeError, errorDetails } from '../../wire/errors.js'
import { toV01Card } from './card.js'
import { toEntry, toPushConfig, toReply, toTask } from './objects.js'
import {
  fromPushConfig,
  fromSendParams,
  isSend,
  SendParamsSchema,
  SetPushConfigParamsSchema,
  TaskParamsSchema,
} from './schemas.js'

/** A2A 0.1 §7. */
const METHODS: readonly (readonly [method: string, operation: Operation])[] = [
  ['tasks/send', 'SendMessage'],
  ['tasks/sendSubscribe', 'SendStreamingMessage'],
  ['tasks/get', 'GetTask'],
  ['tasks/cancel', 'CancelTask'],
  ['tasks/resubscribe', 'SubscribeToTask'],
  ['tasks/pushNotification/set', 'CreateTaskPushNotificationConfig'],
  ['tasks/pushNotification/get', 'GetTaskPushNotificationConfig'],
]

const RPC = {
  SendMessage: {
    decode: (params) => fromSendParams(check(SendParamsSchema, params)),
    encode: (sent) => (sent.type === 'task' ? toTask(sent) : toReply(sent.message)),
  },
  SendStreamingMessage: {
    decode: (params) => fromSendParams(check(SendParamsSchema, params)),
    encode: toEntry,
    stream: { tellsArtifacts: true, endsAtAuth: true },
  },
  GetTask: {
    decode(params) {
      const { id, historyLength = 0 } = check(TaskParamsSchema, params)
      return { id, historyLength }
    },
    encode: toTask,
  },
  CancelTask: {
    decode(params) {
      const { id, metadata } = check(TaskParamsSchema, params)
      return { id, ...(metadata !== undefined && { metadata }) }
    },
    // A client of 0.1 cannot request the history here.
    encode: (view) => toTask({ ...view, historyLength: 0 }),
  },
  SubscribeToTask: {
    decode: (params) => ({ id: check(TaskParamsSchema, params).id, evenIfEnded: true }),
    encode: toEntry,
    stream: { tellsArtifacts: true },
  },
  CreateTaskPushNotificationConfig: {
    decode(params) {
      const { id, pushNotificationConfig } = check(SetPushConfigParamsSchema, params)
      return { taskId: id, config: fromPushConfig(id, pushNotificationConfig) }
    },
    encode: toPushConfig,
  },
  GetTaskPushNotificationConfig: {
    decode(params) {
      const { id } = check(TaskParamsSchema, params)
      return { taskId: id, id }
    },
    encode: toPushConfig,
  },
} as const satisfies Codecs

const INVALID_REQUEST = -32600
const STREAMING_NOT_SUPPORTED = -32006
const INVALID_TASK_STATE = -32009
/** The codes above it are the same as in 1.0. */
const FIRST_OTHER_CODE = -32006
const LAST_A2A_CODE = -32099

/** Errors with a code in 0.1 but not in 1.0 (§8.2), and errors with a code in 1.0 that are internal errors in 0.1. */
const CODES: { readonly [C in ErrorCode]?: number } = {
  UNAUTHENTICATED: -32007,
  PERMISSION_DENIED: -32008,
  INVALID_TRANSITION: INVALID_TASK_STATE,
  TASK_TERMINAL: INVALID_TASK_STATE,
  TASK_CANCELED: INVALID_TASK_STATE,
  TASK_TIMED_OUT: INVALID_TASK_STATE,
  INVALID_AGENT_RESPONSE: -32603,
}

const STREAMS: readonly string[] = ['SendStreamingMessage', 'SubscribeToTask'] satisfies Operation[]

/**
 * From −32006 on, the codes of 0.1 differ in meaning from those of 1.0 (§8.2). Errors of 1.0 that 0.1 does not have
 * become "Invalid Request", because the request cannot be served as it is: the extended card, a required extension, an
 * unsupported version, or an outdated generation.
 */
function codeOf(error: A2AError, code: number): number {
  const isOfStreams = A2AError.is(error, 'UNSUPPORTED_OPERATION') && STREAMS.includes(error.data.operation)
  if (isOfStreams) return STREAMING_NOT_SUPPORTED
  const isOther = code <= FIRST_OTHER_CODE && code >= LAST_A2A_CODE
  return CODES[error.code] ?? (isOther ? INVALID_REQUEST : code)
}

function encodeError(error: A2AError): RpcError {
  const described = describeError(error)
  return {
    code: codeOf(error, described.code),
    message: described.message,
    // The schema of 0.1 accepts only an object.
    data: { details: errorDetails(described) },
  }
}

/**
 * A2A 0.1, over JSON-RPC, its only binding.
 *
 * - Clients choose the ids of tasks, and messages have none.
 * - The artifact events of a stream add up to the artifacts of the task. When a stream begins with a task that has
 *   artifacts, or continues after a gap, each artifact is sent whole, with `append: false`, before the state of the
 *   task.
 * - The `index` of an artifact is its position among those of the task, and never changes. The index of the task's
 *   `output` is 2147483647.
 * - The states `auth-required` and `rejected` are shown as `input-required` and `failed`. A stream of
 *   `tasks/sendSubscribe` ends at both states that are shown as `input-required`, a stream of `tasks/resubscribe` at
 *   neither. `final` indicates the end.
 */
export function v0_1(): Dialect {
  return {
    version: '0.1',
    isInCards: false,
    extensionsHeader: 'X-A2A-Extensions',
    mediaType: 'application/json',
    methods: new Map(METHODS),
    rpc: RPC,
    routes: [],
    rest: {},
    hasTenants: false,
    recognizes: isSend,
    // After requesting a stream, the clients in the repository of 0.1 read only streams. They do not read errors with
    // another HTTP status either.
    isAlwaysOk: true,
    errorsInStream: ['SendStreamingMessage', 'SubscribeToTask'],
    encodeRpcError: encodeError,
    encodeHttpError(error: A2AError, status?: number) {
      return { status: status ?? describeError(error).http, body: { ...encodeError(error) } }
    },
    encodeCard: toV01Card,
    // Always the whole task. The id is also sent under the name that the specification uses (§9.4).
    encodeTaskNotification: (task) => ({ ...toTask({ task }), taskId: task.id }),
  }
}
