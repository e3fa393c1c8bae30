/**
 * A remote agent as a tool of AI SDK.
 *
 * @module
 */
import {
  toModelOutput,
  toToolSchema,
  type ToolInput,
  type ToolSchema,
} from '../../runtime/framework-tools.js'
import { noteRecording } from '../../runtime/recording-tools.js'
import { toAgentCall, type AgentToolOptions, type RemoteAgentLike } from './call.js'
import { filesForModel, textForModel, type AgentModelOutput, type AgentOutput } from './output.js'

/** A tool of AI SDK 7. */
export interface AgentTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: ToolSchema
  readonly execute: (
    input: ToolInput,
    options: { readonly toolCallId: string; readonly abortSignal?: AbortSignal | undefined },
  ) => AsyncIterable<AgentOutput>
  readonly toModelOutput: (result: { readonly output: AgentOutput }) => AgentModelOutput
}

/**
 * A remote agent as a tool of AI SDK.
 *
 * What the agent says while it works are preliminary results, with the state `working`. Files of the result go to the model as
 * files. When the call is aborted, the agent's task is canceled. An agent that fails, rejects the message or cannot be reached is
 * an error of the tool, with the reason. Descriptions and results are texts of the agent: the model may follow them.
 *
 * @param agent - An `A2AClient`.
 * @throws {TypeError | RangeError} naming the invalid option.
 * @example
 * const airline = await A2AClient.connect('https://airline.example')
 * await generateText({ model, tools: { airline: agentTool(airline) }, prompt: 'A flight to Rome' })
 */
export function agentTool(agent: RemoteAgentLike, options: AgentToolOptions = {}): AgentTool {
  const { name, description, parameters, problemOf, call } = toAgentCall(agent, options, 'agentTool')
  const execute: AgentTool['execute'] = (input, { toolCallId, abortSignal }) =>
    call(input, { toolCallId, signal: abortSignal })
  if (options.run !== undefined) noteRecording(execute)
  return {
    name,
    description,
    inputSchema: toToolSchema(parameters, problemOf),
    execute,
    toModelOutput: ({ output }) => toModelOutput(textForModel(output), filesForModel(output)),
  }
}
