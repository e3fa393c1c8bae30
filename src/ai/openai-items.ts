/**
 * The items of OpenAI Agents: what its models get and give.
 *
 * @module
 */
import { isRecord, type Unread } from '../runtime/unread.js'
import type { Parts } from './model.js'
import type { ContentPart, ModelMessageLike, ToolOutput } from './types.js'

/** A part of a message of the user: text, an image, or a file. */
export type OpenAiContent =
  | { type: 'input_text'; text: string }
  | { type: 'input_image'; image: string }
  | { type: 'input_file'; file: string | { url: string }; filename?: string }

/** An item of the conversation: an `AgentInputItem` of OpenAI Agents. */
export type OpenAiItem =
  | { type: 'message'; role: 'user'; content: OpenAiContent[] }
  | {
      type: 'message'
      role: 'assistant'
      status: 'completed'
      content: { type: 'output_text'; text: string }[]
    }
  | { type: 'function_call'; callId: string; name: string; status: 'completed'; arguments: string }
  | { type: 'function_call_result'; callId: string; name: string; status: 'completed'; output: string }

/** The framework's items. Files of the agent are left out: its models take none. */
export function toOpenAiItems(messages: readonly ModelMessageLike[]): OpenAiItem[] {
  return messages.flatMap((message): OpenAiItem[] => {
    if (message.role === 'user')
      return [{ type: 'message', role: 'user', content: message.content.map(toContent) }]
    if (message.role === 'tool') {
      return message.content.map(({ toolCallId: callId, toolName: name, output }) => ({
        ...{ type: 'function_call_result', callId, name, status: 'completed' },
        output: textOf(output),
      }))
    }
    return message.content.flatMap((part): OpenAiItem[] => {
      if (part.type === 'tool-call') {
        const { toolCallId: callId, toolName: name, input } = part
        return [
          { type: 'function_call', callId, name, status: 'completed', arguments: JSON.stringify(input) },
        ]
      }
      if (part.type !== 'text') return []
      const content = [{ type: 'output_text' as const, text: part.text }]
      return [{ type: 'message', role: 'assistant', status: 'completed', content }]
    })
  })
}

function toContent(part: ContentPart): OpenAiContent {
  if (part.type === 'text') return { type: 'input_text', text: part.text }
  const { data, mediaType, filename } = part
  const url = data instanceof URL ? data.href : `data:${mediaType};base64,${data}`
  if (mediaType.startsWith('image/')) return { type: 'input_image', image: url }
  return {
    type: 'input_file',
    file: data instanceof URL ? { url } : url,
    ...(filename !== undefined && { filename }),
  }
}

function textOf(output: ToolOutput): string {
  if (output.type === 'execution-denied') return 'Tool execution was not approved.'
  return typeof output.value === 'string' ? output.value : JSON.stringify(output.value)
}

/** The results of tools in the input of a model, as AI SDK's prompt has them. */
export function toolResultsIn(input: unknown): object[] {
  const items = Array.isArray(input) ? input.filter(isRecord) : []
  const content = items
    .filter(({ type }) => type === 'function_call_result')
    .map(({ callId, output }) => ({ toolCallId: callId, output: { type: 'json', value: plainOf(output) } }))
  return [{ role: 'tool', content }]
}

/** A text is an object in the framework's results. */
function plainOf(output: unknown): unknown {
  return isRecord(output) && output['type'] === 'text' ? output['text'] : output
}

/** The parts of an answer, as AI SDK's models give them. */
export function fromOpenAi(output: unknown): Parts {
  return Array.isArray(output) ? output.filter(isRecord).flatMap(partsOf) : []
}

function partsOf(item: Unread): Parts {
  const { id, type = 'message', content, callId, name } = item
  switch (type) {
    case 'message':
      return contentOf(content).flatMap(fromContent)
    case 'reasoning': {
      const texts = [...contentOf(content), ...contentOf(item['rawContent'])].map(({ text }) => text)
      return [{ type: 'reasoning', id, text: texts.join('\n') }]
    }
    case 'function_call':
      return [{ type: 'tool-call', toolCallId: callId, toolName: name, input: item['arguments'] }]
    case 'hosted_tool_call':
      return hostedCall(item)
    default:
      return []
  }
}

function contentOf(content: unknown): Unread[] {
  return Array.isArray(content) ? content.filter(isRecord) : []
}

function fromContent({ type, text, refusal, image, audio, format }: Unread): Parts {
  switch (type) {
    case 'output_text':
      return [{ type: 'text', text }]
    case 'refusal':
      return [{ type: 'text', text: refusal }]
    case 'image':
      return fileOf(image, 'image/png')
    case 'audio':
      return fileOf(audio, `audio/${typeof format === 'string' ? format : 'mpeg'}`)
    default:
      return []
  }
}

/** Of base64, or a URL with data. */
function fileOf(data: unknown, mediaType: string): Parts {
  if (typeof data !== 'string') return []
  const [, named = mediaType, base64 = data] = /^data:([^;,]+);base64,(.*)$/s.exec(data) ?? []
  return [{ type: 'file', mediaType: named, data: base64 }]
}

/** A call that the provider has made. An image that it has made is a file. */
function hostedCall({ id, name, arguments: input, output, status }: Unread): Parts {
  const call = { toolCallId: id, toolName: name }
  const isImage = name === 'image_generation_call'
  return [
    { type: 'tool-call', ...call, input: input ?? {} },
    { type: 'tool-result', ...call, result: isImage ? undefined : output, isError: status === 'failed' },
    ...(isImage ? fileOf(output, 'image/png') : []),
  ]
}

/** The usage, with the names of AI SDK's second version of models. */
export function usageOf(usage: unknown): object {
  if (!isRecord(usage)) return {}
  const { inputTokens, outputTokens, inputTokensDetails, outputTokensDetails } = usage
  return {
    ...{ inputTokens, outputTokens },
    cachedInputTokens: detailOf(inputTokensDetails, 'cached_tokens'),
    reasoningTokens: detailOf(outputTokensDetails, 'reasoning_tokens'),
  }
}

/** One record of details, or a list of them. */
function detailOf(details: unknown, key: string): number {
  const records: unknown[] = Array.isArray(details) ? details : [details]
  const amounts = records.map((record) => (isRecord(record) ? record[key] : 0))
  return amounts.reduce<number>((sum, amount) => sum + (typeof amount === 'number' ? amount : 0), 0)
}
