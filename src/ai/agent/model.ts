/**
 * A remote agent as a language model of AI SDK.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import { readOptions, requireMethods, requireText } from '../../runtime/options.js'
import { MAX_WEIGHT, weightOf } from '../../runtime/weight.js'
import { AnswerStream } from './answer-stream.js'
import type { RemoteAgentLike } from './call.js'
import type {
  AgentModel,
  AgentModelContent,
  AgentModelEnd,
  AgentModelPart,
  AgentModelRequest,
  AgentModelStreamPart,
} from './model-types.js'
import { requireAnswer } from './output.js'
import { readPrompt, type AgentPrompt } from './prompt.js'

/** Options of {@link agentModel}. */
export interface AgentModelOptions {
  /** The conversation that a prompt without an answer of the agent belongs to. Default is a new one. */
  readonly contextId?: string | undefined
}

/**
 * A remote agent as a language model of AI SDK 7, for `generateText`, `streamText` and front ends that expect a model.
 *
 * The agent gets the messages of the user since its last answer. The metadata of an answer say where the conversation stands, so
 * that the next prompt continues it: keep the `providerMetadata` of messages. A question ends the answer with its text, and the
 * next message answers it. Calls of the agent's tools are calls that the provider has made. Aborting the signal cancels the agent's
 * task. An agent that fails, or cannot be reached, is an error of the model, which AI SDK does not try again. Instructions, tools and
 * settings do not reach the agent: the result has warnings of them. An answer of more than 64 MiB is an error, and cancels the task.
 *
 * @param agent - An `A2AClient`.
 * @throws {TypeError} naming the invalid option.
 * @example
 * const airline = await A2AClient.connect('https://airline.example')
 * const { textStream } = streamText({ model: agentModel(airline), prompt: 'A flight to Rome' })
 */
export function agentModel(agent: RemoteAgentLike, options: AgentModelOptions = {}): AgentModel {
  requireMethods('agent', agent, ['run'], 'be an A2AClient')
  const { contextId } = readOptions(options, ['contextId'], 'agentModel')
  if (contextId !== undefined) requireText('contextId', contextId)
  return {
    ...{ specificationVersion: 'v4', provider: 'a2a', modelId: agent.card.name },
    // The agent fetches files itself.
    supportedUrls: { '*/*': [/^https?:/] },
    async doGenerate(request) {
      const prompt = readPrompt(request, contextId)
      const parts: AgentModelStreamPart[] = []
      await answer(agent, prompt, request, request.abortSignal, (part) => void parts.push(part))
      return { content: contentOf(parts), warnings: prompt.warnings, ...endOf(parts) }
    },
    async doStream(request) {
      const prompt = await Promise.resolve(readPrompt(request, contextId))
      const left = new AbortController()
      const { abortSignal } = request
      const signal = abortSignal === undefined ? left.signal : AbortSignal.any([abortSignal, left.signal])
      return {
        stream: new ReadableStream<AgentModelStreamPart>({
          async start(controller) {
            controller.enqueue({ type: 'stream-start', warnings: prompt.warnings })
            await answer(agent, prompt, request, signal, (part) => {
              if (!left.signal.aborted) controller.enqueue(part)
            })
            if (!left.signal.aborted) controller.close()
          },
          cancel: (reason) => left.abort(reason),
        }),
      }
    },
  }
}

/** @throws {AgentFailure} and the signal's reason. */
async function answer(
  agent: RemoteAgentLike,
  { message, spent }: AgentPrompt,
  { headers = {} }: AgentModelRequest,
  signal: AbortSignal | undefined,
  write: (part: AgentModelStreamPart) => void,
): Promise<void> {
  const { name } = agent.card
  let weight = 0
  // What this throws cancels the agent's task.
  const parts = new AnswerStream(spent, (part) => {
    weight += weightOf(part)
    if (weight > MAX_WEIGHT) {
      const text = `The answer of ${name} is larger than the ${MAX_WEIGHT} bytes that a call keeps in memory`
      throw new A2AError('LIMIT_EXCEEDED', text, { limit: 'answer', max: MAX_WEIGHT, actual: weight })
    }
    write(part)
  })
  const set = Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
  const result = await agent.run(message, {
    ...{ signal, onUpdate: parts.update },
    headers: Object.fromEntries(set) as Record<string, string>,
  })
  if (!result.ok) signal?.throwIfAborted()
  requireAnswer(name, result)
  parts.end(result)
}

/** The parts of a stream with each text as one part. */
function contentOf(parts: readonly AgentModelStreamPart[]): AgentModelContent[] {
  const content: AgentModelContent[] = []
  for (const part of parts) {
    const last = content.at(-1)
    const text = last?.type === 'text' || last?.type === 'reasoning' ? last : undefined
    if (part.type === 'text-start') content.push({ type: 'text', text: '' })
    else if (part.type === 'reasoning-start') content.push({ type: 'reasoning', text: '' })
    else if ('delta' in part && text !== undefined) text.text += part.delta
    else if (part.type === 'text-end' && text?.type === 'text') text.providerMetadata = part.providerMetadata
    else if (isWhole(part)) content.push(part)
  }
  return content
}

function isWhole(part: AgentModelStreamPart): part is AgentModelPart {
  if (part.type === 'tool-result') return part.preliminary !== true
  return part.type === 'file' || part.type === 'source' || part.type === 'tool-call'
}

function endOf(parts: readonly AgentModelStreamPart[]): AgentModelEnd {
  const end = parts.find((part) => part.type === 'finish')
  if (end === undefined) throw new Error('The agent has not ended its answer')
  const { finishReason, usage, providerMetadata } = end
  return { finishReason, usage, providerMetadata }
}
