/**
 * Requests to one interface of an agent: one binding of one version of A2A.
 *
 * @module
 */
import { A2AError, invalidAnswer, invalidParams } from '../../core/errors.js'
import type { JsonObject, JsonValue } from '../../core/json-types.js'
import type { AgentInterface } from '../../schemas/agent-card.js'
import { decodeError, textOfError } from '../../wire/client/errors.js'
import type { ClientCodec, ClientRequests, ClientResults, RemoteEvent } from '../../wire/client/dialect.js'
import type { Operation, Route } from '../../wire/dialect.js'
import { badStatus } from '../../http/errors.js'
import { open, readAnswer, request, type Answer, type CallLimits, type HttpCall } from '../../http/request.js'
import { retryAfterMs } from '../../http/retry.js'
import type { SelectedInterface } from './interfaces.js'
import { parseJson } from '../../http/json.js'
import type { CallOptions } from '../message.js'
import type { Settings } from '../options.js'
import { eventsOf } from '../../http/sse-reader.js'
import { shownUrl, trimSlashes } from '../../http/url.js'
import type { Clock } from '../../runtime/clock.js'
import { parseUrl } from '../../runtime/url.js'

export type Streaming = 'SendStreamingMessage' | 'SubscribeToTask'
export type Unary = Exclude<Operation, Streaming>

/** Options of streams. */
export interface StreamOptions extends CallOptions {
  /** Time without data, in ms, after which the stream fails. SSE comments count as data. Default is none. */
  readonly idleTimeoutMs?: number | undefined
  /** The `id` of the last event received. Agents that support it continue the stream after that event. */
  readonly lastEventId?: string | undefined
}

/** Options of a request: those of its call, with the time limit and what is left of it. */
export type Limited<O extends CallOptions> = Omit<O, 'timeoutMs'> & CallLimits

/** An event of a stream with its SSE `id`, after which agents of this library can resume the stream. */
export interface StreamItem {
  readonly event: RemoteEvent
  readonly id: string | undefined
  /** Size in characters. */
  readonly size: number
}

/** Media types of JSON in lines, which some agents send instead of events. */
const LINES = /^application\/(x-)?(ndjson|jsonl|jsonlines|json-seq|stream\+json)\b/i

/** One request, which its responses must belong to. */
interface Exchange {
  /** The id of the JSON-RPC request. */
  readonly id: number
  readonly operation: Operation
  /** The task that the request is about. */
  readonly taskId: string | undefined
}

/** Encodes requests, sends them, and decodes the responses of one interface. */
export class Transport {
  readonly selected: SelectedInterface
  readonly #settings: Settings
  /** The URL before the path of an operation, and the query after it. */
  readonly #base: readonly [base: string, query: string]
  #requests = 0

  constructor(selected: SelectedInterface, settings: Settings) {
    this.selected = selected
    this.#settings = settings
    this.#base = baseOf(selected.agentInterface.url)
  }

  /** The origin of the interface. */
  get origin(): string {
    const { url } = this.selected.agentInterface
    return parseUrl(url)?.origin ?? url
  }

  /** Returns whether the version has `operation` over this binding. */
  supports(operation: Operation): boolean {
    const { dialect, isRpc } = this.selected
    return (isRpc ? dialect.rpc : dialect.rest)[operation] !== undefined
  }

