/**
 * Agents with AI SDK as durable functions. Nothing of the framework is imported.
 *
 * @module
 */
export { aiSdk, type AiSdk, type AiSdkOptions } from './ai-sdk.js'
export { toModelMessages, type ConversationPart, type MessagesOptions } from './messages.js'
export type { ApprovalOptions } from './approval.js'
export type { ModelOptions } from './model.js'
export type { AgentRun } from './turn.js'
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
