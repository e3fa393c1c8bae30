/**
 * HTTP requests to an agent's service, with typed errors.
 *
 * @module
 */
import type { Authenticator } from '../../../http/authenticator.js'
import { type Fetch, platformFetch } from '../../../runtime/fetch.js'
import type { Clock } from '../../../runtime/clock.js'
import { requireClock, requireFunctions, requireKnown } from '../../../runtime/options.js'
import type { JsonValue } from '../../../core/json-types.js'
import type { UrlGuard } from '../../../http/url-guard.js'
import {
  chunksOf,
  decode,
  open,
  readAnswer,
  request,
  toHttpSettings,
  type Answer,
  type HttpCall,
  type HttpSettings,
  type OpenResponse,
} from '../../../http/request.js'
import { retryAfterMs } from '../../../http/retry.js'
import { eventsOf, type ServerSentEvent } from '../../../http/sse-reader.js'
import { parseJson } from '../../../http/json.js'
import { A2AError } from '../../../core/errors.js'
import { compact } from '../../../runtime/compact.js'
import type { RegisteredAgent } from '../../registry/agent.js'
import { authFor } from '../../registry/registration.js'
import { recordingCredentials, redactCredentials } from './credentials.js'
import type { ProviderCall } from '../../provider.js'

/** A request to be sent. Its headers may be changed. */
export interface ServiceRequest {
  readonly method: string
  readonly url: URL
  readonly headers: Headers
  readonly body: string | undefined
}

/** Adds credentials to a request: a token, or a signature over all of it. Called for every request. */
export type Authorize = (request: ServiceRequest, agent: RegisteredAgent) => void | Promise<void>

/** Options of every provider that sends HTTP requests. */
export interface ServiceOptions {
  /** Sends the requests. Default is the platform's `fetch`. */
  readonly fetch?: Fetch | undefined
  /** Adds credentials to every request, in place of the agent's `endpoint.auth`. */
  readonly authorize?: Authorize | undefined
  /** Checks the URL of every request. Default is none: those who register agents trust their URLs. */
  readonly urlGuard?: UrlGuard | undefined
  /** Measures timeouts. Default is the platform's clock. */
  readonly clock?: Clock | undefined
}

const OPTION_KEYS = ['fetch', 'authorize', 'urlGuard', 'clock']

/**
 * Checks the options of a provider: those of every provider, and `others`.
 *
 * @throws {TypeError} for an option that is unknown or of the wrong type.
 */
export function requireServiceOptions(
  options: ServiceOptions,
  where: string,
  others: readonly string[] = [],
): void {
  requireKnown(options, [...OPTION_KEYS, ...others], where)
  requireFunctions(options, ['fetch', 'authorize', 'urlGuard'])
  if (options.clock !== undefined) requireClock(options.clock)
}

const MAX_BYTES = 16_777_216
const MAX_DEPTH = 100
/** Limit for the silence of a stream. */
const IDLE_MS = 300_000
const MAX_REASON = 500
/** Matches a `.` or `..` segment of a path, in any encoding of its dots and slashes. */
const DOT_SEGMENT = /(^|[/\\]|%(25)*(2f|5c))(\.|%(25)*2e){1,2}([/\\]|%(25)*(2f|5c)|$)/i
const RETRYABLE = [408, 425, 429, 500, 502, 503, 504]

/** A response that has been read. */
export interface ServiceAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** @throws {A2AError} `PROVIDER_ERROR` when the text is not JSON. */
  readonly json: () => JsonValue
}

export interface ServiceCall {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** A path below the agent's URL, such as `/threads`, or a complete URL. */
  readonly path: string
  /** Sent as JSON. */
  readonly body?: JsonValue | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Statuses beside 2xx that are no error. */
  readonly expected?: readonly number[] | undefined
  /** Default is the agent's `endpoint.timeoutMs`. */
  readonly timeoutMs?: number | undefined
  /** Receives the headers of a stream before its first event. */
  readonly onOpen?: ((headers: Headers) => void) | undefined
}

/** The service behind one agent. */
export class Service {
  readonly #provider: string
  readonly #agent: RegisteredAgent
  readonly #settings: HttpSettings

  /** `fallback` signs requests when there is neither `authorize` nor `endpoint.auth`. */
  constructor(provider: string, agent: RegisteredAgent, options: ServiceOptions, fallback?: Authorize) {
    const { authorize, urlGuard, clock } = options
    const fetch = recordingCredentials(options.fetch ?? platformFetch, agent)
    const auth: Authenticator | undefined = authorize === undefined ? authFor(agent, options) : undefined
    const settings = toHttpSettings({ fetch, auth, urlGuard, clock }, MAX_BYTES)
    const sign = authorize ?? (auth === undefined ? fallback : undefined)
    this.#provider = provider
    this.#agent = agent
    this.#settings =
      sign === undefined ? settings : { ...settings, fetch: signing(settings.fetch, sign, agent) }
  }

