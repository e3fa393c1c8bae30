/**
 * Dialect of KAOS: three JSON-RPC methods that respond when the task has ended.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { TaskState } from '../../core/lifecycle.js'
import type { DeepReadonly, Message, TaskSnapshot } from '../../core/task.js'
import type { JsonObject } from '../../core/json-types.js'
import { requireBoolean, requireKnown } from '../../runtime/options.js'
import { JsonObjectSchema } from '../../schemas/json.js'
import { boolean, integer, list, object, optional, string } from '../../schemas/scalars.js'
import type { Infer } from '../../schemas/schema.js'
import { check } from '../../wire/check.js'
import { isKaosSend } from '../../server/unserved.js'
import { artifactText, conversationOf, statusText } from '../conversation.js'
import { CHAT, CHAT_ROUTE } from './chat.js'
import type { Codecs, Dialect, Probe, Requests, RpcError, TaskView } from '../../wire/dialect.js'
import { describeError } from '../../wire/errors.js'
import { toV03Card } from '../../wire/v0-3/card.js'
import { toPart, TYPED_PARTS } from '../../wire/v0-3/messages.js'
import { shownState } from '../../wire/v1/objects.js'
import { artifactsOf, historyOf, json, notReply } from '../../wire/view.js'

/** Only the texts of parts are read. */
const MessageSchema = object({
  role: optional(string),
  messageId: optional(string),
  taskId: optional(string),
  parts: optional(list(object({ text: optional(string) }))),
  text: optional(string),
  metadata: optional(JsonObjectSchema),
})

const SendParamsSchema = object({
  message: optional(MessageSchema),
  contextId: optional(string),
  sessionId: optional(string),
  configuration: optional(object({ blocking: optional(boolean), historyLength: optional(integer(0)) })),
  metadata: optional(JsonObjectSchema),
})

const TaskParamsSchema = object({ id: optional(string), historyLength: optional(integer(0)) })

type KaosMessage = Infer<typeof MessageSchema>

function fromSendParams(params: unknown): Requests['SendMessage'] {
  const { message, configuration, metadata, ...session } = check(SendParamsSchema, params)
  if (message === undefined || Object.keys(message).length === 0) throw missing('message')
  const contextId = session.contextId || session.sessionId
  const { messageId, taskId } = message
  return {
    message: {
      role: 'user',
      parts: [{ text: textOf(message) }],
      ...(messageId && { messageId }),
      ...(taskId && { taskId }),
      ...(contextId && { contextId }),
      ...(message.metadata !== undefined && { metadata: message.metadata }),
    },
    returnImmediately: configuration?.blocking === false,
    acceptedOutputModes: [],
    needsTask: true,
    ...(configuration?.historyLength !== undefined && { historyLength: configuration.historyLength }),
    ...(metadata !== undefined && { metadata }),
  }
}

/** The texts of the parts, joined by spaces, or else the text of the message itself. */
function textOf({ parts = [], text = '' }: KaosMessage): string {
  const joined = parts.flatMap((part) => part.text ?? []).join(' ') || text
  if (joined !== '') return joined
  throw new A2AError('INVALID_PARAMS', 'Message must contain text content', {
    path: 'message.parts',
    reason: 'must contain text',
  })
}

function fromTaskParams(params: unknown): { id: string; historyLength?: number } {
  const { id, historyLength } = check(TaskParamsSchema, params)
  if (!id) throw missing('id')
  return { id, ...(historyLength !== undefined && { historyLength }) }
}

function missing(name: 'message' | 'id'): A2AError {
  return new A2AError('INVALID_PARAMS', `Missing required '${name}' parameter`, {
    path: name,
    reason: 'is missing',
  })
}

const STATES: Partial<Record<TaskState, string>> = { rejected: 'failed', 'auth-required': 'input-required' }

/** Texts of statuses without a message. */
const TEXTS: Partial<Record<TaskState, string>> = {
  working: 'Processing',
  completed: 'Done',
  failed: 'Task failed',
  canceled: 'Canceled by request',
  rejected: 'Task rejected',
}

function toTask({ task, historyLength }: TaskView): JsonObject {
  const { id, contextId, state, updatedAt, metadata } = task
  const shown = shownState(state)
  const message = statusText(task) ?? TEXTS[shown]
  // The status explains a failure. The history must not look like a result.
  const messages = state === 'completed' ? conversationOf(task) : task.messages
  const history = historyOf({ ...task, messages }, historyLength)
  return {
    id,
    sessionId: contextId,
    status: {
      state: STATES[shown] ?? shown,
      ...(message !== undefined && { message }),
      timestamp: updatedAt,
    },
    history: history.map(toMessage),
    artifacts: artifactsOf(task).map(({ name, parts }) => ({
      ...(name !== undefined && { name }),
      parts: parts.map((part) => toPart(TYPED_PARTS, part)),
    })),
    output: artifactText(task),
    metadata: { ...firstMetadata(task), ...(json(metadata) as JsonObject) },
  }
}

function toMessage({ role, parts }: DeepReadonly<Message>): JsonObject {
  return { role, parts: parts.map((part) => toPart(TYPED_PARTS, part)) }
}

