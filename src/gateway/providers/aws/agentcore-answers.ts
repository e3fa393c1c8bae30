/**
 * What the agents in AgentCore Runtime answer. The service passes it on as it is: each framework has a shape of its own.
 *
 * @module
 */
import { fieldsOf, parseJson, type Unread } from '../../../http/json.js'
import type { ServerSentEvent } from '../../../http/sse-reader.js'
import type { PartInput } from '../../../core/params.js'
import type { JsonValue } from '../../../core/json-types.js'
import type { TaskUpdate } from '../../provider.js'
import type { Service } from '../shared/service.js'
import { codeOf, RetainedSize } from '../shared/answers.js'

const MAX_DEPTH = 100
const ARTIFACT = 'answer'

/** Where agents put their answer, by custom: the first that is there counts. */
const ANSWER_KEYS = ['result', 'response', 'output', 'message', 'content', 'text']

/**
 * The updates of an answer. Of one that streams, the pieces of text as chunks, and its end as that of the task; where no
 * piece is told, the whole message at its end is the answer, and where there is none either, all events as data. Of one
 * that is whole, the text in it, or else its JSON as data.
 *
 * @throws {A2AError} `PROVIDER_ERROR` when there is no end of events that have to be kept.
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
  // Containers send a text as it is, whatever they call it.
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

  /** What an event tells: more text, or that the agent failed. */
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

  /** Once there is text, that is the answer. */
  #retain(json: JsonValue | undefined, { message }: Unread, data: string): void {
    if (this.#hasText || json === undefined) return
    this.#retained.add(data)
    this.#unread.push(json)
    // What tools answer is told as a message of the user's.
    if (fieldsOf(message)['role'] !== 'user') this.#message = textIn(json) ?? this.#message
  }
}

/** The text that an event adds: `undefined` where it is none of those that do, empty where it says nothing. */
function addedText(
  json: JsonValue | undefined,
  fields: Unread,
  data: string,
  isStrands: boolean,
): string | undefined {
  // Events that are no JSON to Python are sent as what Python prints of them, in a text.
  if (typeof json === 'string') return isStrands || json.startsWith("{'") ? '' : json
  if (json === undefined || typeof json !== 'object' || json === null) return isStrands ? '' : data
  const { delta } = fieldsOf(fieldsOf(fields['event'])['contentBlockDelta'])
  const { text = fields['text'] } = fieldsOf(delta)
  if (typeof text === 'string') return text
  // Strands tells every piece twice.
  return !isStrands && typeof fields['data'] === 'string' ? fields['data'] : undefined
}

/** As the container tells of an agent that threw. What it threw is no word for clients. */
function failed({ error_type: type }: Unread): TaskUpdate {
  return { state: 'failed', message: 'The agent failed', failure: { code: codeOf(type), retryable: false } }
}

/** A text, the texts of blocks, or the text of what stands where answers stand by custom. */
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
    // JSON.parse makes nothing else.
    return parseJson(text, MAX_DEPTH) as JsonValue
  } catch {
    return undefined
  }
}
