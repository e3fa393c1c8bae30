/**
 * Responses of agents in AgentCore Runtime, which passes through a different format for each framework.
 *
 * @module
 */
import { fieldsOf, parseJson } from '../../../http/json.js'
import type { ServerSentEvent } from '../../../http/sse-reader.js'
import type { PartInput } from '../../../core/params.js'
import type { JsonValue } from '../../../core/json-types.js'
import type { Unread } from '../../../runtime/unread.js'
import type { TaskUpdate } from '../../provider.js'
import type { Service } from '../shared/service.js'
import { codeOf, RetainedSize } from '../shared/answers.js'

const MAX_DEPTH = 100
const ARTIFACT = 'answer'

/** Keys under which agents return their answer by convention. The first one present is used. */
const ANSWER_KEYS = ['result', 'response', 'output', 'message', 'content', 'text']

/**
 * Translates a response into updates. In a stream, pieces of text become chunks, and its end completes the task; a
 * stream without pieces returns its final message, or else all its events as data. A complete response returns the text
 * in it, or else its JSON as data.
 *
 * @throws {A2AError} `PROVIDER_ERROR` when the events to retain exceed the size limit.
 */
export async function* answerUpdates(
  service: Service,
  pieces: AsyncIterable<ServerSentEvent | string>,
): AsyncGenerator<TaskUpdate, undefined> {
  const stream = new AnswerStream(service)
  for await (const piece of pieces) {
    const update = typeof piece === 'string' ? wholeUpdate(piece) : stream.read(piece)
    if (update === undefined) continue
    yield update
    if (update.state !== undefined) return
  }
  yield stream.end()
}

function wholeUpdate(body: string): TaskUpdate {
  if (body === '') return { state: 'completed' }
  const json = jsonOf(body)
  // Some containers send plain text whatever their content type.
  if (json === undefined) return completed({ text: body })
  const text = textIn(json)
  return { ...completed(text === undefined ? { data: json } : { text }), output: json }
}

function completed(...parts: PartInput[]): TaskUpdate {
  return { artifacts: [{ artifactId: ARTIFACT, parts }], state: 'completed' }
}

class AnswerStream {
  #hasText = false
  #isStrands = false
  #message: string | undefined
  #unread: JsonValue[] = []
  readonly #retained: RetainedSize

  constructor(service: Service) {
    this.#retained = new RetainedSize(service)
  }

  /** Returns the update of an event: more text, or a failure. */
  read({ data }: ServerSentEvent): TaskUpdate | undefined {
    const json = jsonOf(data)
    const fields = Array.isArray(json) ? {} : fieldsOf(json)
    if (fields['error'] !== undefined) return failed(fields)
    this.#isStrands ||= fields['event'] !== undefined
    const text = data === '[DONE]' ? '' : addedText(json, fields, data, this.#isStrands)
    if (text === undefined) this.#retain(json, fields, data)
    if (text === undefined || text === '') return undefined
    this.#hasText = true
    this.#unread = []
    return { chunk: { artifactId: ARTIFACT, parts: [{ text }] } }
  }

  end(): TaskUpdate {
    if (this.#hasText) return { state: 'completed' }
    if (this.#message !== undefined) return completed({ text: this.#message })
    if (this.#unread.length === 0) return { state: 'completed' }
    return completed(...this.#unread.map((data) => ({ data })))
  }

  /** Once there is text, no other event is needed. */
  #retain(json: JsonValue | undefined, { message }: Unread, data: string): void {
    if (this.#hasText || json === undefined) return
    this.#retained.add(data)
    this.#unread.push(json)
    // Results of tools are reported as messages of the user.
    if (fieldsOf(message)['role'] !== 'user') this.#message = textIn(json) ?? this.#message
  }
}

/** Returns the text that an event adds: `undefined` for events that are not text, empty for events to ignore. */
function addedText(
  json: JsonValue | undefined,
  fields: Unread,
  data: string,
  isStrands: boolean,
): string | undefined {
  // Events that Python cannot encode as JSON are sent as a string with their Python representation.
  if (typeof json === 'string') return isStrands || json.startsWith("{'") ? '' : json
  if (json === undefined || typeof json !== 'object' || json === null) return isStrands ? '' : data
  const { delta } = fieldsOf(fieldsOf(fields['event'])['contentBlockDelta'])
  const { text = fields['text'] } = fieldsOf(delta)
  if (typeof text === 'string') return text
  // Strands sends every piece twice.
  return !isStrands && typeof fields['data'] === 'string' ? fields['data'] : undefined
}

/** The container's report of an agent that threw. Its text is not for clients. */
function failed({ error_type: type }: Unread): TaskUpdate {
  return { state: 'failed', message: 'The agent failed', failure: { code: codeOf(type), retryable: false } }
}

/** Returns a text, the joined texts of blocks, or the text under a conventional key. */
function textIn(value: JsonValue): string | undefined {
  if (typeof value === 'string') return value
  if (Array.isArray(value)) {
    const texts = value.map((block) => (typeof block === 'string' ? block : fieldsOf(block)['text']))
    const isText = texts.length > 0 && texts.every((text) => typeof text === 'string')
    return isText ? texts.join('') : undefined
  }
  if (typeof value !== 'object' || value === null) return undefined
  const key = ANSWER_KEYS.find((name) => Object.hasOwn(value, name))
  const inner = key === undefined ? undefined : value[key]
  return inner === undefined ? undefined : textIn(inner)
}

function jsonOf(text: string): JsonValue | undefined {
  try {
    // JSON.parse returns only JSON values.
    return parseJson(text, MAX_DEPTH) as JsonValue
  } catch {
    return undefined
  }
}
