/**
 * One HTTP request within limits, with typed errors.
 *
 * @module
 */
import { A2AError, invalidAnswer } from '../core/errors.js'
import { utf8Length } from '../runtime/buffer.js'
import { requireClock, requireFunctions } from '../runtime/options.js'
import { type Clock, keepAliveClock } from '../runtime/clock.js'
import { platformFetch, type Fetch } from '../runtime/fetch.js'
import { AbortScope } from './abort.js'
import type { AuthenticatedRequest, Authenticator } from './authenticator.js'
import { headersOf } from './headers.js'
import { badStatus, ExternalServiceError, unreachable } from './errors.js'
import { tooLarge } from './json.js'
import { shownUrl, webUrl } from './url.js'
import type { UrlGuard } from './url-guard.js'

/**
 * The property of a `fetch` that answers requests in this process without Fetch's objects, which take longer to make and to read
 * than a short answer. Its URL has no redirects. Streams go by `fetch`.
 */
export const EXCHANGE: unique symbol = Symbol('exchange')

export type Exchange = (
  call: Pick<HttpCall, 'method' | 'url' | 'body'>,
  headers: Headers,
  signal: AbortSignal,
) => Promise<Answer>

/** Settings for all requests of a client. */
export interface HttpSettings {
  readonly fetch: Fetch & { readonly [EXCHANGE]?: Exchange }
  readonly clock: Clock
  /** Sent with every request. */
  readonly headers: Readonly<Record<string, string>>
  readonly auth?: Authenticator | undefined
  /** Checks the URL of every request, redirects included. */
  readonly urlGuard?: UrlGuard | undefined
  readonly maxResponseBytes: number
}

/** Options for the requests of a client. */
export interface HttpOptions {
  /** Sends the requests. Default is the platform's `fetch`. */
  readonly fetch?: Fetch | undefined
  /** Headers for every request to the agent's own origin. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Credentials, such as `bearerAuth(token)`. They are sent to the agent's own origin only. */
  readonly auth?: Authenticator | undefined
  /** Checks the URL of every request. Use `urlGuard()` for URLs from untrusted sources. Default is none. */
  readonly urlGuard?: UrlGuard | undefined
  /** Measures timeouts and pauses. Default is the platform's clock. */
  readonly clock?: Clock | undefined
}

/** @throws {TypeError} for an option of the wrong type, by its name. */
export function toHttpSettings(options: HttpOptions, maxResponseBytes: number): HttpSettings {
  const { fetch = platformFetch, clock = keepAliveClock, headers = {}, auth, urlGuard } = options
  requireFunctions(options, ['fetch', 'urlGuard'])
  requireClock(clock)
  return { fetch, clock, headers, auth, urlGuard, maxResponseBytes }
}

export interface HttpCall {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly url: string
  /** Headers of the protocol. Redirects keep them. */
  readonly headers?: Readonly<Record<string, string>>
  /** Headers of the caller. They are sent to the origin of `url` only. */
  readonly callerHeaders?: Readonly<Record<string, string>> | undefined
  readonly body?: string
  /** Refuses redirects to another origin. Without it, only those of methods other than GET are refused. */
  readonly isSameOriginOnly?: boolean
}

export interface CallLimits {
  readonly signal?: AbortSignal | undefined
  /** Time limit, in ms, of the whole response; for a stream, until it begins. */
  readonly timeoutMs: number
  /** What is left of `timeoutMs`, if earlier requests of the same call took some of it. Default is all. */
  readonly leftMs?: number | undefined
}

/** A response that has been read. */
export interface Answer {
  readonly status: number
  readonly statusText: string
  readonly headers: Headers
  readonly text: string
  /** The URL after redirects. */
  readonly url: string
}

/** A response whose body is not read yet. Its owner must dispose of `scope`. */
export interface OpenResponse {
  readonly response: Response
  readonly url: string
  readonly scope: AbortScope
}

/**
 * Sends a request and reads the response, of any status.
 *
 * @throws {A2AError} `EXTERNAL_SERVICE_ERROR` when there is no response; `REQUEST_TIMED_OUT`, `REQUEST_ABORTED`,
 *   `URL_BLOCKED`; `LIMIT_EXCEEDED` when the response is too long.
 */
export async function request(settings: HttpSettings, call: HttpCall, limits: CallLimits): Promise<Answer> {
  const { [EXCHANGE]: exchange } = settings.fetch
  if (exchange !== undefined && settings.auth === undefined && settings.urlGuard === undefined)
    return await exchanged(exchange, settings, call, limits)
  const opened = await open(settings, call, limits)
  try {
    return await readAnswer(settings, opened)
  } finally {
    opened.scope.dispose()
  }
}

