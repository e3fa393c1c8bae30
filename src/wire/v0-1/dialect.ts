/**
 * Dialect of A2A 0.1: `tasks/send`.
 *
 * @module
 */
import { A2AError, type ErrorCode } from '../../core/errors.js'
import { check } from '../check.js'
import type { Codecs, Dialect, Operation, RpcError } from '../dialect.js'
import { describeError, errorDetails } from '../errors.js'
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
    // There is no way to ask for the history here.
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
/** Above it, the codes are those of 1.0. */
const FIRST_OTHER_CODE = -32006
const LAST_A2A_CODE = -32099

/** What 0.1 has a code for and 1.0 has not (§8.2), and what 1.0 has a code for that is a plain failure here. */
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
 * From −32006 on, the codes of 0.1 mean something else than those of 1.0 (§8.2). What of the latter 0.1 does not know
 * says that the request cannot be served as it is: the extended card, an extension that is required, a version that is
 * not spoken, a generation that is past. They become "Invalid Request".
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
    // An object: the schema of 0.1 takes no other data.
    data: { details: errorDetails(described) },
  }
}

/**
 * A2A 0.1, over JSON-RPC, its only binding.
 *
 * - Clients choose the ids of tasks, and messages have none.
 * - What a stream tells of artifacts adds up to what the task has: where it begins with a task that has some, or goes on
 *   after a gap, each is told whole, with `append: false`, before the state of the task.
 * - The `index` of an artifact is its place among those of the task, and never changes. That of the task's `output` is
 *   2147483647.
 * - The states `auth-required` and `rejected` are shown as `input-required` and `failed`. A stream of
 *   `tasks/sendSubscribe` ends at both that are shown as `input-required`, one of `tasks/resubscribe` at none: `final`
 *   says so.
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
    // The clients in the repository of 0.1 read nothing else once they have asked for a stream.
    // Nor do they read an error that comes with another status.
    isAlwaysOk: true,
    errorsInStream: ['SendStreamingMessage', 'SubscribeToTask'],
    encodeRpcError: encodeError,
    encodeHttpError(error: A2AError, status?: number) {
      return { status: status ?? describeError(error).http, body: { ...encodeError(error) } }
    },
    encodeCard: toV01Card,
    // The whole task, whatever has changed, and under the name that the specification would have its id (§9.4).
    encodeTaskNotification: (task) => ({ ...toTask({ task }), taskId: task.id }),
  }
}