  /**
   * Sends a request and returns the response.
   *
   * @throws {A2AError} `PROVIDER_ERROR` for a status that is neither 2xx nor `expected`, and without a response.
   * @throws The signal's reason, when it aborts.
   */
  async send(call: ServiceCall, { signal }: ProviderCall): Promise<ServiceAnswer> {
    const { timeoutMs = this.#agent.endpoint.timeoutMs } = call
    const http = this.#toHttp(call)
    const answer = await this.#translateErrors(signal, () =>
      request(this.#settings, http, { signal, timeoutMs }),
    )
    if (!isExpected(answer.status, call)) throw this.#refusal(answer)
    return {
      status: answer.status,
      headers: answer.headers,
      text: answer.text,
      json: () => this.parse(answer.text),
    }
  }

  /**
   * Yields the server-sent events of a response. Leaving the loop ends the request.
   *
   * @throws {A2AError} as {@link send}; `PROVIDER_ERROR` also when the stream breaks.
   */
  async *events(call: ServiceCall, options: ProviderCall): AsyncGenerator<ServerSentEvent, undefined> {
    const limits = { maxEventBytes: MAX_BYTES, idleTimeoutMs: IDLE_MS }
    yield* this.#stream(call, options, 'text/event-stream', (opened) => eventsOf(opened, limits))
  }

  /**
   * Yields the server-sent events of a response, or the complete text of any other response.
   *
   * @throws {A2AError} as {@link events}.
   */
  async *eventsOrText(
    call: ServiceCall,
    options: ProviderCall,
  ): AsyncGenerator<ServerSentEvent | string, undefined> {
    const limits = { maxEventBytes: MAX_BYTES, idleTimeoutMs: IDLE_MS }
    const accept = 'application/json, text/event-stream'
    yield* this.#stream<ServerSentEvent | string>(call, options, accept, (opened) =>
      isEventStream(opened) ? eventsOf(opened, limits) : wholeTextOf(this.#settings, opened),
    )
  }

  /**
   * Yields the text of a response as it arrives. Leaving the loop ends the request.
   *
   * @throws {A2AError} as {@link events}.
   */
  async *texts(call: ServiceCall, options: ProviderCall): AsyncGenerator<string, undefined> {
    yield* this.#stream(call, options, 'application/json', textsOf)
  }

  async *#stream<T extends object | string>(
    call: ServiceCall,
    { signal }: ProviderCall,
    accept: string,
    piecesOf: (opened: OpenResponse) => AsyncGenerator<T, undefined>,
  ): AsyncGenerator<T, undefined> {
    const { timeoutMs = this.#agent.endpoint.timeoutMs } = call
    const http = this.#toHttp(call, accept)
    const opened = await this.#translateErrors(signal, () =>
      open(this.#settings, http, { signal, timeoutMs }),
    )
    if (!isExpected(opened.response.status, call)) {
      try {
        throw this.#refusal(await this.#translateErrors(signal, () => readAnswer(this.#settings, opened)))
      } finally {
        opened.scope.dispose()
      }
    }
    call.onOpen?.(opened.response.headers)
    const pieces = piecesOf(opened)
    try {
      for (;;) {
        const { value } = await this.#translateErrors(signal, () => pieces.next())
        if (value === undefined) return
        yield value
      }
    } finally {
      await pieces.return(undefined)
    }
  }

  /** Returns an error of this service: see {@link providerError}. */
  error(what: string, about: FailureDetails = {}): A2AError<'PROVIDER_ERROR'> {
    return providerError(this.#provider, this.#agent, what, about)
  }

  #toHttp({ method, path, body, headers = {} }: ServiceCall, accept = 'application/json'): HttpCall {
    const sent = { accept, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers }
    const { url } = this.#agent.endpoint
    // The path contains ids that come from elsewhere.
    if (DOT_SEGMENT.test(path.split(/[?#]/, 1)[0] ?? '')) {
      throw this.error('no request goes to a path with "." or ".." in it: an id is not as it should be')
    }
    return {
      method,
      url: /^https?:/.test(path) ? path : url.replace(/\/$/, '') + path,
      headers: sent,
      isSameOriginOnly: true,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }
  }

  /** @throws {A2AError} `PROVIDER_ERROR` when the text is not JSON. */
  parse(text: string): JsonValue {
    try {
      // JSON.parse returns only JSON values.
      return parseJson(text, MAX_DEPTH) as JsonValue
    } catch (cause) {
      if (A2AError.is(cause, 'LIMIT_EXCEEDED')) throw this.error(cause.message, { cause })
      // The parser's error quotes the text, so it is no cause.
      throw this.error('its answer is not JSON', { said: text })
    }
  }

  #refusal({ status, headers, text }: Answer): A2AError<'PROVIDER_ERROR'> {
    const delayMs = retryAfterMs(headers, this.#settings.clock)
    const retryable = RETRYABLE.includes(status)
    return this.error(`HTTP ${status}`, {
      said: text,
      status,
      retryable,
      ...compact({ retryAfterMs: delayMs }),
    })
  }

  async #translateErrors<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (cause) {
      signal.throwIfAborted()
      if (A2AError.is(cause, 'REQUEST_TIMED_OUT')) {
        throw this.error('it did not answer in time', { retryable: true, cause })
      }
      if (A2AError.is(cause, 'EXTERNAL_SERVICE_ERROR')) {
        const { status } = cause.data
        // The HTTP client names every service A2A.
        const what = cause.message.replace(/^A2A: /, '')
        const retryable = status === undefined || RETRYABLE.includes(status)
        throw this.error(what, { retryable, cause: cause.cause, ...compact({ status }) })
      }
      if (A2AError.is(cause)) throw this.error(cause.message, { cause })
      throw cause
    }
  }
}

/** Details of a failure for {@link providerError}. */
export interface FailureDetails {
  /** The service's own description of the failure. */
  readonly said?: string
  /** The HTTP status of the response, if there was one. */
  readonly status?: number
  /** Whether the same request may succeed later. Default is `false`. */
  readonly retryable?: boolean
  /** The delay that the service asks for, in ms. */
  readonly retryAfterMs?: number
  readonly cause?: unknown
}

/**
 * Creates a `PROVIDER_ERROR`. Its message contains only this library's description of the failure. `data.reason`, which
 * is for the operator, adds up to 500 characters of the service's own text. Neither contains control characters, nor
 * credentials that were sent to the service.
 */
export function providerError(
  provider: string,
  agent: RegisteredAgent,
  what: string,
  about: FailureDetails = {},
): A2AError<'PROVIDER_ERROR'> {
  const { said = '', cause, retryable = false, ...others } = about
  const { id: agentId } = agent
  const shown = (text: string): string =>
    redactCredentials(text, agent)
      .slice(0, MAX_REASON)
      .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
      .trim()
  return new A2AError(
    'PROVIDER_ERROR',
    `Provider ${provider} of agent ${agentId}: ${shown(what)}`,
    { provider, agentId, reason: shown(said === '' ? what : `${what}: ${said}`), retryable, ...others },
    cause === undefined ? undefined : { cause },
  )
}

function isEventStream({ response }: OpenResponse): boolean {
  return /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '')
}

async function* wholeTextOf(settings: HttpSettings, opened: OpenResponse): AsyncGenerator<string, undefined> {
  try {
    yield (await readAnswer(settings, opened)).text
  } finally {
    opened.scope.dispose()
  }
}

/** Yields text as it arrives. The time that the consumer takes is not silence of the stream. */
async function* textsOf({ response, url, scope }: OpenResponse): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  scope.arm(IDLE_MS)
  try {
    for await (const chunk of chunksOf(response, url, scope)) {
      scope.arm(Infinity)
      yield decode(decoder, chunk)
      scope.arm(IDLE_MS)
    }
    yield decode(decoder)
  } finally {
    scope.dispose()
  }
}

function isExpected(status: number, { expected = [] }: ServiceCall): boolean {
  return (status >= 200 && status < 300) || expected.includes(status)
}

/**
 * Returns a `fetch` that signs complete requests.
 *
 * @throws {A2AError} `UNAUTHENTICATED` with the name of the error that `authorize` throws; an A2AError is passed on.
 */
export function signing(fetch: Fetch, authorize: Authorize, agent: RegisteredAgent): Fetch {
  return async (url, init) => {
    const headers = new Headers(init.headers)
    const target = new URL(url)
    const body = typeof init.body === 'string' ? init.body : undefined
    try {
      await authorize({ method: init.method ?? 'GET', url: target, headers, body }, agent)
    } catch (cause) {
      if (A2AError.is(cause)) throw cause
      // The message may contain a secret: the error of `Headers` quotes an invalid value.
      const name = cause instanceof Error ? cause.name : typeof cause
      throw new A2AError('UNAUTHENTICATED', `There are no credentials: authorize has failed (${name})`, {})
    }
    return await fetch(target.href, { ...init, headers })
  }
}