async function exchanged(
  exchange: Exchange,
  settings: HttpSettings,
  call: HttpCall,
  limits: CallLimits,
): Promise<Answer> {
  const scope = new AbortScope(settings.clock, limits.signal)
  try {
    scope.arm(limits.timeoutMs, undefined, limits.leftMs)
    const headers = headersOf([settings.headers, call.headers, call.callerHeaders])
    const answer = await scope.race(() => exchange(call, headers, scope.signal))
    const { maxResponseBytes } = settings
    const bytes = utf8Length(answer.text) ?? new TextEncoder().encode(answer.text).length
    if (bytes > maxResponseBytes) throw tooLarge('maxResponseBytes', maxResponseBytes, bytes)
    return answer
  } finally {
    scope.dispose()
  }
}

/** Sends a request without reading the body of the response. The timeout stays armed until `scope.arm` replaces it. */
export async function open(
  settings: HttpSettings,
  call: HttpCall,
  limits: CallLimits,
): Promise<OpenResponse> {
  const scope = new AbortScope(settings.clock, limits.signal)
  try {
    scope.arm(limits.timeoutMs, undefined, limits.leftMs)
    const first = await follow(settings, call, scope)
    if (!(await renew(settings, first, scope))) {
      return { response: first.response, url: first.url, scope }
    }
    discard(first.response)
    const { response, url } = await follow(settings, call, scope)
    return { response, url, scope }
  } catch (error) {
    scope.dispose()
    throw error
  }
}

async function renew({ auth }: HttpSettings, first: Followed, scope: AbortScope): Promise<boolean> {
  const { response, sent, isSameOrigin } = first
  if (!isSameOrigin || response.status !== 401) return false
  try {
    return await scope.race(async () => authenticated(() => auth?.renew?.(sent) ?? false))
  } catch (error) {
    discard(response)
    throw error
  }
}

/** Reads the body as text. */
export async function readAnswer(
  settings: HttpSettings,
  { response, url, scope }: OpenResponse,
): Promise<Answer> {
  const { status, statusText, headers } = response
  return { status, statusText, headers, url, text: await readText(settings, response, url, scope) }
}

const MAX_REDIRECTS = 5

interface Followed {
  readonly response: Response
  readonly url: string
  /** The request that was sent, with its credentials. */
  readonly sent: AuthenticatedRequest
  /** Whether the request never left the origin of its first URL. */
  readonly isSameOrigin: boolean
}

/** Follows redirects here and not in `fetch`, to check each URL and to keep credentials within their origin. */
async function follow(settings: HttpSettings, call: HttpCall, scope: AbortScope): Promise<Followed> {
  const home = parseUrl(call.url)
  let url = home
  let isSameOrigin = true
  let status = 0
  for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
    // A redirect back to the first origin comes from another one, so it gets no credentials either.
    isSameOrigin &&= url.origin === home.origin
    const { response, sent } = await send(settings, call, url, isSameOrigin, scope)
    const target = targetOf(response, url)
    if (target === undefined) return { response, url: url.href, sent, isSameOrigin }
    status = response.status
    const isPost = call.method !== 'GET'
    const leaves = target.origin !== home.origin && (isPost || call.isSameOriginOnly === true)
    if (leaves || (isPost && status < 307)) {
      const shown = shownUrl(target.href)
      throw new ExternalServiceError('A2A', `${shownUrl(url.href)} redirects to ${shown}: use that URL`, {
        url: shownUrl(url.href),
        status,
      })
    }
    url = target
  }
  throw new ExternalServiceError('A2A', `${shownUrl(call.url)} redirects more than ${MAX_REDIRECTS} times`, {
    url: shownUrl(call.url),
    status,
  })
}

async function send(
  settings: HttpSettings,
  call: HttpCall,
  url: URL,
  isSameOrigin: boolean,
  scope: AbortScope,
): Promise<Pick<Followed, 'response' | 'sent'>> {
  await scope.race(() => requireAllowed(settings, url))
  const { method, body } = call
  const sent = headersOf(isSameOrigin ? [settings.headers, call.headers, call.callerHeaders] : [call.headers])
  // A copy: credentials in the query apply to this request only.
  const target = new URL(url.href)
  const { auth } = settings
  if (isSameOrigin) await scope.race(() => authenticated(() => auth?.apply({ url: target, headers: sent })))
  try {
    const response = await scope.race(() =>
      settings.fetch(target.href, {
        method,
        headers: sent,
        redirect: 'manual',
        signal: scope.signal,
        ...(body !== undefined && { body }),
      }),
    )
    return { response, sent: { url: target, headers: sent } }
  } catch (cause) {
    throw A2AError.is(cause) ? cause : unreachable(url.href, cause)
  }
}

