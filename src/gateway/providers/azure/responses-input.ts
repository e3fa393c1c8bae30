/**
 * Conversion of messages to input of the Responses API.
 *
 * @module
 */
import type { DeepReadonly, Message, Part } from '../../../core/task.js'
import type { JsonObject } from '../../../core/json-types.js'

/** Types of data parts that are input items themselves. */
const ANSWER_TYPES = [
  'function_call_output',
  'custom_tool_call_output',
  'computer_call_output',
  'local_shell_call_output',
  'shell_call_output',
  'apply_patch_call_output',
  'mcp_approval_response',
]

/** Returns the parts that answer the agent's pending calls. */
export function answersOf({ parts }: DeepReadonly<Message>): JsonObject[] {
  return parts.map(answerOf).filter((answer) => answer !== undefined)
}

/** Returns all other parts. */
export function contentOf({ parts }: DeepReadonly<Message>): JsonObject[] {
  return parts.filter((part) => answerOf(part) === undefined).map(toContent)
}

function answerOf({ data }: DeepReadonly<Part>): JsonObject | undefined {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return undefined
  // Arrays are excluded above. The item is only read and serialized.
  const item = data as JsonObject
  const { type } = item
  return typeof type === 'string' && ANSWER_TYPES.includes(type) ? item : undefined
}

function toContent({ text, raw, url, data, filename, mediaType }: DeepReadonly<Part>): JsonObject {
  if (text !== undefined) return { type: 'input_text', text }
  const link = url ?? (raw === undefined ? undefined : dataUrl(raw, mediaType))
  if (link === undefined) return { type: 'input_text', text: JSON.stringify(data) }
  if (mediaType?.startsWith('image/') === true) {
    return { type: 'input_image', image_url: link, detail: 'auto' }
  }
  if (url !== undefined) return { type: 'input_file', file_url: url }
  return { type: 'input_file', file_data: link, filename: filename ?? 'file' }
}

/** Returns a data URL for bytes in base64. */
export function dataUrl(raw: string, mediaType = 'application/octet-stream'): string {
  return `data:${mediaType};base64,${raw}`
}
