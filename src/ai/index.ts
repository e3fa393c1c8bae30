/**
 * Agents with AI SDK and other frameworks as durable functions. Nothing of a framework is imported.
 *
 * @module
 */
export { aiSdk, type AiSdk, type AiSdkOptions } from './ai-sdk.js'
export { langChain, type GraphOptions, type LangChain } from './langchain.js'
export type { LangChainBlock, LangChainMessage } from './langchain-messages.js'
export {
  openAiAgents,
  type OpenAiAgents,
  type OpenAiModelLike,
  type OpenAiResultLike,
} from './openai-agents.js'
export type { OpenAiContent, OpenAiItem } from './openai-items.js'
export { toModelMessages, type ConversationPart, type MessagesOptions } from './messages.js'
export type { ApprovalOptions } from './approval.js'
export type { ModelOptions } from './model.js'
export type { AgentRun, TurnOptions } from './turn.js'
export type {
  ApprovalRule,
  ApprovalRules,
  ApprovalStatus,
  CallToApprove,
  ContentPart,
  JsonLike,
  ModelLike,
  ModelMessageLike,
  ResultLike,
  ToolOutput,
} from './types.js'