/** @throws {A2AError} The guard's own `A2AError`, or `URL_BLOCKED` with the guard's error as `cause`. */
export async function requireAllowed({ urlGuard }: HttpSettings, url: URL): Promise<void> {
  let verdict: unknown
  try {
    verdict = await urlGuard?.(url)
  } catch (cause) {
    throw A2AError.is(cause) ? cause : blocked(url.href, 'is refused by urlGuard', { cause })
  }
  // `urlGuard` itself, passed instead of `urlGuard()`, returns a function; a guard that returns `false` means no.
  if (verdict !== undefined)
    throw blocked(url.href, 'is not let through: a urlGuard throws, or returns nothing')
}

/** Wraps errors of authenticators, whose text may contain a secret. */
async function authenticated<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    throw A2AError.is(cause)
      ? cause
      : new A2AError('UNAUTHENTICATED', 'There are no credentials: auth has failed', {}, { cause })
  }
}

function parseUrl(text: string): URL {
  const url = webUrl(text)
  if (typeof url === 'string') throw blocked(text, url)
  return url
}

function blocked(url: string, reason: string, options?: { cause: unknown }): A2AError<'URL_BLOCKED'> {
  const shown = shownUrl(url)
  const message = `${JSON.stringify(shown.slice(0, 200))} ${reason}`
  return new A2AError('URL_BLOCKED', message, { url: shown, reason }, options)
}

/** The URL that a redirect leads to; `undefined` for other responses. Discards the body of a redirect. */
function targetOf(response: Response, base: URL): URL | undefined {
  const { status, type, headers } = response
  // Browsers hide the target of a redirect.
  if (type === 'opaqueredirect') throw badStatus(base.href, 302, 'a redirect: use the URL that it leads to')
  const location = headers.get('location')
  if (![301, 302, 303, 307, 308].includes(status) || location === null) return undefined
  discard(response)
  const url = webUrl(location, base)
  if (typeof url === 'string') throw badStatus(base.href, status, `with a Location that ${url}`)
  return url
}

/** Cancels the body, which frees the connection. */
export function discard(response: Response): void {
  try {
    readerOf(response)?.cancel()
  } catch {
    // A body that nothing can read occupies nothing that can be freed here.
  }
}

async function readText(
  { maxResponseBytes }: HttpSettings,
  response: Response,
  url: string,
  scope: AbortScope,
): Promise<string> {
  if (Number(response.headers.get('content-length')) > maxResponseBytes) {
    discard(response)
    throw tooLarge('maxResponseBytes', maxResponseBytes, Number(response.headers.get('content-length')))
  }
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let bytes = 0
  let text = ''
  for await (const chunk of chunksOf(response, url, scope)) {
    bytes += chunk.byteLength
    if (bytes > maxResponseBytes) throw tooLarge('maxResponseBytes', maxResponseBytes, bytes)
    text += decode(decoder, chunk)
  }
  return text + decode(decoder)
}

/** @throws {A2AError} `INVALID_AGENT_RESPONSE`. */
export function decode(decoder: InstanceType<typeof TextDecoder>, chunk?: Uint8Array): string {
  try {
    return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true })
  } catch (cause) {
    throw invalidAnswer('it is not UTF-8', cause)
  }
}

/** The body in chunks. Leaving the loop frees the connection. */
export async function* chunksOf(
  response: Response,
  url: string,
  scope: AbortScope,
): AsyncGenerator<Uint8Array, undefined> {
  const reader = readerOf(response)
  if (reader === undefined) return
  try {
    for (;;) {
      const { value } = await scope.race(() => reader.read())
      if (value === undefined) return
      yield value
    }
  } catch (cause) {
    throw A2AError.is(cause) ? cause : unreachable(url, cause)
  } finally {
    reader.cancel()
  }
}

interface BodyReader {
  read(): Promise<{ value?: Uint8Array | undefined }>
  cancel(): void
}

/** The body as the stream of `fetch`, or as a stream of Node, which node-fetch gives. */
type Body =
  | { getReader(): { read(): Promise<{ value?: Uint8Array | undefined }>; cancel(): Promise<void> } }
  | (AsyncIterable<Uint8Array> & { getReader?: undefined; destroy?(): void })

/**
 * Reads the chunks of a body, whose type Node leaves open. `cancel` waits for nothing: the connection may be stalled.
 *
 * @throws {A2AError} `INVALID_AGENT_RESPONSE` for a body that the caller's `fetch` has read, or that is no stream.
 */
function readerOf(response: { readonly body: unknown }): BodyReader | undefined {
  // A response has no other body, whichever `fetch` has made it.
  const body = response.body as Body | null | undefined
  if (!body) return undefined
  try {
    return streamReader(body)
  } catch (cause) {
    throw invalidAnswer('its body cannot be read', cause)
  }
}

function streamReader(body: Body): BodyReader {
  if (body.getReader) {
    const reader = body.getReader()
    return {
      read: () => reader.read(),
      cancel: () =>
        void reader.cancel().catch(() => {
          // The connection is already closed.
        }),
    }
  }
  const chunks = body[Symbol.asyncIterator]()
  return { read: () => chunks.next(), cancel: () => body.destroy?.() }
}