  /** Sends one request. @throws {A2AError} The agent's error, or that of the transport. */
  async call<O extends Unary>(
    operation: O,
    params: ClientRequests[O],
    options: () => Limited<CallOptions>,
  ): Promise<ClientResults[O]> {
    const codec = this.#codecOf(operation)
    const ask = async (body: JsonObject): Promise<ClientResults[O]> => {
      const exchange = this.#toExchange(operation, params)
      const given = options()
      const answer = await request(this.#settings, this.#toCall(exchange, body, given, false), given)
      return codec.decode(this.#resultOf(answer, exchange))
    }
    try {
      const result = await ask(codec.encode(params))
      if (operation === 'GetTask' || operation === 'CancelTask') requireSameTask(params, result)
      return result
    } catch (error) {
      const again = isInvalid(error) && codec.encodeAgain?.(params)
      if (!again) throw error
      // What the agent says of the first form comes first.
      return await ask(again).catch(() => {
        throw error
      })
    }
  }

  /** Yields the events of a stream. A single response instead of a stream becomes one event. */
  async *stream<O extends Streaming>(
    operation: O,
    params: ClientRequests[O],
    options: Limited<StreamOptions>,
  ): AsyncGenerator<StreamItem, undefined> {
    const codec = this.#codecOf(operation)
    const exchange = this.#toExchange(operation, params)
    const call = this.#toCall(exchange, codec.encode(params), options, true)
    const opened = await open(this.#settings, call, options)
    const { response, scope } = opened
    try {
      const contentType = response.headers.get('content-type') ?? ''
      const areLines = LINES.test(contentType)
      if (!response.ok || !(areLines || /^text\/event-stream\b/i.test(contentType))) {
        const answer = await readAnswer(this.#settings, opened)
        const event = codec.decode(this.#resultOf(answer, exchange))
        if (operation === 'SubscribeToTask') requireSameTask(params, event)
        yield { event, id: undefined, size: answer.text.length }
        return
      }
      const { maxEventBytes, maxDepth } = this.#settings
      const { idleTimeoutMs = Infinity } = options
      for await (const { data, id } of eventsOf(opened, { maxEventBytes, idleTimeoutMs }, areLines)) {
        // Some agents end streams as OpenAI does.
        if (data === '' || data === '[DONE]') continue
        // The separator of RFC 7464 comes first in the events of some agents.
        const text = data.startsWith('\u001e') ? data.slice(1) : data
        const json = this.#unwrap(parseJson(text, maxDepth), exchange)
        const event = codec.decode(json)
        if (operation === 'SubscribeToTask') requireSameTask(params, event)
        yield { event, id, size: data.length }
      }
    } finally {
      scope.dispose()
      scope.abort(new A2AError('REQUEST_ABORTED', 'The stream was left', {}))
    }
  }

  #codecOf<O extends Operation>(operation: O): ClientCodec<ClientRequests[O], ClientResults[O]> {
    const { dialect, isRpc, agentInterface } = this.selected
    const codecs: { readonly [K in Operation]?: ClientCodec<ClientRequests[K], ClientResults[K]> } = isRpc
      ? dialect.rpc
      : dialect.rest
    const codec = codecs[operation]
    if (codec !== undefined) return codec
    throw new A2AError(
      'UNSUPPORTED_OPERATION',
      `A2A ${dialect.version} has no ${operation} over ${agentInterface.protocolBinding}`,
      { operation },
    )
  }

  #toExchange(operation: Operation, params: object): Exchange {
    this.#requests += 1
    return { id: this.#requests, operation, taskId: taskIdOf(params) }
  }

  #toCall(
    { id, operation }: Exchange,
    params: JsonObject,
    options: Omit<StreamOptions, 'timeoutMs'>,
    isStream: boolean,
  ): HttpCall {
    const { dialect, isRpc, agentInterface } = this.selected
    const { extensions } = this.#settings
    const headers: Record<string, string> = {
      accept: isStream ? 'text/event-stream, application/json' : 'application/json, application/a2a+json',
      'a2a-version': dialect.version,
      ...(extensions.length > 0 && { [dialect.extensionsHeader.toLowerCase()]: extensions.join(',') }),
      ...(options.lastEventId !== undefined && { 'last-event-id': options.lastEventId }),
    }
    const { tenant } = agentInterface
    if (!isRpc) return { ...this.#toRest(operation, params, headers), callerHeaders: options.headers }
    const method = dialect.methods.get(operation)
    const tenantParams = dialect.hasTenants && tenant ? { ...params, tenant } : params
    const body = JSON.stringify({ jsonrpc: '2.0', id, method, params: tenantParams })
    return {
      method: 'POST',
      url: agentInterface.url,
      headers: { 'content-type': 'application/json', ...headers },
      callerHeaders: options.headers,
      body,
    }
  }

  #toRest(operation: Operation, params: JsonObject, headers: Record<string, string>): HttpCall {
    const { dialect, agentInterface } = this.selected
    const route = dialect.routes.find((each) => each.operation === operation)
    // Every operation of the binding has a route.
    const { verb, path } = route as Route
    const rest = { ...params }
    const filled = path.replace(/\{(\w+)\}/g, (_match, name: string) => {
      const value = rest[name]
      Reflect.deleteProperty(rest, name)
      return encodeSegment(name, value)
    })
    const [base, query] = this.#base
    const url = `${base}${dialect.hasTenants ? tenantOf(agentInterface) : ''}${filled}`
    if (verb !== 'POST') return { method: verb, url: urlOf(url, query, queryOf(rest)), headers }
    return {
      method: verb,
      url: urlOf(url, query),
      headers: { 'content-type': dialect.mediaType, ...headers },
      body: JSON.stringify(rest),
    }
  }

  #resultOf(answer: Answer, exchange: Exchange): unknown {
    const { status, text, url, statusText, headers } = answer
    const { operation, taskId } = exchange
    const { clock, maxDepth } = this.#settings
    const isOk = status >= 200 && status < 300
    if (isOk && text === '') return this.#unwrap(undefined, exchange)
    let json: unknown
    try {
      json = parseJson(text, maxDepth)
    } catch (error) {
      if (isOk) throw error
    }
    if (isOk) return this.#unwrap(json, exchange)
    const error = decodeError(json, { status, operation, taskId })
    const isUnavailable = A2AError.is(error, 'UNAVAILABLE')
    // A gateway sends 503 also when the agent broke off in the middle.
    if (isUnavailable && (status !== 503 || hasUnavailableReason(text)))
      throw unavailable(error.message, retryAfterMs(headers, clock), error)
    throw (
      (isUnavailable ? undefined : error) ??
      errorForStatus(answer, clock) ??
      badStatus(url, status, statusText, textOfError(json))
    )
  }

  /** Returns the content of the envelope, or throws its error. */
  #unwrap(json: unknown, { id, operation, taskId }: Exchange): unknown {
    const isObject = typeof json === 'object' && json !== null
    if (!this.selected.isRpc) {
      if (!isObject || !isRestError(json)) return json
      throw decodeError(json, { operation, taskId }) ?? invalidAnswer('its error is none of A2A')
    }
    if (!isObject) throw invalidAnswer('it is no JSON-RPC response')
    if (!isSameId(json, id)) throw invalidAnswer('it is the response to another JSON-RPC request')
    const { error, result } = json as { error?: JsonValue; result?: JsonValue }
    if (error != null)
      throw decodeError(error, { operation, taskId }) ?? invalidAnswer('its error is none of A2A')
    // The SDK for Python leaves out a result that is null.
    if (result === undefined && operation !== 'DeleteTaskPushNotificationConfig')
      throw invalidAnswer('the JSON-RPC response has neither result nor error')
    return result
  }
}

/**
 * Whether a response may be that of the request `id`. Agents that could not read a request respond with `id: null`
 * (JSON-RPC 2.0 §5), some leave the id out, and some return it as a string.
 */
function isSameId(response: { readonly id?: unknown }, id: number): boolean {
  return response.id == null || response.id === id || response.id === String(id)
}

/** Returns whether the agent refuses the form of a request. Some agents say so by the HTTP status alone. */
function isInvalid(error: unknown): boolean {
  return A2AError.is(error, 'EXTERNAL_SERVICE_ERROR')
    ? error.data.status === 400
    : A2AError.is(error, 'INVALID_PARAMS')
}

/** Recognises errors in a stream of the HTTP+JSON binding: that of 1.0, then that of 0.3. */
function isRestError(json: object): boolean {
  return 'error' in json || ('code' in json && 'message' in json && typeof json.message === 'string')
}

/** Returns whether the agent itself states that it did nothing (A2A 1.0 §9.5, §11.6). Quotes inside a text are escaped. */
function hasUnavailableReason(text: string): boolean {
  return /"reason"\s*:\s*"UNAVAILABLE"/.test(text)
}

function errorForStatus({ status, headers, url }: Answer, clock: Clock): A2AError | undefined {
  const shown = shownUrl(url)
  if (status === 401)
    return new A2AError('UNAUTHENTICATED', `${shown} requires valid credentials (HTTP 401)`, {})
  if (status === 403)
    return new A2AError('PERMISSION_DENIED', `${shown} does not permit this request (HTTP 403)`, {})
  // A proxy sends 503 also when the agent broke off. Only `Retry-After` indicates that nothing was done.
  if (status === 429 || (status === 503 && headers.has('retry-after'))) {
    return unavailable(`${shown} is busy (HTTP ${status})`, retryAfterMs(headers, clock))
  }
  return undefined
}

function unavailable(message: string, delayMs: number | undefined, cause?: unknown): A2AError<'UNAVAILABLE'> {
  return new A2AError(
    'UNAVAILABLE',
    message,
    { reason: message, ...(delayMs !== undefined && { retryAfterMs: delayMs }) },
    cause === undefined ? undefined : { cause },
  )
}

function taskIdOf(params: object): string | undefined {
  const {
    message,
    taskId = message?.taskId,
    id,
  } = params as {
    message?: { taskId?: string }
    taskId?: string
    id?: string
  }
  return taskId ?? id
}

/** @throws {A2AError} `INVALID_AGENT_RESPONSE` if `answer` is about another task than the request. */
function requireSameTask(params: object, answer: unknown): void {
  // Tasks and events are objects.
  const { id, taskId = id, task } = answer as { id?: string; taskId?: string; task?: { id: string } }
  const answeredId = task?.id ?? taskId
  // Messages name no task.
  if (answeredId !== undefined && answeredId !== taskIdOf(params))
    throw invalidAnswer('it is about another task')
}

/** Rejects `.` and `..`, which URLs resolve even when encoded, and lone surrogates, which cannot be encoded. */
function isSegment(value: unknown): value is string {
  return typeof value === 'string' && !/^\.{0,2}$|\p{Cs}/u.test(value)
}

function encodeSegment(name: string, value: JsonValue | undefined): string {
  if (isSegment(value)) return encodeURIComponent(value)
  throw invalidParams(name, `cannot be part of a URL path: ${JSON.stringify(value)}`)
}

/** @throws {A2AError} `URL_BLOCKED`, after which another interface is tried. */
function tenantOf({ url, tenant }: AgentInterface): string {
  if (!tenant) return ''
  if (isSegment(tenant)) return `/${encodeURIComponent(tenant)}`
  const reason = `its tenant cannot be part of a URL path: ${JSON.stringify(tenant)}`
  throw new A2AError('URL_BLOCKED', `${shownUrl(url)}: ${reason}`, { url: shownUrl(url), reason })
}

/** Splits a URL into its base, without trailing slashes, and its query. */
function baseOf(url: string): readonly [base: string, query: string] {
  const [whole = ''] = url.split('#', 1)
  const [base = ''] = whole.split('?', 1)
  return [trimSlashes(base), whole.slice(base.length + 1)]
}

function urlOf(url: string, ...queries: readonly string[]): string {
  const query = queries.filter(Boolean).join('&')
  return query ? `${url}?${query}` : url
}

function queryOf(params: JsonObject): string {
  const query = new URLSearchParams()
  for (const [key, value] of Object.entries(params)) {
    // GET and DELETE have scalar parameters only.
    if (typeof value !== 'object') query.set(key, String(value))
  }
  return query.toString()
}
