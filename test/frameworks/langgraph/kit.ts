/**
 * What the tests use of LangGraph, and an agent with tools.
 *
 * @module
 */
import { langChain, type GraphOptions, type TurnOptions } from 'a2a-tasks/ai'
import type { Execute, Run } from 'a2a-tasks/server'
import { loadFramework } from '../installed.js'

interface Graph {
  readonly checkpointer?: unknown
  invoke(input: object, config: object): Promise<{ readonly messages: readonly object[] }>
}

interface Core {
  readonly BaseChatModel: new (fields: object) => object
  readonly AIMessageChunk: new (fields: object) => Message
  readonly ChatGenerationChunk: new (fields: object) => object
  readonly tool: (work: unknown, fields: object) => object
}

interface Builder {
  addNode(name: string, node: unknown, options?: object): Builder
  addEdge(from: string, to: string): Builder
  addConditionalEdges(from: string, condition: unknown): Builder
  compile(options?: object): Graph
}

interface LangGraph {
  readonly StateGraph: new (state: unknown) => Builder
  readonly MessagesAnnotation: unknown
  readonly ToolNode: new (tools: readonly object[], options?: object) => object
  readonly toolsCondition: unknown
  readonly MemorySaver: new () => object
  readonly interrupt: (value: unknown) => unknown
  readonly createReactAgent: (options: object) => Graph
}

export interface Message {
  readonly type: string
  readonly content: unknown
  readonly tool_calls?: readonly object[]
}

/** A call of the model. */
export interface Call {
  readonly messages: readonly Message[]
  readonly signal?: AbortSignal
}

/** The fields of the chunks of an answer. */
export type Answer = readonly object[]

/** Lazy: the tests that use it are skipped where the packages are missing. */
export async function lang(): Promise<Core & LangGraph> {
  const modules = [
    '@langchain/core/language_models/chat_models',
    '@langchain/core/messages',
    '@langchain/core/outputs',
    '@langchain/core/tools',
    '@langchain/langgraph',
    '@langchain/langgraph/prebuilt',
  ]
  const [models, messages, outputs, tools, graph, prebuilt] = await Promise.all(
    modules.map((name) => loadFramework<Core & LangGraph>(name)),
  )
  return { ...models, ...messages, ...outputs, ...tools, ...graph, ...prebuilt } as Core & LangGraph
}

const USAGE = {
  usage_metadata: {
    ...{ input_tokens: 10, output_tokens: 5, total_tokens: 15 },
    input_token_details: { cache_read: 4 },
    output_token_details: { reasoning: 2 },
  },
}

/** An answer with these texts, and then these calls of tools. */
export function answer(
  texts: readonly string[],
  calls: readonly [tool: string, id: string, input: object][] = [],
  reason = calls.length > 0 ? 'tool_calls' : 'stop',
): Answer {
  return [
    ...texts.map((content) => ({ content })),
    {
      content: '',
      tool_call_chunks: calls.map(([name, id, args], index) => ({
        ...{ name, id, index, args: JSON.stringify(args), type: 'tool_call_chunk' },
      })),
      response_metadata: { finish_reason: reason, model_name: 'mock' },
      ...USAGE,
    },
  ]
}

/** A model that gives the n-th answer to a conversation in which it has spoken n - 1 times: it has no state, as a real one. */
export async function modelOf(
  answers: readonly (Answer | ((call: Call) => Answer | Promise<Answer>))[],
  calls: Call[] = [],
): Promise<object> {
  const { BaseChatModel, AIMessageChunk, ChatGenerationChunk } = await lang()
  class Model extends BaseChatModel {
    constructor() {
      super({})
    }

    _llmType(): string {
      return 'mock'
    }

    bindTools(tools: unknown): unknown {
      return (this as unknown as { withConfig(config: object): object }).withConfig({ tools })
    }

    _generate(): never {
      throw new Error('The agent streams')
    }

    async *_streamResponseChunks(messages: readonly Message[], { signal }: { signal?: AbortSignal }) {
      const call: Call = { messages, ...(signal && { signal }) }
      calls.push(call)
      const given = answers[messages.filter(({ type }) => type === 'ai').length]
      if (given === undefined) throw new Error('The model has no more answers')
      for (const fields of typeof given === 'function' ? await given(call) : given) {
        const message = new AIMessageChunk(fields)
        yield new ChatGenerationChunk({ message, text: String(message.content) })
      }
    }
  }
  return new Model()
}

/** An agent with these tools, in the framework's own loop. */
export function agentOf(
  model: object,
  {
    tools = [],
    options,
    finish,
    version = 'v1',
  }: {
    readonly tools?: readonly object[]
    readonly options?: TurnOptions
    readonly finish?: (run: Run) => GraphOptions
    readonly version?: 'v1' | 'v2'
  } = {},
): Execute {
  return async (run) => {
    const { createReactAgent, MemorySaver } = await lang()
    const ai = langChain(run, options)
    const agent = createReactAgent({
      llm: ai.model(model, { retry: { attempts: 1 } }),
      tools: ai.tools(tools),
      ...{ checkpointer: new MemorySaver(), version },
    })
    await ai.finish(agent, { messages: await ai.messages() }, finish?.(run))
  }
}

/** A tool with one text, `city`. */
export async function toolOf(name: string, work: (input: { city: string }) => unknown): Promise<object> {
  const { tool } = await lang()
  const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
  return tool(work, { name, description: 'A tool', schema })
}
