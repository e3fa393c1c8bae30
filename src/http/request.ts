/**
 * One HTTP request within limits, with typed errors.
 *
 * @module
 */
import { A2AError, invalidAnswer, invalidParams } from '../core/errors.js'
import { type Clock, keepAliveClock } from '../runtime/clock.js'
import { platformFetch, type Fetch } from '../runtime/fetch.js'
import { AbortScope } from './abort.js'
import type { AuthenticatedRequest, Authenticator } from './authenticator.js'
import { badStatus, ExternalServiceError, unreachable } from './errors.js'
import { tooLarge } from './json.js'
import { shownUrl, webUrl } from './url.js'
import type { UrlGuard } from './url-guard.js'

/** How every request of a client is sent. */
export interface HttpSettings {
  readonly fetch: Fetch
  readonly clock: Clock
  /** Sent with every request. */
  readonly headers: Readonly<Record<string, string>>
  readonly auth?: Authenticator | undefined
  /** Asked before every request, that after a redirect included. */
  readonly urlGuard?: UrlGuard | undefined
  readonly maxResponseBytes: number
}

/** What users may tell of them. */
export interface HttpOptions {
  /** Sends the requests. Default is the platform's `fetch`. */
  readonly fetch?: Fetch | undefined
  /** Sent with every request to the agent's own origin. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Credentials, such as `bearerAuth(token)`. They go to the agent's own origin only. */
  readonly auth?: Authenticator | undefined
  /** Asked before every request: `urlGuard()` for URLs that come from elsewhere. Default is none. */
  readonly urlGuard?: UrlGuard | undefined
  readonly clock?: Clock | undefined
}

export function toHttpSettings(options: HttpOptions, maxResponseBytes: number): HttpSettings {
  const { fetch = platformFetch, clock = keepAliveClock, headers = {}, auth, urlGuard } = options
  return { fetch, clock, headers, auth, urlGuard, maxResponseBytes }
}

export interface HttpCall {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly url: string
  /** Of the protocol. They go along with redirects. */
  readonly headers?: Readonly<Record<string, string>>
  /** Of the caller. They go to the origin of `url` only. */
  readonly own?: Readonly<Record<string, string>> | undefined
  readonly body?: string
  /** Whether it is refused to be led to another origin, as it is anyway but with GET. */
  readonly stays?: boolean
}

export interface CallLimits {
  readonly signal?: AbortSignal | undefined
  /** How long the whole answer may take, or that of a stream to begin. */
  readonly timeoutMs: number
}

/** An answer that has been read. */
export interface Answer {
  readonly status: number
  readonly statusText: string
  readonly headers: Headers
  readonly text: string
  /** Where it came from, after redirects. */
  readonly url: string
}

/** An answer that has begun. Whoever has it disposes of `scope`. */
export interface Opened {
  readonly response: Response
  readonly url: string
  readonly scope: AbortScope
}

/**
 * Sends a request and reads its answer, whatever its status.
 *
 * @throws {A2AError} `EXTERNAL_SERVICE_ERROR` when there is none, `REQUEST_TIMED_OUT`, `REQUEST_ABORTED`, `URL_BLOCKED`,
 *   `LIMIT_EXCEEDED` when it is too long.
 */
export async function request(settings: HttpSettings, call: HttpCall, limits: CallLimits): Promise<Answer> {
  const opened = await open(settings, call, limits)
  try {
    return await readAnswer(settings, opened)
  } finally {
    opened.scope.dispose()
  }
}

