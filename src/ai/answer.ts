/**
 * The answer of a model as clients see it: written to the run within the step of the call, while the answer comes.
 *
 * @module
 */
import { isRecord, type Unread } from '../runtime/unread.js'
import { toBase64Url } from '../runtime/base64url.js'
import { toStandardBase64 } from '../runtime/base64.js'
import { toolCallMetadata, type ToolCall } from '../wire/tool-calls.js'
import { endedCalls, inputField, keepCall, outputField, showCall, type Turn } from './turn.js'

/** Receives the parts of one answer, in their order. */
export interface AnswerWriter {
  readonly write: (part: Unread) => void
  /** Call it after the last part. */
  readonly end: () => void
}

type FilePart = { readonly mediaType: string } & ({ readonly raw: string } | { readonly url: string })

/** The most sources of a turn that clients see. */
const MAX_SOURCES = 100

export function writeAnswer(turn: Turn, artifactId: string): AnswerWriter {
  const { run, shows } = turn
  const ended = endedCalls(turn)
  const reasoning = new Map<unknown, string>()
  const sources: object[] = []
  let ending: string | undefined
  let hasWritten = false

  const append = (part: { readonly text: string } | FilePart): void => {
    const isFirst = !hasWritten
    hasWritten = true
    // The answer after a call of a tool does not continue the sentence before it.
    const continues = isFirst && 'text' in part && turn.written.has(artifactId)
    run.artifact({
      artifactId,
      parts: [continues ? { text: `\n\n${part.text}` } : part],
      ...(isFirst && ended.length > 0 && { metadata: toolCallMetadata(ended) }),
    })
  }

  const write = (part: Unread): void => {
    switch (part['type']) {
      case 'text':
      case 'text-delta': {
        const text = textIn(part)
        if (text !== '') append({ text })
        return
      }
      case 'reasoning':
      case 'reasoning-delta':
        reasoning.set(part['id'], (reasoning.get(part['id']) ?? '') + textIn(part))
        return
      case 'file': {
        const file = fileOf(part)
        if (file !== undefined) append(file)
        return
      }
      case 'source':
        sources.push(sourceOf(part))
        return
      case 'finish':
        ending = finishReasonOf(part)
        return
      default:
        for (const call of callsOf(part)) showCall(turn, call)
    }
  }

  const end = (): void => {
    if (shows.reasoning) {
      for (const text of reasoning.values()) {
        if (text !== '') run.update({ message: { parts: [{ text }], metadata: { reasoning: true } } })
      }
    }
    const metadata = {
      // They replace those of the answers before.
      ...(sources.length > 0 && { sources: [...turn.sources, ...sources].slice(0, MAX_SOURCES) }),
      ...(ending !== undefined && ending !== 'stop' && ending !== 'tool-calls' && { finishReason: ending }),
    }
    if (Object.keys(metadata).length > 0) run.artifact({ artifactId, ...appendixOf(metadata) })
  }

  return { write, end }
}

/** Brings the turn to where it is after an answer: also in a replay, which does not write it. */
export function rememberAnswer(turn: Turn, artifactId: string | undefined, parts: readonly Unread[]): void {
  if (artifactId !== undefined) {
    if (parts.some(isVisible)) {
      turn.written.add(artifactId)
      turn.isBehind = false
    }
    turn.sources.push(...parts.filter(({ type }) => type === 'source').map(sourceOf))
  }
  for (const call of parts.flatMap(callsOf)) {
    if (call.state !== 'called' && call.state !== 'progress') keepCall(turn, call)
    else if (call.state === 'called' && artifactId !== undefined) turn.calls.push(call)
  }
}

/** Metadata for an artifact that gets no further text. */
function appendixOf(metadata: object): {
  readonly parts: [{ readonly text: '' }]
  readonly metadata: object
} {
  return { parts: [{ text: '' }], metadata }
}

/** Why the model has stopped: texts in AI SDK's second version of models, objects since then. */
export function finishReasonOf({ finishReason }: Unread): string | undefined {
  const reason = isRecord(finishReason) ? finishReason['unified'] : finishReason
  return typeof reason === 'string' ? reason : undefined
}

function isVisible(part: Unread): boolean {
  const { type } = part
  return type === 'file'
    ? fileOf(part) !== undefined
    : (type === 'text' || type === 'text-delta') && textIn(part) !== ''
}

function textIn({ text, delta }: Unread): string {
  if (typeof delta === 'string') return delta
  return typeof text === 'string' ? text : ''
}

/** `undefined` for another part, and for a file that is neither bytes nor a URL. */
function fileOf({ type, mediaType, data }: Unread): FilePart | undefined {
  if (type !== 'file' || typeof mediaType !== 'string') return undefined
  const content = isRecord(data) && 'type' in data ? (data['data'] ?? data['url']) : data
  if (content instanceof URL) return { url: content.href, mediaType }
  if (content instanceof Uint8Array) return { raw: toStandardBase64(toBase64Url(content)), mediaType }
  if (typeof content !== 'string') return undefined
  return isRecord(data) && data['type'] === 'url' ? { url: content, mediaType } : { raw: content, mediaType }
}

function sourceOf({ id, url, title, filename, mediaType }: Unread): object {
  return Object.fromEntries(
    Object.entries({ id, url, title, filename, mediaType }).filter(([, value]) => typeof value === 'string'),
  )
}

/** The call that a part is about. Results in an answer are those of tools that the provider runs. */
function callsOf(part: Unread): ToolCall[] {
  const { type, toolCallId, toolName } = part
  if (typeof toolCallId !== 'string' || typeof toolName !== 'string') return []
  const call = { id: toolCallId, name: toolName }
  if (type === 'tool-call') return [{ ...call, state: 'called', ...inputField(inputOf(part)) }]
  if (type !== 'tool-result') return []
  const { result, isError, preliminary } = part
  if (isError === true) return [{ ...call, state: 'failed', error: 'The tool of the provider failed' }]
  return [{ ...call, state: preliminary === true ? 'progress' : 'done', ...outputField(result) }]
}

/** Models write inputs as JSON texts, which may be wrong. */
function inputOf({ input }: Unread): unknown {
  if (typeof input !== 'string') return input
  try {
    return JSON.parse(input)
  } catch {
    return input
  }
}
