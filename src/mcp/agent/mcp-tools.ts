/**
 * The tools of a server of MCP in a run: for AI SDK, OpenAI Agents, LangChain, and for code.
 *
 * @module
 */
import { readOptions, requireMethods } from '../../runtime/options.js'
import {
  toLangChainContent,
  toModelOutput,
  toOpenAiOutput,
  type LangChainToolContent,
  type OpenAiToolOutput,
  type ToolInput,
  type ToolModelOutput,
  type ToolSchema,
} from '../../runtime/framework-tools.js'
import { noteRecording } from '../../runtime/recording-tools.js'
import { isRecord, type Unread } from '../../runtime/unread.js'
import type { McpClient } from './client.js'
import { definitionOf, listTools, type ListedTool } from './listing.js'
import { requireClient, TOOLS_KEYS, toSettings, type McpToolsOptions } from './options.js'
import { toSchema, type McpRun } from './questions.js'
import { filesForModel, McpToolError, readResult, textForModel, type McpResult } from './results.js'
import { request } from './steps.js'

/** A tool of AI SDK 7. */
export interface McpAiSdkTool {
  readonly description: string
  readonly inputSchema: ToolSchema
  readonly execute: (
    input: ToolInput,
    options: { readonly toolCallId: string; readonly abortSignal?: AbortSignal | undefined },
  ) => Promise<McpResult>
  readonly toModelOutput: (result: { readonly output: McpResult }) => ToolModelOutput
}

/** The JSON Schema of the input of a tool. */
export interface McpParameters {
  type: 'object'
  properties: Record<string, object>
  required: string[]
  additionalProperties: false
}

/** A function tool of OpenAI Agents. */
export interface McpOpenAiTool {
  type: 'function'
  name: string
  description: string
  parameters: McpParameters
  strict: false
  invoke: (
    context: unknown,
    input: string,
    details?: { toolCall?: { callId: string } | undefined; signal?: AbortSignal | undefined },
  ) => Promise<string | OpenAiToolOutput[]>
  needsApproval: () => Promise<boolean>
  isEnabled: () => Promise<boolean>
}

/** The arguments of LangChain's function `tool`. */
export type McpLangChainTool = [
  work: (
    input: ToolInput,
    config: {
      readonly toolCall?: { readonly id?: string }
      readonly signal?: AbortSignal
      readonly configurable?: Readonly<Record<string, unknown>>
    },
  ) => Promise<[content: string | LangChainToolContent[], artifact: McpResult]>,
  fields: {
    name: string
    description: string
    schema: McpParameters
    responseFormat: 'content_and_artifact'
  },
]

/** What {@link mcpTools} returns. The methods do not use `this`. */
export interface McpTools {
  /** The tools for AI SDK, by their names: pass them beside those of `ai.tools`. */
  readonly aiSdk: Readonly<Record<string, McpAiSdkTool>>
  /** The tools for OpenAI Agents: pass them beside those of `ai.tools`. */
  readonly openAiAgents: readonly McpOpenAiTool[]
  /**
   * The tools for LangChain and LangGraph: pass `tool(...each)`, of `@langchain/core` 1.4 or later, beside those of `ai.tools`. A
   * node that is executed again after an interrupt has the results of its calls. A tool that fails throws its text.
   */
  readonly langChain: readonly McpLangChainTool[]
  /**
   * Calls a tool.
   *
   * @throws As a rejection: {@link McpToolError}; otherwise as `run.step`, and what the client throws.
   */
  readonly call: (
    name: string,
    input?: ToolInput,
    options?: { readonly signal?: AbortSignal | undefined },
  ) => Promise<McpResult>
}

/**
 * The tools of a server of MCP, each of whose calls is a step of the run: a call whose result is stored is not made again.
 *
 * - The list of the tools is a step, too, so that a turn that continues has the same.
 * - Progress is a status update. The signal of the run cancels the call.
 * - A question of the server (elicitation) is one of the run, between two steps. It needs a client that declares the capability
 *   `elicitation`. In a session of MCP 2025-11-25, give each run a client of its own: such questions do not name their call.
 * - A call that a crash has cut is made again. `_meta['a2a-tasks.dev/key']` is the same each time.
 *
 * @param client - A connected client of `@modelcontextprotocol/client`, or of `@modelcontextprotocol/sdk` 1.x.
 * @returns Rejects with an `Error` when the server exceeds a limit of the list, or lacks a tool that `tools` names.
 * @throws {TypeError | RangeError} As a rejection, naming the invalid option.
 * @example
 * execute: async (run) => {
 *   const ai = aiSdk(run)
 *   const { aiSdk: tools } = await mcpTools(run, client)
 *   return ai.finish(streamText({ model: ai.model(model), tools, messages: await ai.messages() }))
 * }
 */
