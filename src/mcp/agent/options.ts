/**
 * Options of `mcpTools` and `mcpAgent`, and their checks.
 *
 * @module
 */
import { requireDelay, requireFunctions, requireMethods, requireStrings } from '../../runtime/options.js'
import type { McpClient } from './client.js'
import type { McpSample } from './questions.js'

/** Options of `mcpTools`. */
export interface McpToolsOptions {
  /** The names of the tools to use. Default is all of them, at most 1,000. */
  readonly tools?: readonly string[] | undefined
  /**
   * Answers a server that asks for a call of a model: gets the params of `sampling/createMessage`, and returns its result. Each
   * call is a step. Default is that the server is told that there is no model.
   */
  readonly sample?: McpSample | undefined
  /** The time that one call may take, in ms. Default is 3,600,000 (1 hour). */
  readonly timeoutMs?: number | undefined
  /**
   * How long a call is held while the user answers a question in its middle, in ms: in a session of MCP 2025-11-25 or before. After
   * that it is canceled, and begins again with the answer. Default is 300,000 (5 minutes).
   */
  readonly holdMs?: number | undefined
}

/** Options that were checked. */
export interface Settings {
  readonly tools: readonly string[] | undefined
  readonly sample: McpSample | undefined
  readonly timeoutMs: number
  readonly holdMs: number
}

export const TOOLS_KEYS = ['tools', 'sample', 'timeoutMs', 'holdMs']

/** @throws {TypeError | RangeError} naming the invalid option. */
export function toSettings(given: McpToolsOptions): Settings {
  const { tools, sample, timeoutMs = 3_600_000, holdMs = 300_000 } = given
  if (tools !== undefined) requireStrings('tools', tools)
  requireFunctions(given, ['sample'])
  return {
    ...{ tools, sample },
    timeoutMs: requireDelay('timeoutMs', timeoutMs),
    holdMs: requireDelay('holdMs', holdMs),
  }
}

/** @throws {TypeError} */
export function requireClient(client: McpClient): void {
  const methods = ['request', 'callTool', 'getServerCapabilities', 'close']
  requireMethods(
    'client',
    client,
    methods,
    'be a Client of @modelcontextprotocol/client or @modelcontextprotocol/sdk',
  )
}
