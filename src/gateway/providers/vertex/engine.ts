/**
 * The queries of Vertex AI Agent Engine.
 *
 * @module
 */
import type * as z from 'zod/mini'
import type { DeepReadonly, Part } from '../../../core/task.js'
import type { JsonObject, JsonValue } from '../../../core/json-types.js'
import { JsonValueSchema } from '../../../schemas/json.js'
import { nonEmptyString, object } from '../../../schemas/scalars.js'
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
  /** The path of the engine. */
  readonly #path: string
  readonly #settings: EngineSettings

  constructor(service: Service, path: string, settings: EngineSettings) {
    this.#service = service
    this.#path = path
    this.#settings = settings
  }

  async send(task: ProviderTask, call: ProviderCall): Promise<TaskUpdate> {
    // Agents of the kit have streams only.
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
    // Where nothing can be asked for later, the gateway still learns that nothing is on its way.
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
    // A stream that breaks off in an event has not come to its end.
    if (documents.size > 0) throw this.#service.error('its stream breaks off', { retryable: true })
  }

  /** The session of the conversation, which the agent remembers by it; a new one for a new conversation. */
  async #sessionOf(task: ProviderTask, call: ProviderCall): Promise<string> {
    const known = RefSchema.safeParse(task.ref ?? task.previous).data
    if (known !== undefined) return known.sessionId
    const input = { user_id: this.#userOf(task) }
    return (await this.#query(SessionSchema, 'async_create_session', input, call)).output.id
  }

  /** What agents remember of a user, neither another conversation nor another owner is to learn. */
  #userOf({ contextId, owner }: ProviderTask): string {
    // Only what has an owner has a slash.
    const context = encodeURIComponent(contextId)
    const own = owner === undefined ? context : `${encodeURIComponent(owner)}/${context}`
    return this.#settings.userId ?? own
  }

  async #query<T>(
    schema: z.ZodMiniType<T>,
    method: string,
    input: JsonObject,
    call: ProviderCall,
  ): Promise<T> {
    const body = { class_method: method, input }
    const answer = await this.#service.send({ method: 'POST', path: `${this.#path}:query`, body }, call)
    return parseAnswer(this.#service, schema, answer.json())
  }
}

/** One answer to each message. */
function artifactIdOf({ message }: ProviderTask): string {
  return `answer-${message.messageId}`
}

/** What the user says, as the kit takes it: a text, or the content of a message to Gemini. */
function toContent({ message, text }: ProviderTask): JsonValue {
  if (message.parts.every((part) => part.text !== undefined)) return text
  return { role: 'user', parts: message.parts.map(toContentPart) }
}

/** Data that is a part already, such as the `function_response` that the agent waits for, is one. */
function toContentPart({ text, raw, url, data, mediaType }: DeepReadonly<Part>): JsonObject {
  const type = mediaType ?? 'application/octet-stream'
  if (text !== undefined) return { text }
  if (raw !== undefined) return { inline_data: { mime_type: type, data: raw } }
  if (url !== undefined) return { file_data: { mime_type: type, file_uri: url } }
  const isAnswer = typeof data === 'object' && data !== null && 'function_response' in data
  // It is only read, and written as JSON.
  return isAnswer ? (data as JsonObject) : { text: JSON.stringify(data) }
}
