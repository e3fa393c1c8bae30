/**
 * MCP: an agent of A2A as a server of the Model Context Protocol, whose tools are its skills. Nothing of MCP's packages is imported.
 *
 * @module
 */
export { createMcpHandler } from './handler.js'
export type { McpAgent, McpOptions, McpSource, ServedAgent } from './options.js'
export type { McpTool } from './tools.js'
export {
  mcpTools,
  type McpAiSdkTool,
  type McpLangChainTool,
  type McpOpenAiTool,
  type McpParameters,
  type McpTools,
} from './agent/mcp-tools.js'
export type {
  LangChainToolContent,
  OpenAiToolOutput,
  ToolInput,
  ToolModelOutput,
  ToolSchema,
} from '../runtime/framework-tools.js'
export type { McpClient } from './agent/client.js'
export type { McpToolsOptions } from './agent/options.js'
export type { McpRun, McpSample } from './agent/questions.js'
export { McpToolError, type McpResult } from './agent/results.js'
export {
  mcpAgent,
  type McpAgentOptions,
  type McpAgentParts,
  type McpClientSource,
} from './agent/mcp-agent.js'
