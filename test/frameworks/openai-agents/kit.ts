/**
 * What the tests use of OpenAI Agents, and an agent with tools.
 *
 * @module
 */
import {
  openAiAgents,
  type ApprovalOptions,
  type OpenAiModelLike,
  type OpenAiResultLike,
  type TurnOptions,
} from 'a2a-tasks/ai'
import type { Execute } from 'a2a-tasks/server'
import { loadFramework } from '../installed.js'

interface OpenAi {
  readonly Agent: new (options: object) => object
  readonly run: (agent: object, input: unknown, options?: object) => Promise<OpenAiResultLike>
  readonly tool: (options: object) => object
  readonly Usage: new (usage: object) => object
}

interface Testing {
  readonly ScriptedModel: new (steps: readonly unknown[]) => OpenAiModelLike
  readonly modelStream: (events: readonly object[]) => object
  readonly modelResponse: (response: object) => object
}

/** A request to the model. */
export interface Request {
  readonly input: readonly { readonly type?: string; readonly role?: string }[]
  readonly signal?: AbortSignal
}

/** The items of an answer, and the pieces of its text, or the events of a stream, or a function that makes these. */
export type Answer =
  | { readonly output: readonly object[]; readonly pieces?: readonly string[] }
  | { readonly events: readonly object[] }

/** Lazy: the tests that use it are skipped where the package is missing. */
export const openAi = (): Promise<OpenAi> => loadFramework<OpenAi>('@openai/agents')

const USAGE = {
  ...{ requests: 1, inputTokens: 10, outputTokens: 5, totalTokens: 15 },
  inputTokensDetails: [{ cached_tokens: 4 }],
  outputTokensDetails: [{ reasoning_tokens: 2 }],
}

/** An answer with these texts, and then these calls of tools. */
export function answer(
  pieces: readonly string[],
  calls: readonly [tool: string, id: string, input: object][] = [],
  ...more: readonly object[]
): { readonly output: readonly object[]; readonly pieces: readonly string[] } {
  const text = pieces.join('')
  const output = [
    ...(text === '' ? [] : [messageOf({ type: 'output_text', text })]),
    ...calls.map(([name, callId, input]) => ({
      ...{ type: 'function_call', callId, name, status: 'completed', arguments: JSON.stringify(input) },
    })),
    ...more,
  ]
  return { output, pieces }
}

export function messageOf(...content: readonly object[]): object {
  return { type: 'message', role: 'assistant', status: 'completed', content }
}

/** A model that gives the n-th answer to a conversation in which it has spoken n - 1 times: it has no state, as a real one. */
export async function modelOf(
  answers: readonly (Answer | ((request: Request) => Answer | Promise<Answer>))[],
  requests: Request[] = [],
): Promise<OpenAiModelLike> {
  const { ScriptedModel, modelStream, modelResponse } = await loadFramework<Testing>('@openai/agents/testing')
  const { Usage } = await openAi()
  const answerTo = async (request: Request): Promise<Answer> => {
    requests.push(request)
    const given = answers[spokenIn(request.input)]
    if (given === undefined) throw new Error('The model has no more answers')
    return typeof given === 'function' ? await given(request) : given
  }
  return {
    async getResponse(request) {
      const given = await answerTo(request)
      const output = 'output' in given ? given.output : []
      const usage = new Usage(USAGE)
      return await new ScriptedModel([modelResponse({ output, usage })]).getResponse(request)
    },
    async *getStreamedResponse(request) {
      const given = await answerTo(request)
      const events = 'events' in given ? given.events : eventsOf(given.output, given.pieces ?? [])
      yield* new ScriptedModel([modelStream(events)]).getStreamedResponse(request)
    },
  }
}

export function eventsOf(output: readonly object[], pieces: readonly string[]): object[] {
  return [
    { type: 'response_started' },
    ...pieces.map((delta) => ({ type: 'output_text_delta', delta })),
    { type: 'response_done', response: { id: 'r1', output, usage: USAGE, providerData: { model: 'mock' } } },
  ]
}

/** Items of one answer follow each other. */
function spokenIn(input: Request['input']): number {
  const isSpoken = input.map(({ type, role }) => role === 'assistant' || type === 'function_call')
  return isSpoken.filter((is, at) => is && isSpoken[at - 1] !== true).length
}

/** An agent with these tools, in the framework's own loop. */
export function agentOf(
  model: OpenAiModelLike,
  {
    tools = [],
    options,
    approval,
    isStreamed = true,
  }: {
    readonly tools?: readonly object[]
    readonly options?: TurnOptions
    readonly approval?: ApprovalOptions
    readonly isStreamed?: boolean
  } = {},
): Execute {
  return async (task) => {
    const { Agent, run } = await openAi()
    const ai = openAiAgents(task, options)
    const agent = new Agent({
      name: 'Travel',
      model: ai.model(model, { retry: { attempts: 1 } }),
      tools: ai.tools(tools, approval),
    })
    await ai.finish(run(agent, await ai.messages(), { stream: isStreamed, signal: task.signal }))
  }
}

/** A tool with one text, `city`, as `tool()` of the framework returns it. */
export async function toolOf(
  name: string,
  execute: (input: never, context: never, details: never) => unknown,
  more: object = {},
): Promise<object> {
  const { tool } = await openAi()
  const parameters = {
    ...{ type: 'object', required: ['city'], additionalProperties: false },
    properties: { city: { type: 'string' } },
  }
  return tool({ name, description: 'A tool', parameters, execute, ...more })
}
