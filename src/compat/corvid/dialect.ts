/**
 * Dialect of corvid-agent: two HTTP paths, and tasks as conversations.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { TaskState } from '../../core/lifecycle.js'
import type { DeepReadonly, Message } from '../../core/task.js'
import type { JsonObject } from '../../core/json-types.js'
import { requireKnown, requireWhole } from '../../runtime/options.js'
import { integer, object, optional, string } from '../../schemas/scalars.js'
import { check } from '../../wire/check.js'
import { conversationOf } from '../conversation.js'
import type { Codecs, Dialect, Requests, TaskView } from '../../wire/dialect.js'
import { describeError } from '../../wire/errors.js'
import { textOf } from '../../wire/text.js'
import { toV03Card } from '../../wire/v0-3/card.js'
import { shownState } from '../../wire/v1/objects.js'
import { notReply } from '../../wire/view.js'

/** Timeout of a task whose sender sets none. */
const DEFAULT_TIMEOUT_MS = 300_000
/** Maximum delay of a timer. */
const MAX_TIMEOUT_MS = 2_147_483_647

const SendSchema = object({
  message: optional(string),
  skill: optional(string),
  timeoutMs: optional(integer(1, MAX_TIMEOUT_MS)),
  depth: optional(integer(1)),
})

/** The parameters are under `params` or at the top level. */
const BodySchema = object({ params: optional(SendSchema), depth: optional(integer(1)) })

/** The default of `maxDepth`. */
export const MAX_DEPTH = 3

/** The name of the limit in the data of errors. */
const DEPTH_LIMIT = 'maxDepth'

/** @throws {A2AError} `LIMIT_EXCEEDED` for an invocation that is too deep in a chain of agents. */
export function requireDepth(depth: number, max: number): void {
  if (depth <= max) return
  const text = `Invocation depth ${depth} exceeds maximum of ${max}`
  throw new A2AError('LIMIT_EXCEEDED', text, { limit: DEPTH_LIMIT, max, actual: depth })
}

/** Whether a task was refused because of its depth. */
export function isTooDeep(error: A2AError): boolean {
  return A2AError.is(error, 'LIMIT_EXCEEDED') && error.data.limit === DEPTH_LIMIT
}

function fromBody(body: unknown, maxDepth: number): Requests['SendMessage'] {
  const { params = check(SendSchema, body), ...outside } = check(BodySchema, body)
  const { message = '', skill, timeoutMs = DEFAULT_TIMEOUT_MS, depth = outside.depth } = params
  if (message.trim() === '') {
    const data = { path: 'message', reason: 'is required' }
    throw new A2AError('INVALID_PARAMS', 'message is required', data)
  }
  requireDepth(depth ?? 1, maxDepth)
  return {
    message: { role: 'user', parts: [{ text: message }] },
    returnImmediately: true,
    acceptedOutputModes: [],
    needsTask: true,
    timeoutMs,
    metadata: { ...(skill && { skill }), ...(depth !== undefined && { depth }) },
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

function restCodecs(maxDepth: number) {
  return {
    SendMessage: {
      decode: (body) => fromBody(body, maxDepth),
      encode: (sent) => toTask(notReply(sent)),
    },
    GetTask: { decode: (params) => check(object({ id: string }), params), encode: toTask },
  } satisfies Codecs
}

/** The text of an error that clients may read. */
function textFor(error: A2AError): string {
  if (error.code === 'TASK_NOT_FOUND') return 'Task not found'
  if (error.code === 'RATE_LIMITED') return 'Rate limit exceeded. Try again later.'
  return isTooDeep(error) ? 'Invocation depth limit exceeded.' : describeError(error).message
}

/** Options of {@link corvid}. */
export interface CorvidOptions {
  /**
   * The greatest `depth` that a task may have: how many agents have called each other, the sender included. Deeper tasks are
   * refused. Default is `3`.
   */
  readonly maxDepth?: number | undefined
}

/**
 * The routes of corvid-agent: `POST /a2a/tasks/send`, which responds at once, and `GET /a2a/tasks/{id}`, to poll until
 * the task is `completed` or `failed`. The agent reads `skill` and `depth` of a task, where its sender names them, in
 * `run.metadata`.
 *
 * @throws {TypeError | RangeError} naming the option that is wrong.
 */
export function corvid(options: CorvidOptions = {}): Dialect {
  requireKnown(options, ['maxDepth'], 'corvid')
  const maxDepth = requireWhole('maxDepth', options.maxDepth ?? MAX_DEPTH)
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
    rest: restCodecs(maxDepth),
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
