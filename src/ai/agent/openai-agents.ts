/**
 * A remote agent as a tool of OpenAI Agents.
 *
 * @module
 */
import { toOpenAiOutput, type OpenAiToolOutput } from '../../runtime/framework-tools.js'
import { noteRecording } from '../../runtime/recording-tools.js'
import { toAgentCall, type AgentToolOptions, type ParametersSchema, type RemoteAgentLike } from './call.js'
import { AgentFailure, filesForModel, textForModel, type AgentOutput } from './output.js'

/** A function tool of OpenAI Agents. */
export interface OpenAiAgentTool {
  type: 'function'
  name: string
  description: string
  parameters: ParametersSchema
  strict: false
  invoke: (
    context: unknown,
    input: string,
    details?: { toolCall?: { callId: string } | undefined; signal?: AbortSignal | undefined },
  ) => Promise<string | OpenAiToolOutput[]>
  needsApproval: () => Promise<boolean>
  isEnabled: () => Promise<boolean>
}

/**
 * A remote agent as a tool of OpenAI Agents. Use it in `tools` of an `Agent` as it is.
 *
 * The framework has no preliminary results. Images and other files of the result go to the model. The reason of an agent that
 * fails goes to the model as a text. Pass a signal to `run` of the framework to cancel the agent's task.
 *
 * @param agent - An `A2AClient`.
 * @throws {TypeError | RangeError} naming the invalid option.
 * @example
 * const travel = new Agent({ name: 'Travel', tools: [openAiAgentTool(airline)] })
 */
export function openAiAgentTool(agent: RemoteAgentLike, options: AgentToolOptions = {}): OpenAiAgentTool {
  const { name, description, parameters, call } = toAgentCall(agent, options, 'openAiAgentTool')
  const invoke: OpenAiAgentTool['invoke'] = async (_context, input, { toolCall, signal } = {}) => {
    try {
      let output: AgentOutput | undefined
      for await (output of call(parse(input), { toolCallId: toolCall?.callId, signal }));
      return output === undefined ? '' : toOpenAiOutput(textForModel(output), filesForModel(output))
    } catch (error) {
      if (error instanceof AgentFailure) return `Error: ${error.message}`
      throw error
    }
  }
  if (options.run !== undefined) noteRecording(invoke)
  return {
    ...{ type: 'function', name, description, parameters, strict: false, invoke },
    needsApproval: () => Promise.resolve(false),
    isEnabled: () => Promise.resolve(true),
  }
}

/** Models may write anything. */
function parse(input: string): unknown {
  try {
    return JSON.parse(input)
  } catch {
    throw new AgentFailure('The input must be JSON')
  }
}
