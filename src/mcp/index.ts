/**
 * MCP: an agent of A2A as a server of the Model Context Protocol, whose tools are its skills. Nothing of MCP's packages is imported.
 *
 * @module
 */
export { createMcpHandler } from './handler.js'
export type { McpAgent, McpOptions, McpSource, ServedAgent } from './options.js'
export type { McpTool } from './tools.js'
