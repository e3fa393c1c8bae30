/**
 * What the tests use of AI SDK, and an agent with tools, an approval and a bill.
 *
 * @module
 */
import { aiSdk, type AiSdk, type AiSdkOptions, type ModelLike, type ResultLike } from 'a2a-tasks/ai'
import type { Execute, Run } from 'a2a-tasks/server'
import { loadFramework } from '../installed.js'

export interface Ai {
  readonly streamText: (options: object) => ResultLike
  readonly generateText: (options: object) => Promise<ResultLike & { readonly text: string }>
  readonly isStepCount: (count: number) => unknown
  readonly jsonSchema: (schema: object) => unknown
}

interface Mocks {
  readonly MockLanguageModelV4: new (options: object) => ModelLike
  readonly convertArrayToReadableStream: (parts: readonly object[]) => ReadableStream
}

/** A call of the mock model. */
export interface Call {
  readonly prompt: readonly { readonly role: string; readonly content: unknown }[]
  readonly abortSignal?: AbortSignal
  readonly tools?: readonly object[]
}

const USAGE = {
  inputTokens: { total: 10, noCache: 6, cacheRead: 4, cacheWrite: undefined },
  outputTokens: { total: 5, text: 3, reasoning: 2 },
}

const SCHEMA = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }

/** Lazy: the tests that use it are skipped where the package is missing. */
export const ai = (): Promise<Ai> => loadFramework<Ai>('ai')

/** The parts of a streamed answer with these texts, and then these calls of tools. */
export function answer(
  texts: readonly string[],
  calls: readonly [tool: string, id: string, input: object][] = [],
): object[] {
  return [
    { type: 'stream-start', warnings: [] },
    { type: 'response-metadata', id: 'r1', modelId: 'mock', timestamp: new Date(0) },
    ...(texts.length > 0 ? [{ type: 'text-start', id: 't' }] : []),
    ...texts.map((delta) => ({ type: 'text-delta', id: 't', delta })),
    ...(texts.length > 0 ? [{ type: 'text-end', id: 't' }] : []),
    ...calls.map(([toolName, toolCallId, input]) => ({
      ...{ type: 'tool-call', toolName, toolCallId, input: JSON.stringify(input) },
    })),
    finish(calls.length > 0 ? 'tool-calls' : 'stop'),
  ]
}

export function finish(unified: string): object {
  return { type: 'finish', usage: USAGE, finishReason: { unified, raw: unified } }
}

/** A model that gives the n-th answer to a conversation with n - 1 answers: it has no state, as a real one. */
export async function modelOf(
  answers: readonly (readonly object[] | ((call: Call) => Promise<readonly object[]> | readonly object[]))[],
  calls: Call[] = [],
): Promise<ModelLike> {
  const { MockLanguageModelV4, convertArrayToReadableStream } = await loadFramework<Mocks>('ai/test')
  return new MockLanguageModelV4({
    doStream: async (call: Call) => {
      calls.push(call)
      const given = answers[call.prompt.filter(({ role }) => role === 'assistant').length]
      if (given === undefined) throw new Error('The model has no more answers')
      const parts = typeof given === 'function' ? await given(call) : given
      return { stream: convertArrayToReadableStream(parts) }
    },
  })
}

/** An agent with these tools, in AI SDK's own loop. */
export function agentOf(
  model: ModelLike,
  {
    tools,
    options,
    more,
  }: {
    readonly tools?: (run: Run) => Record<string, object>
    readonly options?: AiSdkOptions
    readonly more?: (ai: AiSdk, run: Run) => object
  } = {},
): Execute {
  return async (run) => {
    const { streamText, isStepCount } = await ai()
    const sdk = aiSdk(run, options)
    const result = streamText({
      model: sdk.model(model, { retry: { attempts: 1 } }),
      messages: await sdk.messages(),
      stopWhen: isStepCount(10),
      abortSignal: run.signal,
      onError: () => undefined,
      ...(tools && { tools: sdk.tools(tools(run)) }),
      ...more?.(sdk, run),
    })
    await sdk.finish(result)
  }
}

/** A tool, as `tool()` of AI SDK returns it. */
export async function toolOf(execute: unknown, more: object = {}): Promise<object> {
  const { jsonSchema } = await ai()
  return { description: 'A tool', inputSchema: jsonSchema(SCHEMA), execute, ...more }
}