export async function mcpTools(
  run: McpRun,
  client: McpClient,
  options: McpToolsOptions = {},
): Promise<McpTools> {
  requireMethods('run', run, ['step', 'update', 'requireInput', 'approve', 'sleep'])
  const { tools: names, ...settings } = toSettings(readOptions(options, TOOLS_KEYS, 'mcpTools()'))
  requireClient(client)
  const caller = { run, client: () => client, ...settings }
  // What the step returns is a copy of the list.
  const tools = (await run.step(
    'tools of MCP',
    async ({ signal }): Promise<unknown> => await listTools(client, names, signal),
  )) as ListedTool[]
  const counts = new Map<string, number>()
  const made = new Map<string, Promise<McpResult>>()

  const callTool = async (
    tool: ListedTool,
    input: ToolInput,
    { id, signal }: { readonly id?: string | undefined; readonly signal?: AbortSignal | undefined },
  ): Promise<McpResult> => {
    const { name } = tool
    const count = (counts.get(name) ?? 0) + 1
    if (id === undefined) counts.set(name, count)
    const params = { name, arguments: input }
    const given = { method: 'tools/call', params, tool: definitionOf(tool) }
    return readResult(await request(caller, `${name} ${id ?? count}`, given, signal), tool)
  }

  return {
    aiSdk: Object.fromEntries(tools.map((tool) => [tool.name, toAiSdk(tool, callTool)])),
    openAiAgents: tools.map((tool) => toOpenAi(tool, callTool)),
    langChain: tools.map((tool) => toLangChain(tool, callTool, made)),
    call: async (name, input = {}, options = {}) => {
      const { signal } = readOptions(options, ['signal'], 'call()')
      const tool = tools.find((each) => each.name === name)
      if (tool === undefined) throw new TypeError(`The MCP server has no tool "${name}"`)
      return await callTool(tool, input, { signal })
    },
  }
}

type CallTool = (
  tool: ListedTool,
  input: ToolInput,
  options: { readonly id?: string | undefined; readonly signal?: AbortSignal | undefined },
) => Promise<McpResult>

function toAiSdk(tool: ListedTool, callTool: CallTool): McpAiSdkTool {
  const execute: McpAiSdkTool['execute'] = (input, { toolCallId: id, abortSignal: signal }) =>
    callTool(tool, input, { id, signal })
  noteRecording(execute)
  return {
    description: descriptionOf(tool),
    inputSchema: toSchema(tool.inputSchema),
    execute,
    toModelOutput: ({ output }) => toModelOutput(textForModel(output), filesForModel(output)),
  }
}

function descriptionOf({ title, description }: ListedTool): string {
  return description === '' ? title : description
}

function toOpenAi(tool: ListedTool, callTool: CallTool): McpOpenAiTool {
  const invoke: McpOpenAiTool['invoke'] = async (_context, input, { toolCall, signal } = {}) => {
    try {
      const output = await callTool(tool, parse(input), { id: toolCall?.callId, signal })
      return toOpenAiOutput(textForModel(output), filesForModel(output))
    } catch (error) {
      if (error instanceof McpToolError) return `Error: ${error.message}`
      throw error
    }
  }
  noteRecording(invoke)
  return {
    ...{ type: 'function', name: tool.name, description: descriptionOf(tool), strict: false, invoke },
    // The schema of the server. The framework only passes it on.
    parameters: structuredClone(tool.inputSchema) as unknown as McpParameters,
    needsApproval: () => Promise.resolve(false),
    isEnabled: () => Promise.resolve(true),
  }
}

/** @param made - The calls of nodes, by the execution of the node, which is the same after an interrupt, and by what is called. */
function toLangChain(
  tool: ListedTool,
  callTool: CallTool,
  made: Map<string, Promise<McpResult>>,
): McpLangChainTool {
  const { name } = tool
  // The framework evaluates the patterns of schemas, and one can take for ever.
  const schema = JSON.parse(JSON.stringify(tool.inputSchema, withoutPatterns)) as McpParameters
  // It hides the function, and keeps the schema.
  noteRecording(schema)
  const work: McpLangChainTool[0] = async (input, { toolCall, signal, configurable }) => {
    const { id } = toolCall ?? {}
    const { checkpoint_ns: node } = configurable ?? {}
    const key = JSON.stringify([node, name, id, input])
    const making = made.get(key) ?? callTool(tool, input, { id, signal })
    // Only a graph executes a node again.
    if (node !== undefined) made.set(key, making)
    const result = await making
    return [toLangChainContent(textForModel(result), filesForModel(result)), result]
  }
  return [work, { name, description: descriptionOf(tool), schema, responseFormat: 'content_and_artifact' }]
}

function withoutPatterns(key: string, value: unknown): unknown {
  return (key === 'pattern' && typeof value === 'string') || key === 'patternProperties' ? undefined : value
}

/** Models may write anything. */
function parse(input: string): Unread {
  let value: unknown
  try {
    value = input === '' ? {} : JSON.parse(input)
  } catch {
    value = undefined
  }
  if (!isRecord(value)) throw new McpToolError('The input must be a JSON object')
  return value
}
