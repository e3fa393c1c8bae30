/**
 * Types of AI SDK, as far as this entry uses them: its real types are assignable to these.
 *
 * @module
 */

/** A language model of a provider: `LanguageModelV4`, `V3` or `V2` of AI SDK. */
export interface ModelLike {
  readonly specificationVersion: string
  readonly provider: string
  readonly modelId: string
  readonly supportedUrls: unknown
  doGenerate(options: never): PromiseLike<object>
  doStream(options: never): PromiseLike<{ readonly stream: ReadableStream<{ readonly type: string }> }>
}

/** What `streamText` or an agent's `stream` returns, or what `generateText` or an agent's `generate` resolves to. */
export type ResultLike =
  | { readonly stream: AsyncIterable<{ readonly type: string }>; readonly content: unknown }
  | { readonly content: readonly { readonly type: string }[]; readonly stream?: undefined }

/** A call of a tool that needs a decision, as AI SDK asks its option `toolApproval` for it. */
export interface CallToApprove {
  readonly toolCall: { readonly toolCallId: string; readonly toolName: string; readonly input: unknown }
  readonly tools?: { readonly [name: string]: object } | undefined
}

/** A decision for AI SDK's option `toolApproval`. */
export type ApprovalStatus =
  | undefined
  | 'not-applicable'
  | 'approved'
  | 'denied'
  | 'user-approval'
  | { readonly type: 'not-applicable'; readonly reason?: never }
  | { readonly type: 'approved' | 'denied' | 'user-approval'; readonly reason?: string }

/** A rule for one tool: a decision, or a function of the call's input that makes it. */
export type ApprovalRule<I = unknown> = ApprovalStatus | Decider<I>['decide']

/** A method, so that code may write a narrower type of input. AI SDK has validated it. */
interface Decider<I> {
  decide(input: I): ApprovalStatus | PromiseLike<ApprovalStatus>
}

/** Rules by the names of tools. With the type of the tools, functions get the types of their inputs. */
export type ApprovalRules<T> = { readonly [K in keyof T]?: ApprovalRule<InputOf<T[K]>> }

type InputOf<T> = T extends { readonly execute?: ((input: infer I, ...rest: never[]) => unknown) | undefined }
  ? I
  : unknown

/** A part of the content of a message. */
export type ContentPart =
  { type: 'text'; text: string } | { type: 'file'; data: string | URL; mediaType: string; filename?: string }

/** A message of the conversation with a model: a `ModelMessage` of AI SDK. */
export type ModelMessageLike =
  | { role: 'user'; content: ContentPart[] }
  | {
      role: 'assistant'
      content: (ContentPart | { type: 'tool-call'; toolCallId: string; toolName: string; input: unknown })[]
    }
  | {
      role: 'tool'
      content: { type: 'tool-result'; toolCallId: string; toolName: string; output: ToolOutput }[]
    }

/** The output of a tool, as a model sees it. */
export type ToolOutput =
  | { type: 'text'; value: string }
  | { type: 'json'; value: JsonLike }
  | { type: 'error-text'; value: string }
  | { type: 'execution-denied' }

/** JSON that may be changed, as AI SDK's types want it. */
export type JsonLike = null | string | number | boolean | { [key: string]: JsonLike } | JsonLike[]
