/**
 * The result of a remote agent as that of a tool.
 *
 * @module
 */
import type { ReadonlyJson } from '../../core/json-types.js'
import { firstChars } from '../../runtime/cut.js'
import { isRecord, type Unread } from '../../runtime/unread.js'

/** A file of an agent: its bytes in base64, or where it is. */
export type AgentFile = { readonly mediaType: string; readonly filename?: string } & (
  { readonly data: string; readonly url?: never } | { readonly url: string; readonly data?: never }
)

/** What an agent returns. Plain JSON. */
export interface AgentOutput {
  /**
   * - `working`: preliminary, `text` is what the agent has said last.
   * - `completed`: the result, or a reply without a task.
   * - `input-required`: the agent asks, and `text` is the question.
   * - `auth-required`: the agent waits until the user has authorized it outside of the conversation.
   */
  readonly state: 'working' | 'completed' | 'input-required' | 'auth-required'
  readonly text: string
  /** The data of the result or of the question. Absent for none. */
  readonly data?: readonly ReadonlyJson[]
  /** The files of the result or of the question. Absent for none. */
  readonly files?: readonly AgentFile[]
  /** The agent's task that waits. Absent in other states. */
  readonly taskId?: string
  /** How many parts were left out or cut, since they exceed `maxBytes`. Absent for none. */
  readonly omitted?: number
}

/** What is read of the result of `client.run` and of `run.delegate`. */
export interface AgentResult {
  readonly ok: boolean
  readonly type: string
  readonly text: string
  readonly task?: unknown
  readonly message?: unknown
}

/** A file as a part of the content of a tool's result in AI SDK. */
interface FileContent {
  type: 'file'
  mediaType: string
  filename?: string
  data: { type: 'data'; data: string } | { type: 'url'; url: URL }
}

/** What a model sees of an output, in AI SDK's terms. */
export type AgentModelOutput =
  | { type: 'text'; value: string }
  | { type: 'content'; value: ({ type: 'text'; text: string } | FileContent)[] }

/** Why an agent has not done what a tool asked for. The model may read it. */
export class AgentFailure extends Error {}

/** The most characters of a reason. */
const MAX_REASON = 2_000
/** The most parts that are read. */
const MAX_PARTS = 1_000

/**
 * @param agent - The name of the agent, for errors.
 * @throws {AgentFailure} for a result that is neither a success nor a question.
 */
export function outputOf(agent: string, result: AgentResult, maxBytes: number): AgentOutput {
  const state = requireAnswer(agent, result)
  const { text } = result
  const task = isRecord(result.task) ? result.task : {}
  if (state === 'completed')
    return contentOf(state, text, [...artifactPartsOf(task), ...partsOf(result.message)], maxBytes)
  return { ...contentOf(state, text, partsOf(task['message']), maxBytes), taskId: String(task['id']) }
}

/**
 * The state of a task that has ended well, or waits.
 *
 * @throws {AgentFailure} with the reason, for any other result.
 */
export function requireAnswer(
  agent: string,
  { ok, type, text }: AgentResult,
): Exclude<AgentOutput['state'], 'working'> {
  if (ok) return 'completed'
  if (type === 'input-required' || type === 'auth-required') return type
  throw new AgentFailure(`${agent}: ${type}${text === '' ? '' : `: ${firstChars(text, MAX_REASON)}`}`)
}

/** The text for the model. Whatever is not only an answer is JSON, so that it sees the state and the data. */
export function textForModel({ files = [], ...output }: AgentOutput): string {
  const { state, text, data, omitted } = output
  const isAnswer = state === 'completed' && data === undefined && omitted === undefined
  const urls = files.flatMap((file) => (file.url === undefined ? [] : [file]))
  return isAnswer && urls.length === 0
    ? text
    : JSON.stringify({ ...output, ...(urls.length > 0 && { files: urls }) })
}

/** The files that a model may look at. */
export function filesForModel({ files = [] }: AgentOutput): (AgentFile & { readonly data: string })[] {
  return files.flatMap((file) => (file.data === undefined ? [] : [file]))
}

function artifactPartsOf({ artifacts }: Unread): Unread[] {
  return Array.isArray(artifacts) ? artifacts.flatMap(partsOf) : []
}

function partsOf(carrier: unknown): Unread[] {
  const parts = isRecord(carrier) ? carrier['parts'] : undefined
  return Array.isArray(parts) ? parts.filter(isRecord) : []
}

function contentOf(
  state: AgentOutput['state'],
  text: string,
  parts: readonly Unread[],
  maxBytes: number,
): AgentOutput {
  const shown = firstBytes(text, maxBytes)
  let left = maxBytes - shown.bytes
  let omitted = shown.text.length < text.length ? 1 : 0
  const data: ReadonlyJson[] = []
  const files: AgentFile[] = []
  for (const [index, part] of parts.entries()) {
    const file = fileOf(part)
    const value = file ?? part['data']
    if (value === undefined) continue
    const bytes = bytesOf(JSON.stringify(value))
    if (bytes > left || index >= MAX_PARTS) omitted += 1
    else {
      left -= bytes
      if (file === undefined) data.push(part['data'] as ReadonlyJson)
      else files.push(file)
    }
  }
  return {
    ...{ state, text: shown.text },
    ...(data.length > 0 && { data }),
    ...(files.length > 0 && { files }),
    ...(omitted > 0 && { omitted }),
  }
}

/** `undefined` for a text and for data. */
function fileOf({ raw, url, mediaType, filename }: Unread): AgentFile | undefined {
  const about = {
    mediaType: typeof mediaType === 'string' ? mediaType : 'application/octet-stream',
    ...(typeof filename === 'string' && { filename }),
  }
  if (typeof raw === 'string') return { ...about, data: raw }
  return typeof url === 'string' ? { ...about, url } : undefined
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length
}

/** As many whole characters from the beginning of a text as have so many bytes of UTF-8. */
function firstBytes(text: string, maxBytes: number): { readonly text: string; readonly bytes: number } {
  // A unit of UTF-16 has at most three bytes.
  const room = new Uint8Array(Math.min(maxBytes, text.length * 3))
  const { read, written } = new TextEncoder().encodeInto(text, room)
  return { text: text.slice(0, read), bytes: written }
}
