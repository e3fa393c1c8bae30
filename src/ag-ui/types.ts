/**
 * The events of AG-UI 1.0 that come from an agent of A2A.
 *
 * @module
 */
import type { ReadonlySchema } from '../wire/question/questions.js'

/** What a run waits for. */
export interface AgUiInterrupt {
  readonly id: string
  readonly reason: 'tool_call' | 'confirmation' | 'input_required' | 'a2a:auth_required'
  readonly message: string
  readonly toolCallId?: string
  readonly responseSchema?: ReadonlySchema
  readonly expiresAt?: string
  readonly metadata?: object
}

/** What was used in a run. */
export interface AgUiUsage {
  readonly model?: string
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly totalTokens?: number
  readonly reasoningTokens?: number
  readonly cachedInputTokens?: number
  readonly cacheWriteInputTokens?: number
}

interface OfMessage {
  readonly messageId: string
  readonly metadata?: object
}

interface OfCall {
  readonly toolCallId: string
}

interface End {
  readonly usage?: readonly AgUiUsage[]
  readonly metadata: object
}

type Outcome =
  | { readonly type: 'success' | 'cancelled' }
  | { readonly type: 'interrupt'; readonly interrupts: readonly AgUiInterrupt[] }

export type AgUiEvent =
  | {
      readonly type: 'RUN_STARTED'
      readonly threadId: string
      readonly runId: string
      readonly protocolVersion: '1.0'
    }
  | (OfMessage & { readonly type: 'TEXT_MESSAGE_START'; readonly role: 'assistant' })
  | (OfMessage & {
      readonly type: 'TEXT_MESSAGE_CONTENT' | 'REASONING_MESSAGE_CONTENT'
      readonly delta: string
    })
  | (OfMessage & {
      readonly type: 'TEXT_MESSAGE_END' | 'REASONING_START' | 'REASONING_MESSAGE_END' | 'REASONING_END'
    })
  | (OfMessage & { readonly type: 'REASONING_MESSAGE_START'; readonly role: 'reasoning' })
  | (OfCall & { readonly type: 'TOOL_CALL_START'; readonly toolCallName: string })
  | (OfCall & { readonly type: 'TOOL_CALL_ARGS'; readonly delta: string })
  | (OfCall & { readonly type: 'TOOL_CALL_END' })
  | (OfCall &
      OfMessage & { readonly type: 'TOOL_CALL_RESULT'; readonly role: 'tool'; readonly content: string })
  | (OfMessage & {
      readonly type: 'ACTIVITY_SNAPSHOT'
      readonly activityType: string
      readonly content: object
      readonly replace: true
    })
  | { readonly type: 'MESSAGES_SNAPSHOT'; readonly messages: readonly unknown[] }
  | (End & {
      readonly type: 'RUN_FINISHED'
      readonly threadId: string
      readonly runId: string
      readonly outcome: Outcome
      readonly result?: string
    })
  | (End & { readonly type: 'RUN_ERROR'; readonly message: string; readonly code: string })
