/**
 * The messages of LangChain: what its models get and give.
 *
 * @module
 */
import { isRecord, type Unread } from '../runtime/unread.js'
import type { Parts } from './model.js'
import type { ContentPart, ModelMessageLike, ToolOutput } from './types.js'

/** A part of the content of a message. */
export type LangChainBlock =
  | { type: 'text'; text: string }
  | {
      type: 'image' | 'audio' | 'video' | 'file'
      mimeType: string
      data?: string
      url?: string
      metadata?: { filename: string }
    }

/** A message of the conversation, as a graph's `messages` take it. */
export type LangChainMessage =
  | { role: 'user'; content: LangChainBlock[]; response_metadata: { output_version: 'v1' } }
  | {
      role: 'assistant'
      content: string
      tool_calls: { type: 'tool_call'; id: string; name: string; args: Record<string, unknown> }[]
    }
  | { role: 'tool'; tool_call_id: string; name: string; content: string; status: 'success' | 'error' }

/** Messages of LangChain. Files of the agent are left out: its models take none. */
export function toLangChainMessages(messages: readonly ModelMessageLike[]): LangChainMessage[] {
  return messages.flatMap((message): LangChainMessage[] => {
    switch (message.role) {
      case 'user':
        // Its models read the blocks of LangChain 1 only in messages that say so, and pass on others as they are.
        return [
          {
            ...{ role: 'user', content: message.content.map(toBlock) },
            response_metadata: { output_version: 'v1' },
          },
        ]
      case 'assistant': {
        const text = message.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')
        const calls = message.content.flatMap((part) => (part.type === 'tool-call' ? [part] : []))
        const tool_calls = calls.map(({ toolCallId: id, toolName: name, input }) => ({
          ...{ type: 'tool_call' as const, id, name, args: isRecord(input) ? { ...input } : { input } },
        }))
        return [{ role: 'assistant', content: text, tool_calls }]
      }
      case 'tool':
        return message.content.map(({ toolCallId, toolName, output }) => ({
          ...{ role: 'tool', tool_call_id: toolCallId, name: toolName, content: textOf(output) },
          status: output.type === 'error-text' || output.type === 'execution-denied' ? 'error' : 'success',
        }))
    }
  })
}

function toBlock(part: ContentPart): LangChainBlock {
  if (part.type === 'text') return { type: 'text', text: part.text }
  const { data, mediaType, filename } = part
  const type = (['image', 'audio', 'video'] as const).find((kind) => mediaType.startsWith(kind)) ?? 'file'
  return {
    ...{ type, mimeType: mediaType, ...(data instanceof URL ? { url: data.href } : { data }) },
    ...(filename !== undefined && { metadata: { filename } }),
  }
}

function textOf(output: ToolOutput): string {
  if (output.type === 'execution-denied') return 'The user has rejected it'
  return typeof output.value === 'string' ? output.value : JSON.stringify(output.value)
}

/** The results of tools in the messages for a model, as AI SDK's prompt has them. */
export function toolResultsIn(messages: readonly object[]): object[] {
  const content = messages
    .map((message) => message as Unread)
    .filter(({ tool_call_id }) => tool_call_id !== undefined)
    .map(({ tool_call_id, content, status }) => ({
      toolCallId: tool_call_id,
      output: { type: status === 'error' ? 'error-text' : 'json', value: content },
    }))
  return [{ role: 'tool', content }]
}

/** The parts of a message of the model, or of a piece of it, as AI SDK's models give them. Without calls of tools. */
export function contentOf({ content }: Unread): Parts {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return Array.isArray(content) ? content.filter(isRecord).flatMap(fromBlock) : []
}

function fromBlock(block: Unread): Parts {
  const { type, text, reasoning, thinking, image_url: image } = block
  switch (type) {
    case 'text':
    case 'text_delta':
      return [{ type: 'text', text }]
    case 'reasoning':
    case 'thinking':
      return [{ type: 'reasoning', text: reasoning ?? thinking }]
    case 'image_url':
      return fileOf({ url: isRecord(image) ? image['url'] : image, mimeType: 'image/png' })
    case 'image':
    case 'audio':
    case 'video':
    case 'file':
      return fileOf(block)
    default:
      return []
  }
}

/** Of base64, of bytes, or of a URL, which may be one with data. */
function fileOf({ type, mimeType, mime_type = mimeType, data, url }: Unread): Parts {
  const mediaType = typeof mime_type === 'string' ? mime_type : `${String(type)}/*`
  if (data !== undefined) return [{ type: 'file', mediaType, data }]
  if (typeof url !== 'string') return []
  const [, named, base64] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? []
  return named === undefined
    ? [{ type: 'file', mediaType, data: { type: 'url', url } }]
    : [{ type: 'file', mediaType: named, data: base64 }]
}

/** The calls of tools that a message of the model asks for. */
export function callsOf({ tool_calls: calls }: Unread): Parts {
  const given = Array.isArray(calls) ? calls.filter(isRecord) : []
  return given.map(({ id, name, args }) => ({
    ...{ type: 'tool-call', toolCallId: id, toolName: name, input: args },
  }))
}

/** The end of a message of the model: its usage and its reason, with the names of AI SDK's second version of models. */
export function endOf({ usage_metadata: usage, response_metadata: response }: Unread): Unread {
  const { input_tokens, output_tokens, input_token_details, output_token_details }: Unread = isRecord(usage)
    ? usage
    : {}
  const { finish_reason, stop_reason, finishReason }: Unread = isRecord(response) ? response : {}
  return {
    usage: {
      ...{ inputTokens: input_tokens, outputTokens: output_tokens },
      cachedInputTokens: isRecord(input_token_details) ? input_token_details['cache_read'] : undefined,
      reasoningTokens: isRecord(output_token_details) ? output_token_details['reasoning'] : undefined,
    },
    finishReason: reasonOf(finish_reason ?? stop_reason ?? finishReason),
  }
}

/** The words of providers. */
const STOPS = ['stop', 'end_turn', 'stop_sequence', 'tool_calls', 'tool_use', 'function_call']
const LENGTHS = ['length', 'max_tokens']

function reasonOf(reason: unknown): string {
  if (typeof reason !== 'string') return 'stop'
  const word = reason.toLowerCase()
  if (STOPS.includes(word)) return 'stop'
  return LENGTHS.includes(word) ? 'length' : word.replace('_', '-')
}
