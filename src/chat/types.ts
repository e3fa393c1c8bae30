/**
 * Types of AI SDK's chats, as far as this entry uses them: its real types fit these.
 *
 * @module
 */
import type { ReadonlyJson } from '../core/json-types.js'
import type { TaskState } from '../core/lifecycle.js'
import type { OpenQuestion } from '../wire/question/questions.js'

/** The metadata of the assistant's messages: the task behind them. A later message goes on from here. */
export interface ChatMetadata {
  readonly a2a: {
    /** Absent where the agent has replied without a task. */
    readonly taskId?: string
    readonly contextId?: string
    readonly state: TaskState
    /** What the agent has said last in a status message, such as how far it is. Empty if it says nothing. */
    readonly text: string
    /** The ids of other users for whose answer the agent waits, with the state `working`. Empty where it does not. */
    readonly waitsFor: readonly string[]
  }
}

/** The data parts of a chat, by their names. */
// A type, as AI SDK's parameter has an index signature.
export type ChatData = {
  /** Of the assistant: a question that needs more than a yes or a no. */
  question: OpenQuestion
  /** Of the user: values by the ids of questions. */
  answers: Readonly<Record<string, ReadonlyJson>>
  /** Of the assistant: a data part of an artifact. */
  json: ReadonlyJson
}

/** A part of a message. */
export interface ChatPart {
  readonly type: string
}

/** A message: a `UIMessage` of AI SDK. */
export interface ChatMessage {
  readonly id: string
  readonly role: 'system' | 'user' | 'assistant'
  readonly metadata?: unknown
  readonly parts: readonly ChatPart[]
}

/** What the front end may add to a request. */
export interface RequestOptions {
  readonly chatId: string
  readonly abortSignal?: AbortSignal | undefined
  /** Go to the agent with each request. */
  readonly headers?: Record<string, string> | Headers | undefined
  /** Becomes metadata of the A2A request. */
  readonly body?: object | undefined
  /** As `body`, and takes precedence, if it is an object. */
  readonly metadata?: unknown
}

/** What `sendMessages` gets. */
export interface SendRequest extends RequestOptions {
  readonly trigger: 'submit-message' | 'regenerate-message'
  readonly messageId: string | undefined
  readonly messages: readonly ChatMessage[]
}

interface ToolChunk {
  readonly toolCallId: string
  readonly providerExecuted?: boolean
  readonly dynamic?: boolean
}

/** A piece of the assistant's message: those of AI SDK's `UIMessageChunk` that come from an agent. */
export type ChatChunk =
  | { readonly type: 'start'; readonly messageId: string; readonly messageMetadata?: ChatMetadata }
  | { readonly type: 'message-metadata'; readonly messageMetadata: ChatMetadata }
  | { readonly type: 'start-step' | 'finish-step' | 'reset-step' | 'finish' }
  | { readonly type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end'; readonly id: string }
  | { readonly type: 'text-delta' | 'reasoning-delta'; readonly id: string; readonly delta: string }
  | { readonly type: 'file'; readonly url: string; readonly mediaType: string }
  | {
      readonly type: 'source-url'
      readonly sourceId: string
      readonly url: string
      readonly title?: string
    }
  | {
      readonly type: 'source-document'
      readonly sourceId: string
      readonly mediaType: string
      readonly title: string
      readonly filename?: string
    }
  | { readonly type: 'data-question'; readonly id: string; readonly data: OpenQuestion }
  | { readonly type: 'data-json'; readonly id: string; readonly data: ReadonlyJson }
  | (ToolChunk & {
      readonly type: 'tool-input-available'
      readonly toolName: string
      readonly input: unknown
      readonly title?: string
    })
  | (ToolChunk & {
      readonly type: 'tool-output-available'
      readonly output: unknown
      readonly preliminary?: boolean
    })
  | (ToolChunk & { readonly type: 'tool-output-error'; readonly errorText: string })
  | { readonly type: 'tool-output-denied'; readonly toolCallId: string }
  | {
      readonly type: 'tool-approval-request'
      readonly approvalId: string
      readonly toolCallId: string
      readonly reason?: string
      readonly isAutomatic?: boolean
    }
  | { readonly type: 'tool-approval-response'; readonly approvalId: string; readonly approved: boolean }
  | { readonly type: 'error'; readonly errorText: string }
  | { readonly type: 'abort'; readonly reason?: string }

/** A `ChatTransport` of AI SDK. */
export interface A2AChatTransport {
  readonly resumeStreamIsReplay: true
  readonly sendMessages: (request: SendRequest) => Promise<ReadableStream<ChatChunk>>
  readonly reconnectToStream: (request: RequestOptions) => Promise<ReadableStream<ChatChunk> | null>
}