/** Sends a request, and leaves its answer to be read. The time limit goes on until `scope.arm` sets another. */
export async function open(settings: HttpSettings, call: HttpCall, limits: CallLimits): Promise<Opened> {
  const scope = new AbortScope(settings.clock, limits.signal)
  try {
    scope.arm(limits.timeoutMs)
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
  const { response, sent, isHome } = first
  if (!isHome || response.status !== 401) return false
  try {
    return await scope.race(async () => authenticated(() => auth?.renew?.(sent) ?? false))
  } catch (error) {
    discard(response)
    throw error
  }
}

/** The rest of an answer as text. */
export async function readAnswer(settings: HttpSettings, { response, url, scope }: Opened): Promise<Answer> {
  const { status, statusText, headers } = response
  return { status, statusText, headers, url, text: await readText(settings, response, url, scope) }
}

const MAX_REDIRECTS = 5

interface Followed {
  readonly response: Response
  readonly url: string
  /** With its credentials. */
  readonly sent: AuthenticatedRequest
  /** Whether it came from where the request was meant to go. */
  readonly isHome: boolean
}

/** Follows redirects itself, so that each URL is guarded, and credentials stay with the origin they are for. */
async function follow(settings: HttpSettings, call: HttpCall, scope: AbortScope): Promise<Followed> {
  const home = parseUrl(call.url)
  let url = home
  let isHome = true
  let status = 0
  for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
    // Who has left does not come back: the way there was shown by somebody else.
    isHome &&= url.origin === home.origin
    const { response, sent } = await send(settings, call, url, isHome, scope)
    const target = targetOf(response, url)
    if (target === undefined) return { response, url: url.href, sent, isHome }
    status = response.status
    const isPost = call.method !== 'GET'
    const leaves = target.origin !== home.origin && (isPost || call.stays === true)
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
  isHome: boolean,
  scope: AbortScope,
): Promise<Pick<Followed, 'response' | 'sent'>> {
  await scope.race(() => guarded(settings, url))
  const { method, body } = call
  const sent = new Headers()
  for (const headers of isHome ? [settings.headers, call.headers, call.own] : [call.headers]) {
    add(sent, headers)
  }
  // Credentials in a query are for this request only.
  const target = new URL(url.href)
  const { auth } = settings
  if (isHome) await scope.race(() => authenticated(() => auth?.apply({ url: target, headers: sent })))
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

/** Says nothing of the values: they may be secrets. */
function add(sent: Headers, headers: HttpCall['own'] = {}): void {
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
      throw invalidParams('headers', `cannot hold this ${JSON.stringify(name)}`)
    }
    sent.set(name, value)
  }
}

/** @throws {A2AError} what the guard throws, or `URL_BLOCKED` because of it. */
export async function guarded({ urlGuard }: HttpSettings, url: URL): Promise<void> {
  let verdict: unknown
  try {
    verdict = await urlGuard?.(url)
  } catch (cause) {
    throw A2AError.is(cause) ? cause : blocked(url.href, 'is refused by urlGuard', { cause })
  }
  // What makes guards is no guard, and one that answers may mean no.
  if (verdict !== undefined)
    throw blocked(url.href, 'is not let through: a urlGuard throws, or returns nothing')
}

/** What an authenticator throws may hold a secret. */
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

/** Where a redirect leads; nobody reads its body. */
function targetOf(response: Response, base: URL): URL | undefined {
  const { status, type, headers } = response
  // A browser does not tell where it leads.
  if (type === 'opaqueredirect') throw badStatus(base.href, 302, 'a redirect: use the URL that it leads to')
  const location = headers.get('location')
  if (![301, 302, 303, 307, 308].includes(status) || location === null) return undefined
  discard(response)
  const url = webUrl(location, base)
  if (typeof url === 'string') throw badStatus(base.href, status, `with a Location that ${url}`)
  return url
}

/** Lets go of the connection. */
function discard(response: Response): void {
  response.body?.cancel().catch(() => {
    // It is gone anyway.
  })
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

/** The body as it comes. Whoever leaves the loop lets go of the connection. */
export async function* chunksOf(
  { body }: Response,
  url: string,
  scope: AbortScope,
): AsyncGenerator<Uint8Array, undefined> {
  const reader = body?.getReader()
  if (reader === undefined) return
  try {
    for (;;) {
      const { value } = await scope.race(() => read(reader))
      if (value === undefined) return
      yield value
    }
  } catch (cause) {
    throw A2AError.is(cause) ? cause : unreachable(url, cause)
  } finally {
    // Nobody waits for it: a connection that stalls would keep the caller.
    reader.cancel().catch(() => {
      // It is gone anyway.
    })
  }
}

/** Node's types leave open what a body is made of. */
function read(reader: { read(): Promise<{ value?: Uint8Array | undefined }> }): Promise<{
  value?: Uint8Array | undefined
}> {
  return reader.read()
}
