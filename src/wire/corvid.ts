/**
 * Dialect of corvid-agent: two HTTP paths, and tasks as conversations.
 *
 * @module
 */
import { A2AError } from '../core/errors.js'
import type { TaskState } from '../core/lifecycle.js'
import type { DeepReadonly, Message } from '../core/task.js'
import type { JsonObject } from '../core/json-types.js'
import { integer, object, optional, string } from '../schemas/scalars.js'
import { check } from './check.js'
import { conversationOf } from './conversation.js'
import type { Codecs, Dialect, Requests, TaskView } from './dialect.js'
import { describeError } from './errors.js'
import { textOf } from './text.js'
import { toV03Card } from './v0-3/card.js'
import { shownState } from './v1/objects.js'
import { notReply } from './view.js'

/** Timeout of a task whose sender sets none. */
const DEFAULT_TIMEOUT_MS = 300_000
/** Maximum delay of a timer. */
const MAX_TIMEOUT_MS = 2_147_483_647

const SendSchema = object({
  message: optional(string),
  skill: optional(string),
  timeoutMs: optional(integer(1, MAX_TIMEOUT_MS)),
})

/** The parameters are under `params` or at the top level. */
const BodySchema = object({ params: optional(SendSchema) })

function fromBody(body: unknown): Requests['SendMessage'] {
  const { params = check(SendSchema, body) } = check(BodySchema, body)
  const { message = '', skill, timeoutMs = DEFAULT_TIMEOUT_MS } = params
  if (message.trim() === '') {
    const data = { path: 'message', reason: 'is required' }
    throw new A2AError('INVALID_PARAMS', 'message is required', data)
  }
  return {
    message: { role: 'user', parts: [{ text: message }] },
    returnImmediately: true,
    acceptedOutputModes: [],
    needsTask: true,
    timeoutMs,
    ...(skill && { metadata: { skill } }),
  }
}

/** corvid-agent has four states. */
const STATES = {
  submitted: 'submitted',
  working: 'working',
  'input-required': 'working',
  'auth-required': 'working',
  completed: 'completed',
  failed: 'failed',
  canceled: 'failed',
  rejected: 'failed',
} as const satisfies Record<TaskState, string>

function toTask({ task }: TaskView): JsonObject {
  const { id, state, contextId, createdAt, updatedAt } = task
  return {
    id,
    state: STATES[shownState(state)],
    messages: conversationOf(task).map(toMessage),
    sessionId: contextId,
    createdAt,
    updatedAt,
  }
}

/** Its clients read the first part only. */
function toMessage(message: DeepReadonly<Message>): JsonObject {
  return { role: message.role, parts: [{ type: 'text', text: textOf(message) }] }
}

// A call, because bundlers drop an unused pure call but keep a spread.
function restCodecs() {
  return {
    SendMessage: {
      decode: fromBody,
      encode: (sent) => toTask(notReply(sent)),
    },
    GetTask: { decode: (params) => check(object({ id: string }), params), encode: toTask },
  } satisfies Codecs
}

const REST = restCodecs()

/** The text of an error that clients may read. */
function textFor(error: A2AError): string {
  return error.code === 'TASK_NOT_FOUND' ? 'Task not found' : describeError(error).message
}

/**
 * The routes of corvid-agent: `POST /a2a/tasks/send`, which responds at once, and `GET /a2a/tasks/{id}`, to poll until
 * the task is `completed` or `failed`.
 */
export function corvid(): Dialect {
  return {
    version: 'corvid',
    isInCards: false,
    extensionsHeader: 'X-A2A-Extensions',
    mediaType: 'application/json',
    methods: new Map(),
    rpc: {},
    routes: [
      { verb: 'POST', path: '/a2a/tasks/send', operation: 'SendMessage' },
      { verb: 'GET', path: '/a2a/tasks/{id}', operation: 'GetTask' },
    ],
    rest: REST,
    hasTenants: false,
    errorsInStream: [],
    encodeRpcError(error) {
      const { code, message } = describeError(error)
      return { code, message }
    },
    encodeHttpError(error, status = describeError(error).http) {
      return { status, body: { error: textFor(error) } }
    },
    encodeCard: toV03Card,
  }
}
