/**
 * Arguments of calls to an agent: messages, queries and options.
 *
 * @module
 */
import { invalidParams } from '../core/errors.js'
import { wellFormed } from '../core/json.js'
import type { GenerateId } from '../runtime/ids.js'
import type { JsonObject } from '../core/json-types.js'
import { agentIdOf, withLineage, type LineageSource } from '../core/lineage/mark.js'
import type { Message, Part } from '../core/task.js'
import { compact } from '../runtime/compact.js'
import { MessageSchema } from '../schemas/message.js'
import { requireKnownFields } from '../wire/known-fields.js'
import { readMessage } from '../wire/client/objects.js'
import type { ClientRequests, ClientResults } from '../wire/client/dialect.js'
import type { PushConfig } from '../wire/dialect.js'

/** Options of every call. */
export interface CallOptions {
  /** Aborts the call, which then fails with `REQUEST_ABORTED`. */
  readonly signal?: AbortSignal | undefined
  /** Time limit of the call, in ms, retries included; of a stream, until it begins. Default is the client's `timeoutMs`. */
  readonly timeoutMs?: number | undefined
  /** Headers to send in addition to the client's. They override headers of the same name. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** A message to an agent: a text, or parts. */
export type MessageInput = string | MessageContent

/** A message of the user (A2A 1.0 §4.1.4). The client adds `role` and, unless given, `messageId`. */
export interface MessageContent {
  /** At least one part. */
  readonly parts: readonly Part[]
  /** The task that the message continues. Default is a new task. */
  readonly taskId?: string | undefined
  /** The conversation that the message belongs to. */
  readonly contextId?: string | undefined
  /** Default is a new id of the client's `generateId`. */
  readonly messageId?: string | undefined
  /** Other tasks that the message refers to. */
  readonly referenceTaskIds?: readonly string[] | undefined
  readonly metadata?: JsonObject | undefined
  /** URIs of the protocol extensions that the message uses. */
  readonly extensions?: readonly string[] | undefined
}

/** Options of `send` and `stream`. */
export interface SendOptions extends CallOptions {
  /** The task that the message continues. A `taskId` in the message takes precedence. */
  readonly taskId?: string | undefined
  /** The conversation that the message belongs to. A `contextId` in the message takes precedence. */
  readonly contextId?: string | undefined
  /** The media types that the caller understands. Default is any. */
  readonly acceptedOutputModes?: readonly string[] | undefined
  /** The number of messages of history that the answer may hold. Default is the agent's choice. */
  readonly historyLength?: number | undefined
  /** Metadata of the request, as opposed to that of the message. */
  readonly metadata?: JsonObject | undefined
  /**
   * A webhook for the changes of the task. Fails with `PUSH_NOTIFICATION_NOT_SUPPORTED` if the agent's card declares no
   * push notifications.
   */
  readonly pushConfig?: PushConfig | undefined
  /**
   * What the message is sent for: the `run` of a request handler. The message then says which task, agents and deadline have
   * led to it. A chain that is too long throws `LIMIT_EXCEEDED`, and an agent that is on it `UNSUPPORTED_OPERATION`. Default
   * is none; `sendTask` then uses the task that it delegates.
   */
  readonly lineage?: LineageSource | undefined
  /** Return as soon as the task exists, instead of when it ends or waits. Default is `false`. */
  readonly returnImmediately?: boolean | undefined
}

/** Query of `A2AClient.listTasks`. */
export interface ListTasksQuery extends Query, CallOptions {}

type ListTasks = Omit<ClientRequests['ListTasks'], 'tenant'>
type Query = { readonly [K in keyof ListTasks]?: ListTasks[K] | undefined }

/** One page of an agent's tasks, the most recently changed first. */
export type TaskPage = ClientResults['ListTasks']

/**
 * Builds the message to send: complete, validated, and independent of `input`.
 *
 * @throws {A2AError} `INVALID_PARAMS` with the path of the invalid field: `message.parts[0] …`.
 */
export function toMessage(input: MessageInput, options: SendOptions, generateId: GenerateId): Message {
  const content: unknown =
    typeof input === 'string' ? { parts: [{ text: wellFormed(input) }] } : copyOf(input)
  const { taskId, contextId } = options
  const defaults = compact({ messageId: generateId(), taskId, contextId })
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    throw invalidParams('message', 'must be a text, or an object with parts')
  }
  const complete = { ...defaults, ...content, role: 'user' }
  requireKnownFields(MessageSchema, complete, 'message')
  const message = readMessage(complete, 'message', false)
  if (message.parts.length > 0) return message
  throw invalidParams('message.parts', 'must be an array with at least one part')
}

/** How a client marks its messages to an agent with a lineage. */
export type Marking = (message: Message) => Message

/**
 * @param card - That of the agent.
 * @throws {A2AError} What the lineage throws.
 */
export function toMarking(
  lineage: LineageSource | undefined,
  card: Parameters<typeof agentIdOf>[0],
): Marking {
  if (lineage === undefined) return (message) => message
  const mark = lineage.lineageTo(agentIdOf(card))
  return (message) => withLineage(message, mark)
}

/** The task and the conversation of a message to send. */
export function contextOf({ taskId, contextId }: MessageContext): MessageContext {
  return compact({ taskId, contextId })
}

type MessageContext = Pick<Message, 'taskId' | 'contextId'>

/** A copy, so that changes after the call do not affect what is sent. */
function copyOf(value: unknown): unknown {
  try {
    // The type omits that the result is undefined for a function, a symbol or undefined.
    const text = JSON.stringify(value) as string | undefined
    return text === undefined ? undefined : JSON.parse(text, HALF.test(text) ? withoutHalves : undefined)
  } catch (cause) {
    throw invalidParams('message', 'must be JSON', cause)
  }
}

/** Half of a character, as JSON writes it. */
const HALF = /\\ud[89a-f]/

/** Code cuts texts, and models are cut by tokens. */
function withoutHalves(key: string, value: unknown): unknown {
  return key === 'text' && typeof value === 'string' ? wellFormed(value) : value
}

export function withoutContext(message: Message): Message {
  const rest = { ...message }
  delete rest.contextId
  return rest
}
