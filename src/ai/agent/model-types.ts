/**
 * Types of a language model of AI SDK, as far as a remote agent has them: `LanguageModelV4` accepts these.
 *
 * @module
 */
import type { JsonLike } from '../types.js'

/** What is read of the options of a call. */
export interface AgentModelRequest {
  readonly prompt: readonly {
    readonly role: string
    readonly content: unknown
  }[]
  readonly abortSignal?: AbortSignal | undefined
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined
}

/** Where a conversation with an agent stands. AI SDK keeps it with the parts of an answer, and passes it back in the next prompt. */
export interface AgentModelMetadata {
  [provider: string]: { [key: string]: JsonLike }
}

/** A part of an answer that is the same in a stream. */
export type AgentModelPart =
  | {
      type: 'file'
      mediaType: string
      data: { type: 'data'; data: string }
      providerMetadata: AgentModelMetadata
    }
  | { type: 'source'; sourceType: 'url'; id: string; url: string; title?: string }
  | {
      type: 'tool-call'
      toolCallId: string
      toolName: string
      input: string
      providerExecuted: true
      dynamic: true
    }
  | {
      type: 'tool-result'
      toolCallId: string
      toolName: string
      result: NonNullable<JsonLike>
      isError?: boolean
      preliminary?: boolean
      dynamic: true
    }

/** A part of an answer. */
export type AgentModelContent =
  | AgentModelPart
  | { type: 'text'; text: string; providerMetadata?: AgentModelMetadata }
  | { type: 'reasoning'; text: string }

/** How an answer has ended, and what it has cost. */
export interface AgentModelEnd {
  finishReason: {
    unified: 'stop' | 'length' | 'content-filter' | 'error' | 'other'
    raw: string | undefined
  }
  usage: {
    inputTokens: {
      total: number | undefined
      noCache: undefined
      cacheRead: number | undefined
      cacheWrite: undefined
    }
    outputTokens: { total: number | undefined; text: undefined; reasoning: number | undefined }
  }
  providerMetadata: AgentModelMetadata
}

/** What the agent does not get. */
export interface AgentModelWarning {
  type: 'unsupported'
  feature: string
  details?: string
}

/** A part of the stream of an answer. */
export type AgentModelStreamPart =
  | AgentModelPart
  | { type: 'stream-start'; warnings: AgentModelWarning[] }
  | { type: 'text-start' | 'reasoning-start' | 'reasoning-end'; id: string }
  | { type: 'text-delta' | 'reasoning-delta'; id: string; delta: string }
  | { type: 'text-end'; id: string; providerMetadata: AgentModelMetadata }
  | { type: 'error'; error: unknown }
  | ({ type: 'finish' } & AgentModelEnd)

/** The model that `agentModel` returns: a `LanguageModelV4` of AI SDK. */
export interface AgentModel {
  readonly specificationVersion: 'v4'
  readonly provider: string
  readonly modelId: string
  readonly supportedUrls: Record<string, RegExp[]>
  doGenerate(
    options: AgentModelRequest,
  ): Promise<AgentModelEnd & { content: AgentModelContent[]; warnings: AgentModelWarning[] }>
  doStream(options: AgentModelRequest): Promise<{ stream: ReadableStream<AgentModelStreamPart> }>
}
