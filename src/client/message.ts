/**
 * Messages to an agent, and the options of a call.
 *
 * @module
 */
import { invalidParams } from '../core/errors.js'
import type { GenerateId } from '../runtime/ids.js'
import type { JsonObject } from '../core/json-types.js'
import type { Message, Part } from '../core/task.js'
import { compact, Fields } from '../wire/client/fields.js'
import { readMessage } from '../wire/client/objects.js'
import type { PushConfig } from '../wire/dialect.js'

/** What every call takes. */
export interface CallOptions {
  /** Ends the call. */
  readonly signal?: AbortSignal | undefined
  /** Default is that of the client. */
  readonly timeoutMs?: number | undefined
  /** Beside those of the client. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** What is said: a text, or parts. */
export type MessageInput = string | MessageContent

export interface MessageContent {
  readonly parts: readonly Part[]
  /** Continues this task. */
  readonly taskId?: string | undefined
  /** Belongs to this conversation. */
  readonly contextId?: string | undefined
  /** Default is a new id. */
  readonly messageId?: string | undefined
  readonly referenceTaskIds?: readonly string[] | undefined
  readonly metadata?: JsonObject | undefined
  readonly extensions?: readonly string[] | undefined
}

export interface SendOptions extends CallOptions {
  /** Continues this task; as in the message. */
  readonly taskId?: string | undefined
  /** Belongs to this conversation; as in the message. */
  readonly contextId?: string | undefined
  /** The media types that are understood. Default is any. */
  readonly acceptedOutputModes?: readonly string[] | undefined
  /** How many messages of the conversation the answer may hold. Default is what the agent likes. */
  readonly historyLength?: number | undefined
  /** Of the request, not of the message. */
  readonly metadata?: JsonObject | undefined
  /** Where the agent shall tell of the task's changes. */
  readonly pushConfig?: PushConfig | undefined
  /** Do not wait for the end of the task. Default is `false`. */
  readonly returnImmediately?: boolean | undefined
}

/**
 * A message of the user, complete, and a copy.
 *
 * @throws {A2AError} `INVALID_PARAMS` with the path of what is wrong: `message.parts[0] …`.
 */
export function toMessage(input: MessageInput, options: SendOptions, generateId: GenerateId): Message {
  const content: unknown = typeof input === 'string' ? { parts: [{ text: input }] } : copyOf(input)
  const { taskId, contextId } = options
  const about = compact({ messageId: generateId(), taskId, contextId })
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    throw invalidParams('message', 'must be a text, or an object with parts')
  }
  const given = { ...about, ...content, role: 'user' }
  const message = readMessage(new Fields(given, 'message'), false)
  if (message.parts.length > 0) return message
  throw invalidParams('message.parts', 'must be an array with at least one part')
}

/** What is changed after the call changes nothing of what is sent. */
function copyOf(value: unknown): unknown {
  try {
    // What is no JSON at all has no text, whatever the type says.
    const text = JSON.stringify(value) as string | undefined
    return text === undefined ? undefined : JSON.parse(text)
  } catch (cause) {
    throw invalidParams('message', 'must be JSON', cause)
  }
}
