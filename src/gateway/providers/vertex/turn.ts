/**
 * Conversion of Agent Engine responses to updates: events of the Agent Development Kit, or any JSON.
 *
 * @module
 */
import type { PartInput } from '../../../core/params.js'
import type { JsonObject, JsonValue } from '../../../core/json-types.js'
import { JsonObjectSchema } from '../../../schemas/json.js'
import { boolean, list, object, optional, string, strings } from '../../../schemas/scalars.js'
import type { TaskUpdate } from '../../provider.js'
import type { Service } from '../shared/service.js'
import { codeOf, RetainedSize, parseAnswer } from '../shared/answers.js'

const CallSchema = object({ id: optional(string), name: optional(string) })
/** ADK uses snake case; Google's JSON encoding uses camel case. */
const EventSchema = object({
  content: optional(object({ parts: optional(list(JsonObjectSchema)) })),
  author: optional(string),
  partial: optional(boolean),
  error_code: optional(string),
  errorCode: optional(string),
  long_running_tool_ids: optional(strings),
  longRunningToolIds: optional(strings),
})

/** Name of the ADK call that requests a sign-in. */
const SIGN_IN = 'adk_request_credential'
const RETRYABLE_STATUSES = [408, 425, 429, 500, 502, 503, 504]
const TRANSIENT_CODES = ['RESOURCE_EXHAUSTED', 'UNAVAILABLE', 'DEADLINE_EXCEEDED', 'INTERNAL']

export class TurnReader {
  readonly #service: Service
  readonly #artifactId: string
  readonly #retained: RetainedSize
  /** Agents whose text was streamed. Their next event repeats the whole text. */
  readonly #streamedAuthors = new Set<string>()
  readonly #calls: JsonObject[] = []
  #hasText = false
  #errorCode: string | undefined
  #last: JsonValue | undefined

  constructor(service: Service, artifactId: string) {
    this.#service = service
    this.#artifactId = artifactId
    this.#retained = new RetainedSize(service)
  }

  /** @throws {A2AError} `PROVIDER_ERROR` for an error of the service. */
  read(json: JsonValue): TaskUpdate | undefined {
    this.#last = json
    if (typeof json === 'string') return this.#chunk(json)
    this.#throwIfError(json)
    const event = parseAnswer(this.#service, EventSchema, json)
    const parts = event.content?.parts ?? []
    this.#readCalls(parts, new Set(event.long_running_tool_ids ?? event.longRunningToolIds))
    const text = parts.map(textOf).join('')
    const code = event.error_code ?? event.errorCode
    if (code !== undefined || text !== '') this.#errorCode = code
    const { author = '', partial = false } = event
    if (partial) this.#markStreamed(author)
    else if (this.#streamedAuthors.delete(author)) return undefined
    return this.#chunk(text)
  }

  /**
   * Returns the final update.
   *
   * @throws {A2AError} `PROVIDER_ERROR` for an empty stream, which a failed agent sends.
   */
  end(): TaskUpdate {
    if (this.#last === undefined) throw this.#service.error('its stream is empty')
    if (this.#errorCode !== undefined) {
      const code = codeOf(this.#errorCode)
      const failure = { code, retryable: TRANSIENT_CODES.includes(code) }
      return { state: 'failed', message: `The agent failed: ${code}`, failure }
    }
    if (this.#calls.length > 0) return toQuestion(this.#calls)
    if (this.#hasText) return { state: 'completed' }
    return { state: 'completed', artifacts: [{ artifactId: this.#artifactId, parts: [toPart(this.#last)] }] }
  }

  #chunk(text: string): TaskUpdate | undefined {
    if (text === '') return undefined
    this.#hasText = true
    return { chunk: { artifactId: this.#artifactId, parts: [{ text }] } }
  }

  #readCalls(parts: readonly JsonObject[], waiting: ReadonlySet<string>): void {
    for (const part of parts) {
      const call = part['function_call'] ?? part['functionCall']
      const { id } = call === undefined ? {} : parseAnswer(this.#service, CallSchema, call)
      if (id === undefined || !waiting.has(id)) continue
      this.#retained.add(JSON.stringify(part))
      this.#calls.push(part)
    }
  }

  #markStreamed(author: string): void {
    if (!this.#streamedAuthors.has(author)) this.#retained.add(author)
    this.#streamedAuthors.add(author)
  }

  /** An error within a stream cannot be reported by the HTTP status. */
  #throwIfError(json: JsonValue): void {
    if (typeof json !== 'object' || json === null || Array.isArray(json) || 'content' in json) return
    const { error = json } = json
    const { code } = typeof error === 'object' && error !== null && !Array.isArray(error) ? error : {}
    if (error === json && (typeof code !== 'number' || typeof json['message'] !== 'string')) return
    const status =
      typeof code === 'number' ? { status: code, retryable: RETRYABLE_STATUSES.includes(code) } : {}
    throw this.#service.error('error', { said: JSON.stringify(error), ...status })
  }
}

/** Returns the text of a part. Thoughts of the model are not part of the answer. */
function textOf({ text, thought }: JsonObject): string {
  return typeof text === 'string' && thought !== true ? text : ''
}

/** Long-running calls wait for an answer, as in ADK's own A2A server. */
function toQuestion(calls: readonly JsonObject[]): TaskUpdate {
  const names = calls.map((part) => {
    // `#readCalls` has validated the call.
    const { name } = (part['function_call'] ?? part['functionCall']) as { readonly name?: string }
    return name ?? 'a tool'
  })
  const sentences = names.map((name) =>
    name === SIGN_IN ? 'The agent needs you to sign in' : `The agent waits for the result of ${name}`,
  )
  return {
    state: names.includes(SIGN_IN) ? 'auth-required' : 'input-required',
    message: { parts: [{ text: sentences.join('\n') }, ...calls.map((data) => ({ data }))] },
  }
}

/** Returns the result of a query: a text, which some frameworks wrap in an object, or data. */
export function toPart(output: JsonValue): PartInput {
  if (typeof output === 'string') return { text: output }
  const isObject = typeof output === 'object' && output !== null && !Array.isArray(output)
  const text = isObject ? output['output'] : undefined
  return typeof text === 'string' ? { text } : { data: output }
}
