/**
 * A remote agent as a tool of LangChain.
 *
 * @module
 */
import { toLangChainContent } from '../../runtime/framework-tools.js'
import { noteRecording } from '../../runtime/recording-tools.js'
import { toAgentCall, type AgentToolOptions, type ParametersSchema, type RemoteAgentLike } from './call.js'
import type { LangChainBlock } from '../langchain-messages.js'
import { filesForModel, textForModel, type AgentOutput } from './output.js'

/** The arguments of LangChain's function `tool`. */
export type LangChainAgentTool = [
  work: (
    input: unknown,
    config: { readonly toolCall?: { readonly id?: string }; readonly signal?: AbortSignal },
  ) => AsyncGenerator<AgentOutput, [content: string | LangChainBlock[], artifact: AgentOutput]>,
  fields: {
    name: string
    description: string
    schema: ParametersSchema
    responseFormat: 'content_and_artifact'
  },
]

/**
 * A remote agent as a tool of LangChain and LangGraph: the arguments of the function `tool` of `@langchain/core` 1.4 or later.
 *
 * What the agent says while it works are events of the tool. The message of the tool has the text and the files as its content,
 * and the whole output as its artifact. An agent that fails throws, with the reason: the node that calls the tool decides what
 * the model learns. Aborting the signal of the config cancels the agent's task.
 *
 * @param agent - An `A2AClient`.
 * @throws {TypeError | RangeError} naming the invalid option.
 * @example
 * const tools = [tool(...langChainAgentTool(airline))]
 */
export function langChainAgentTool(
  agent: RemoteAgentLike,
  options: AgentToolOptions = {},
): LangChainAgentTool {
  const { name, description, parameters, call } = toAgentCall(agent, options, 'langChainAgentTool')
  async function* work(
    ...[input, config]: Parameters<LangChainAgentTool[0]>
  ): ReturnType<LangChainAgentTool[0]> {
    let output: AgentOutput = { state: 'completed', text: '' }
    for await (output of call(input, { toolCallId: config.toolCall?.id, signal: config.signal })) {
      if (output.state === 'working') yield output
    }
    return [toLangChainContent(textForModel(output), filesForModel(output)), output]
  }
  // LangChain hides the function, and keeps the schema.
  if (options.run !== undefined) noteRecording(parameters)
  return [work, { name, description, schema: parameters, responseFormat: 'content_and_artifact' }]
}
