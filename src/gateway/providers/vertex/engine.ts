/**
 * Queries to Vertex AI Agent Engine.
 *
 * @module
 */
import type { DeepReadonly, Part } from '../../../core/task.js'
import type { JsonObject, JsonValue } from '../../../core/json-types.js'
import { JsonValueSchema } from '../../../schemas/json.js'
import { nonEmptyString, object } from '../../../schemas/scalars.js'
import { tryRead, type SchemaOf } from '../../../schemas/schema.js'
import type { ProviderCall, ProviderTask, TaskUpdate } from '../../provider.js'
import type { Service } from '../shared/service.js'
import { MAX_RETAINED, parseAnswer } from '../shared/answers.js'
import { fold } from '../shared/fold.js'
import { JsonDocuments } from './documents.js'
import { toPart, TurnReader } from './turn.js'

export interface EngineSettings {
  readonly protocol: 'adk' | 'query'
  readonly classMethod?: string
  readonly userId?: string
}

const OutputSchema = object({ output: JsonValueSchema })
const SessionSchema = object({ output: object({ id: nonEmptyString }) })
const RefSchema = object({ sessionId: nonEmptyString })

export class VertexEngine {
  readonly #service: Service
  /** Path of the engine. */
  readonly #path: string
  readonly #settings: EngineSettings

  constructor(service: Service, path: string, settings: EngineSettings) {
    this.#service = service
    this.#path = path
    this.#settings = settings
  }

  async send(task: ProviderTask, call: ProviderCall): Promise<TaskUpdate> {
    // ADK agents have only streams.
    if (this.#settings.protocol === 'adk') return await fold(this.stream(task, call))
    const { classMethod = 'query' } = this.#settings
    const output = await this.#query(OutputSchema, classMethod, { input: task.text }, call)
    return {
      state: 'completed',
      artifacts: [{ artifactId: artifactIdOf(task), parts: [toPart(output.output)] }],
    }
  }

  async *stream(task: ProviderTask, call: ProviderCall): AsyncGenerator<TaskUpdate, undefined> {
    const isAdk = this.#settings.protocol === 'adk'
    const sessionId = isAdk ? await this.#sessionOf(task, call) : undefined
    // An empty `ref` shows the gateway that no other will follow.
    yield { ref: sessionId === undefined ? {} : { sessionId }, state: 'working' }
    const input = isAdk
      ? {
          message: toContent(task),
          user_id: this.#userOf(task),
          ...(sessionId !== undefined && { session_id: sessionId }),
        }
      : { input: task.text }
    const { classMethod = isAdk ? 'async_stream_query' : 'stream_query' } = this.#settings
    const turn = new TurnReader(this.#service, artifactIdOf(task))
    for await (const json of this.#events({ class_method: classMethod, input }, call)) {
      const update = turn.read(json)
      if (update !== undefined) yield update
    }
    yield turn.end()
  }

  async *#events(body: JsonObject, call: ProviderCall): AsyncGenerator<JsonValue, undefined> {
    const documents = new JsonDocuments()
    const request = { method: 'POST', path: `${this.#path}:streamQuery?alt=sse`, body } as const
    for await (const text of this.#service.texts(request, call)) {
      for (const document of documents.add(text)) yield this.#service.parse(document)
      if (documents.size > MAX_RETAINED) throw this.#service.error('an event of its stream is too long')
    }
    // The stream ended within an event.
    if (documents.size > 0) throw this.#service.error('its stream breaks off', { retryable: true })
  }

  /**
   * Returns the session of the conversation, in which the agent keeps its memory. A new conversation gets a new
   * session.
   */
  async #sessionOf(task: ProviderTask, call: ProviderCall): Promise<string> {
    const known = tryRead(RefSchema, task.ref ?? task.previous)
    if (known !== undefined) return known.sessionId
    const input = { user_id: this.#userOf(task) }
    return (await this.#query(SessionSchema, 'async_create_session', input, call)).output.id
  }

  /** Returns the user id for the agent's memory, which no other conversation or owner may share. */
  #userOf({ contextId, owner }: ProviderTask): string {
    // Only ids with an owner contain a slash.
    const context = encodeURIComponent(contextId)
    const own = owner === undefined ? context : `${encodeURIComponent(owner)}/${context}`
    return this.#settings.userId ?? own
  }

  async #query<T>(schema: SchemaOf<T>, method: string, input: JsonObject, call: ProviderCall): Promise<T> {
    const body = { class_method: method, input }
    const answer = await this.#service.send({ method: 'POST', path: `${this.#path}:query`, body }, call)
    return parseAnswer(this.#service, schema, answer.json())
  }
}

/** One artifact per message. */
function artifactIdOf({ message }: ProviderTask): string {
  return `answer-${message.messageId}`
}

/** Builds the message for an ADK agent: a text, or content in Gemini's form. */
function toContent({ message, text }: ProviderTask): JsonValue {
  if (message.parts.every((part) => part.text !== undefined)) return text
  return { role: 'user', parts: message.parts.map(toContentPart) }
}

/** Data in the form of a `function_response` is passed on as that part. */
function toContentPart({ text, raw, url, data, mediaType }: DeepReadonly<Part>): JsonObject {
  const type = mediaType ?? 'application/octet-stream'
  if (text !== undefined) return { text }
  if (raw !== undefined) return { inline_data: { mime_type: type, data: raw } }
  if (url !== undefined) return { file_data: { mime_type: type, file_uri: url } }
  const isAnswer = typeof data === 'object' && data !== null && 'function_response' in data
  // The data is only read and serialized.
  return isAnswer ? (data as JsonObject) : { text: JSON.stringify(data) }
}
