/**
 * The message to an agent in the prompt of a model.
 *
 * @module
 */
import type { MessageContent } from '../../client/message.js'
import type { Part } from '../../core/task.js'
import { toBase64Url } from '../../runtime/base64url.js'
import { toStandardBase64 } from '../../runtime/base64.js'
import { isRecord, type Unread } from '../../runtime/unread.js'
import type { AgentModelRequest, AgentModelWarning } from './model-types.js'

/** The key of what an agent's parts of an answer have in the metadata of their provider. */
export const PROVIDER = 'a2a'

/** What is sent for a prompt. */
export interface AgentPrompt {
  readonly message: MessageContent
  /** What the task had spent before the message, by units. */
  readonly spent: Unread
  readonly warnings: AgentModelWarning[]
}

/** Options of a call that say nothing to an agent. */
const SILENT = ['prompt', 'abortSignal', 'headers', 'providerOptions', 'includeRawChunks', 'reasoning']

/**
 * The messages of the user since the last answer, in the conversation of this answer.
 *
 * @throws {Error} for a prompt that ends with an answer, and for a file that an agent cannot get.
 */
export function readPrompt(request: AgentModelRequest, contextId: string | undefined): AgentPrompt {
  const { prompt } = request
  const answered = prompt.findLastIndex(({ role }) => role !== 'user')
  const parts = prompt.slice(answered + 1).flatMap(({ content }) => recordsOf(content).flatMap(toPart))
  if (parts.length === 0) throw new Error('The prompt must end with a message of the user')
  const known = prompt.flatMap(({ role, content }) => (role === 'assistant' ? recordsOf(content) : []))
  const place = known.map(placeOf).findLast((each) => each !== undefined) ?? {}
  const { taskId, contextId: own = contextId, spent } = place
  return {
    message: {
      parts,
      ...(typeof own === 'string' && { contextId: own }),
      ...(typeof taskId === 'string' && { taskId }),
    },
    spent: isRecord(spent) ? spent : {},
    warnings: warningsOf(request, known.length > 0 && typeof own !== 'string'),
  }
}

function placeOf({ providerOptions }: Unread): Unread | undefined {
  const place = isRecord(providerOptions) ? providerOptions[PROVIDER] : undefined
  return isRecord(place) ? place : undefined
}

function toPart({ type, text, data, mediaType, filename }: Unread): Part[] {
  if (type === 'text' && typeof text === 'string') return [{ text }]
  if (type !== 'file' || !isRecord(data)) return []
  const about = {
    ...(typeof mediaType === 'string' && mediaType.includes('/') && { mediaType }),
    ...(typeof filename === 'string' && { filename }),
  }
  if (data['type'] === 'text' && typeof data['text'] === 'string') return [{ text: data['text'], ...about }]
  if (data['type'] === 'url') return [{ url: String(data['url']), ...about }]
  const bytes = data['data']
  if (typeof bytes === 'string') return [{ raw: bytes, ...about }]
  if (bytes instanceof Uint8Array) return [{ raw: toStandardBase64(toBase64Url(bytes)), ...about }]
  throw new Error('A file for an agent must be bytes, a text or a URL')
}

function warningsOf(request: AgentModelRequest, isOfOthers: boolean): AgentModelWarning[] {
  const features = Object.entries(request)
    .filter(([name, value]) => !SILENT.includes(name) && isSet(value))
    .map(([name]) => name)
  const warnings = features.map((feature): AgentModelWarning => ({ type: 'unsupported', feature }))
  if (request.prompt.some(({ role }) => role === 'system')) {
    warnings.push({
      ...{ type: 'unsupported', feature: 'system messages' },
      details: 'The agent has instructions of its own',
    })
  }
  if (isOfOthers) {
    warnings.push({
      ...{ type: 'unsupported', feature: 'messages of other models' },
      details: 'The agent gets the messages of the user since the last answer',
    })
  }
  return warnings
}

/** AI SDK passes `toolChoice` and `responseFormat` always. */
function isSet(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0
  return value !== undefined && !(isRecord(value) && (value['type'] === 'auto' || value['type'] === 'text'))
}

function recordsOf(content: unknown): readonly Unread[] {
  return Array.isArray(content) ? content.filter(isRecord) : []
}
