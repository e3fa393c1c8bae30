/**
 * What an agent on Agent Engine tells in one turn, as updates: events of the Agent Development Kit, or any JSON.
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
/** The kit writes snake case; what Google's own JSON makes of it is camel case. */
const EventSchema = object({
  content: optional(object({ parts: optional(list(JsonObjectSchema)) })),
  author: optional(string),
  partial: optional(boolean),
  error_code: optional(string),
  errorCode: optional(string),
  long_running_tool_ids: optional(strings),
  longRunningToolIds: optional(strings),
})

/** By this call the kit asks the user to sign in somewhere. */
const SIGN_IN = 'adk_request_credential'
const RETRYABLE_STATUSES = [408, 425, 429, 500, 502, 503, 504]
const TRANSIENT_CODES = ['RESOURCE_EXHAUSTED', 'UNAVAILABLE', 'DEADLINE_EXCEEDED', 'INTERNAL']

export class TurnReader {
  readonly #service: Service
  readonly #artifactId: string
  readonly #retained: RetainedSize
  /** Agents whose texts have been told while they were written: their next event says the same once more. */
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

  /** @throws {A2AError} `PROVIDER_ERROR` when it is an error of the service. */
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

  /** The stream is over. @throws {A2AError} `PROVIDER_ERROR` when nothing was said: so do agents that have failed. */
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

  /** Once a stream has begun, the status is no longer there to say it. */
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

/** The text of a part; what the agent only thinks is not said. */
function textOf({ text, thought }: JsonObject): string {
  return typeof text === 'string' && thought !== true ? text : ''
}

/** As the kit's own A2A server says it: what runs long waits for somebody. */
function toQuestion(calls: readonly JsonObject[]): TaskUpdate {
  const names = calls.map((part) => {
    // They have been read before.
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

/** What comes of a query: a text, which some frameworks have in an object, or data. */
export function toPart(output: JsonValue): PartInput {
  if (typeof output === 'string') return { text: output }
  const isObject = typeof output === 'object' && output !== null && !Array.isArray(output)
  const text = isObject ? output['output'] : undefined
  return typeof text === 'string' ? { text } : { data: output }
}