/** Metadata of the first message, which in KAOS is that of the task. */
function firstMetadata({ messages }: TaskSnapshot): JsonObject {
  const metadata = messages[0]?.metadata
  return metadata === undefined ? {} : (json(metadata) as JsonObject)
}

// A call, because bundlers drop an unused pure call but keep a spread.
function rpcCodecs() {
  return {
    SendMessage: {
      decode: fromSendParams,
      encode: (sent) => toTask(notReply(sent)),
    },
    GetTask: { decode: fromTaskParams, encode: toTask },
    CancelTask: {
      decode: (params) => ({ id: fromTaskParams(params).id, evenIfEnded: true }),
      encode: toTask,
    },
  } satisfies Codecs
}

const RPC = rpcCodecs()

const FIXED_TEXTS: Partial<Record<A2AError['code'], string>> = {
  PARSE_ERROR: 'Parse error',
  INVALID_REQUEST: 'Invalid JSON-RPC request',
}

/** KAOS has one error code of its own. Every other refusal is sent as invalid parameters. */
function encodeError(given: A2AError): RpcError {
  const error = isOfEnvelope(given) ? invalidEnvelope(given) : given
  const { code, message } = describeError(error)
  const isKnown = code === -32001 || code <= -32600
  return {
    code: isKnown ? code : -32602,
    message: FIXED_TEXTS[error.code] ?? textFor(error, message),
    data: null,
  }
}

/**
 * `detail` is the text for clients of KAOS, `error` that for clients of chat completions. A chat whose task has failed is a
 * failure of the server.
 */
function toHttpError(error: A2AError, given?: number): { status: number; body: JsonObject } {
  const { http, message } = describeError(error)
  const status = given ?? (error.code === 'TASK_TERMINAL' ? 500 : http)
  const type = status < 500 ? 'invalid_request_error' : 'server_error'
  return { status, body: { detail: message, error: { type, message } } }
}

function probe(status: string, isOfReadiness: boolean): Probe {
  const answer: Probe['answer'] = (name, now) => ({ status, name, timestamp: Math.floor(now / 1_000) })
  return { isOfReadiness, answer }
}

const PROBES: ReadonlyMap<string, Probe> = new Map([
  ['/health', probe('healthy', false)],
  ['/ready', probe('ready', true)],
])

/** KAOS counts parameters that are no object as a fault of the envelope. */
function isOfEnvelope(error: A2AError): boolean {
  return A2AError.is(error, 'INVALID_PARAMS') && error.data.path === 'params'
}

function invalidEnvelope(cause: A2AError): A2AError {
  return new A2AError('INVALID_REQUEST', cause.message, { reason: cause.message }, { cause })
}

function textFor(error: A2AError, message: string): string {
  if (!A2AError.is(error, 'METHOD_NOT_FOUND')) return message
  return `Method not found: ${error.data.method.replace(/^"|"$/g, '')}`
}

/** Options of {@link kaos}. */
export interface KaosOptions {
  /** Whether to serve `POST /v1/chat/completions`, `GET /health` and `GET /ready`, beside JSON-RPC. Default is `true`. */
  readonly routes?: boolean | undefined
}

/**
 * The JSON-RPC of KAOS: `SendMessage`, `GetTask` and `CancelTask`, also under the names `tasks/send`, `tasks/get` and
 * `tasks/cancel`.
 *
 * `SendMessage` responds when the task has ended or waits for the user. Errors have the HTTP status 200, except for 401
 * and 403.
 *
 * Beside it, as in KAOS: `POST /v1/chat/completions`, also as a stream, `GET /health` and `GET /ready`.
 *
 * @throws {TypeError} for an unknown option.
 */
export function kaos(options: KaosOptions = {}): Dialect {
  requireKnown(options, ['routes'], 'kaos')
  const { routes = true } = options
  requireBoolean('routes', routes)
  return {
    version: 'kaos',
    isInCards: false,
    extensionsHeader: 'X-A2A-Extensions',
    mediaType: 'application/json',
    methods: new Map([
      ['SendMessage', 'SendMessage'],
      ['GetTask', 'GetTask'],
      ['CancelTask', 'CancelTask'],
      ['tasks/send', 'SendMessage'],
      ['tasks/get', 'GetTask'],
      ['tasks/cancel', 'CancelTask'],
    ]),
    rpc: RPC,
    routes: routes ? [CHAT_ROUTE] : [],
    rest: CHAT,
    ...(routes && { probes: PROBES }),
    hasTenants: false,
    recognizes: isKaosSend,
    errorsInStream: [],
    isAlwaysOk: true,
    encodeRpcError: encodeError,
    encodeHttpError: toHttpError,
    encodeCard(card) {
      const { capabilities, ...legacy } = toV03Card(card)
      return {
        ...legacy,
        // `toV03Card` always returns an object here.
        capabilities: {
          pushNotifications: false,
          ...(capabilities as JsonObject),
          stateTransitionHistory: true,
        },
        supportedProtocols: ['jsonrpc'],
      }
    },
  }
}
