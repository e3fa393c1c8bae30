/**
 * A remote agent as a tool of AI SDK.
 *
 * @module
 */
import { noteRecording } from '../../runtime/recording-tools.js'
import { toAgentCall, type AgentToolOptions, type ParametersSchema, type RemoteAgentLike } from './call.js'
import { filesForModel, textForModel, type AgentModelOutput, type AgentOutput } from './output.js'

/** The input of a tool for an agent: that of its schema. */
export type AgentToolInput = Readonly<Record<string, unknown>>

/** A Standard Schema that has a JSON Schema. */
export interface AgentToolSchema {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly types?: { readonly input: unknown; readonly output: AgentToolInput } | undefined
    readonly validate: (
      value: unknown,
    ) => { readonly value: AgentToolInput } | { readonly issues: readonly { readonly message: string }[] }
    readonly jsonSchema: {
      readonly input: () => Record<string, unknown>
      readonly output: () => Record<string, unknown>
    }
  }
}

/** A tool of AI SDK 7. */
export interface AgentTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: AgentToolSchema
  readonly execute: (
    input: AgentToolInput,
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
    inputSchema: toStandard(parameters, problemOf),
    execute,
    toModelOutput: ({ output }) => toModelOutput(output),
  }
}

function toStandard(
  parameters: ParametersSchema,
  problemOf: (input: unknown) => string | undefined,
): AgentToolSchema {
  // Frameworks change what they get.
  const copy = (): Record<string, unknown> => structuredClone({ ...parameters })
  return {
    '~standard': {
      ...{ version: 1, vendor: 'a2a-tasks' },
      validate(value) {
        const message = problemOf(value)
        return message === undefined ? { value: value as AgentToolInput } : { issues: [{ message }] }
      },
      jsonSchema: { input: copy, output: copy },
    },
  }
}

function toModelOutput(output: AgentOutput): AgentModelOutput {
  const value = textForModel(output)
  const files = filesForModel(output)
  if (files.length === 0) return { type: 'text', value }
  return {
    type: 'content',
    value: [
      { type: 'text', text: value },
      ...files.map(({ data, ...about }) => ({
        ...{ type: 'file' as const, ...about },
        data: { type: 'data' as const, data },
      })),
    ],
  }
}
