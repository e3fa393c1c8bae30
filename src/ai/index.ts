/**
 * Agents with AI SDK and other frameworks as durable functions, and remote agents as tools and models of frameworks. Nothing of a
 * framework is imported.
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
export { agentTool, type AgentTool } from './agent/tool.js'
export { openAiAgentTool, type OpenAiAgentTool } from './agent/openai-agents.js'
export type { OpenAiToolOutput, ToolInput, ToolModelOutput, ToolSchema } from '../runtime/framework-tools.js'
export { langChainAgentTool, type LangChainAgentTool } from './agent/langchain.js'
export { agentModel, type AgentModelOptions } from './agent/model.js'
export type {
  AgentModel,
  AgentModelContent,
  AgentModelEnd,
  AgentModelMetadata,
  AgentModelPart,
  AgentModelRequest,
  AgentModelStreamPart,
  AgentModelWarning,
} from './agent/model-types.js'
export type { AgentToolOptions, ParametersSchema, RemoteAgentLike } from './agent/call.js'
export type { AgentFile, AgentModelOutput, AgentOutput } from './agent/output.js'
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
