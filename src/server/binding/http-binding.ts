/**
 * The HTTP layer of the agent: routing, authentication, status codes and headers.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { JsonValue } from '../../core/json-types.js'
import type { AgentCard } from '../../schemas/agent-card.js'
import { hasRetryAfter, WIRE_ERRORS } from '../../wire/errors.js'
import type { Dialect } from '../../wire/dialect.js'
import { readJson } from './body.js'
import { CardRoute } from './card-route.js'
import type { HttpAnswer, HttpRequest } from './exchange.js'
import { FrameStream, toA2AError, type Source } from '../streams/frame-stream.js'
import { requireSafeJson } from './safe-json.js'
import { answerRpc, failure } from './json-rpc.js'
import {
  chooseDialect,
  isSpoken,
  knownExtensions,
  nonEmpty,
  dialectsFor,
  type Dialects,
} from '../negotiation.js'
import type { Operations } from '../operations/operations.js'
import type { BindingSettings } from '../options.js'
import { perform } from '../operations/perform.js'
import { noRoute, paramsOf } from './rest.js'
import { Routes, type RouteMatch } from './routes.js'
import { SseHeartbeat, SSE_HEADERS, type Frame } from '../streams/sse.js'
import { generationFromHeader, requirePrincipal, type Caller, type Principal } from '../caller.js'

const CARD_PATH = '/.well-known/agent-card.json'
/** The path that clients of versions before 0.3, and of KAOS, request. */
const OLD_CARD_PATH = '/.well-known/agent.json'
const JSON_TYPE = 'application/json'
const A2A_TYPE = 'application/a2a+json'

export class HttpBinding<P extends Principal> {
  readonly #settings: BindingSettings<P>
  readonly #operations: Operations<P>
  readonly #routes: Routes
  readonly #card: CardRoute
  readonly #heartbeat: SseHeartbeat
  readonly #challenge: string
  /** The dialects of the card, for requests that name no version. */
  readonly #inCards: Dialects

  constructor(settings: BindingSettings<P>, operations: Operations<P>) {
    const { card, clock, cardMaxAgeSeconds, dialects, heartbeatMs } = settings
    this.#settings = settings
    this.#operations = operations
    this.#routes = new Routes(card, dialects)
    this.#card = new CardRoute(card, cardMaxAgeSeconds, clock)
    this.#heartbeat = new SseHeartbeat(clock, heartbeatMs)
    this.#challenge = challengeOf(card)
    this.#inCards = nonEmpty(dialects.filter(({ isInCards }) => isInCards)) ?? dialects
  }

  /** Never rejects. */
  async respond(request: HttpRequest): Promise<HttpAnswer> {
    const [preferred] = this.#settings.dialects
    let dialect = preferred
    try {
      const { pathname, searchParams } = new URL(request.url)
      const version = versionOf(request, searchParams)
      if (pathname.endsWith(CARD_PATH)) return await this.#respondCard(request, version, this.#inCards)
      if (pathname.endsWith(OLD_CARD_PATH)) {
        return await this.#respondCard(request, version, this.#settings.dialects)
      }
      if (request.method === 'POST' && this.#routes.isRpc(pathname))
        return await this.#respondRpc(request, version)
      const matches = this.#routes.match(pathname)
      dialect = matches[0]?.dialect ?? preferred
      const candidates = this.#candidates(request, pathname, version, matches)
      if ('status' in candidates) return candidates
      dialect = candidates[0].dialect
      const principal = await this.#authenticate(request)
      const match = candidates.length === 1 ? candidates[0] : await this.#choose(candidates, principal)
      dialect = match.dialect
      return await this.#respondRest(request, searchParams, match, principal)
    } catch (thrown) {
      const error = toA2AError(thrown, `${request.method} request`, this.#settings.onError)
      const { status, body } = dialect.encodeHttpError(error, isTooLarge(error) ? 413 : undefined)
      return this.#json(body, status, this.#headers(mediaTypeFor(request, dialect), request, dialect, error))
    }
  }

  /** The routes of the requested version; a response if none matches. */
  #candidates(
    request: HttpRequest,
    path: string,
    version: string | null,
    matches: readonly RouteMatch[],
  ): readonly [RouteMatch, ...RouteMatch[]] | HttpAnswer {
    const { method } = request
    const spoken = dialectsFor(this.#settings.dialects, version)
    const known = matches.filter(({ dialect }) => spoken.includes(dialect))
    const [first, ...others] = known.filter(({ route }) => route.verb === method)
    if (first !== undefined) return [first, ...others]
    const allowed = [...new Set(known.map(({ route }) => route.verb))]
    if (this.#routes.isRpc(path)) allowed.push('POST')
    const [dialect] = spoken
    const isThere = allowed.length > 0
    const { status, body } = dialect.encodeHttpError(
      noRoute(method, path, allowed),
      isThere ? 405 : undefined,
    )
    const headers = { 'content-type': mediaTypeFor(request, dialect) }
    return this.#json(body, status, isThere ? { ...headers, allow: allowed.join(', ') } : headers)
  }

  /** Several versions may have the same path: an agent at `/a2a` serves tasks where corvid-agent does. */
  async #choose(
    candidates: readonly [RouteMatch, ...RouteMatch[]],
    principal: P | undefined,
  ): Promise<RouteMatch> {
    const [first, ...others] = candidates
    if (others.length === 0) return first
    const dialects: Dialects = [first.dialect, ...others.map(({ dialect }) => dialect)]
    const chosen = await chooseDialect(dialects, first.params, (id) =>
      this.#operations.dialectOf?.(id, principal),
    )
    return candidates.find(({ dialect }) => dialect === chosen) ?? first
  }

  #respondCard(
    request: HttpRequest,
    version: string | null,
    all: Dialects,
  ): Promise<HttpAnswer> | HttpAnswer {
    if (!['GET', 'HEAD'].includes(request.method)) {
      return { status: 405, headers: { allow: 'GET, HEAD' }, body: null }
    }
    const { dialects } = this.#settings
    // A version that is not supported still gets the card, which lists those that are.
    const isNamed = Boolean(version?.trim()) && isSpoken(dialects, version)
    return this.#card.respond(request, isNamed ? dialectsFor(dialects, version) : all)
  }

  async #respondRpc(request: HttpRequest, version: string | null): Promise<HttpAnswer> {
    const { dialects, limits, onError } = this.#settings
    try {
      const principal = await this.#authenticate(request)
      const body = (await readJson(request, limits.maxBodyBytes, [JSON_TYPE])) ?? null
      const answer = await answerRpc(
        { settings: this.#settings, operations: this.#operations },
        body,
        version,
        (dialect) => this.#callerOf(request, dialect, principal, version),
      )
      const headers = this.#headers(
        JSON_TYPE,
        request,
        answer.dialect,
        'error' in answer ? answer.error : undefined,
      )
      if (answer.type === 'stream') return this.#events(answer.frames, headers)
      const { json, error } = answer
      return this.#json(json, error === undefined ? 200 : rpcStatusOf(error, answer.dialect), headers)
    } catch (thrown) {
      // The request was not read, so its id is unknown.
      const error = toA2AError(thrown, 'authenticate', onError)
      const [dialect] = isSpoken(dialects, version) ? dialectsFor(dialects, version) : dialects
      return this.#json(
        failure(null, dialect, error),
        rpcStatusOf(error, dialect),
        this.#headers(JSON_TYPE, request, dialect, error),
      )
    }
  }

  async #respondRest(
    request: HttpRequest,
    query: URLSearchParams,
    match: RouteMatch,
    principal: P | undefined,
  ): Promise<HttpAnswer> {
    const { dialect, route, params } = match
    const { maxBodyBytes, maxDepth } = this.#settings.limits
    const body =
      route.verb === 'POST' ? await readJson(request, maxBodyBytes, [A2A_TYPE, JSON_TYPE]) : undefined
    requireSafeJson(body, maxDepth)
    const caller = this.#callerOf(request, dialect, principal, versionOf(request, query))
    const asked = paramsOf(route, query, body, params)
    const performed = await perform(route.operation, this.#operations, dialect.rest, asked, caller)
    const headers = this.#headers(mediaTypeFor(request, dialect), request, dialect)
    if (performed.type === 'stream') {
      const { entries, encode } = performed
      const encodeError = (thrown: unknown): JsonValue =>
        dialect.encodeHttpError(toA2AError(thrown, route.operation, this.#settings.onError)).body
      return this.#events(new FrameStream(entries, { encode, encodeError }), headers)
    }
    // Responses differ by principal and change over time.
    headers['cache-control'] = 'private, no-cache'
    return this.#json(performed.json ?? {}, 200, headers)
  }

  async #authenticate(request: HttpRequest): Promise<P | undefined> {
    const { authenticate } = this.#settings
    if (authenticate === undefined) return undefined
    try {
      const principal = await authenticate(request.toFetch())
      if (principal) return requirePrincipal(principal)
    } catch (error) {
      throw toA2AError(error, 'authenticate', this.#settings.onError)
    }
    throw new A2AError('UNAUTHENTICATED', 'Authentication required', {})
  }

  #callerOf(
    request: HttpRequest,
    dialect: Dialect,
    principal: P | undefined,
    version: string | null,
  ): Caller<P> {
    return {
      dialect,
      namesVersion: Boolean(version?.trim()),
      principal,
      extensions: knownExtensions(
        this.#settings.card,
        request.header(dialect.extensionsHeader.toLowerCase()),
      ),
      lastGeneration: generationFromHeader(request.header('last-event-id')),
      get signal() {
        return request.signal
      },
    }
  }

  #headers(
    mediaType: string,
    request: HttpRequest,
    dialect: Dialect,
    error?: A2AError,
  ): Record<string, string> {
    const headers: Record<string, string> = { 'content-type': mediaType }
    const extensions = knownExtensions(
      this.#settings.card,
      request.header(dialect.extensionsHeader.toLowerCase()),
    )
    if (extensions.length > 0) headers[dialect.extensionsHeader] = extensions.join(', ')
    if (error?.code === 'UNAUTHENTICATED') headers['www-authenticate'] = this.#challenge
    if (error !== undefined && [429, 503].includes(WIRE_ERRORS[error.code].http)) {
      headers['retry-after'] = String(retryAfterSeconds(error))
    }
    return headers
  }

  #json(json: JsonValue, status: number, headers: Readonly<Record<string, string>>): HttpAnswer {
    return { status, headers, body: JSON.stringify(json) }
  }

  #events(frames: Source<Frame>, headers: Readonly<Record<string, string>>): HttpAnswer {
    return {
      status: 200,
      headers: { ...headers, ...SSE_HEADERS },
      body: { frames, heartbeat: this.#heartbeat },
    }
  }
}

/** 200 for JSON-RPC errors, unless HTTP has its own status for them or the request could not be read. */
function rpcStatusOf(error: A2AError, { isAlwaysOk = false }: Dialect): number {
  const { http } = WIRE_ERRORS[error.code]
  if (isAlwaysOk && http !== 401 && http !== 403) return 200
  const isOfHttp = [401, 403, 429].includes(http) || http >= 500
  const isUnread = ['PARSE_ERROR', 'INVALID_REQUEST', 'CONTENT_TYPE_NOT_SUPPORTED'].includes(error.code)
  if (isTooLarge(error)) return 413
  return isOfHttp || isUnread ? http : 200
}

function isTooLarge(error: A2AError): boolean {
  return A2AError.is(error, 'LIMIT_EXCEEDED') && error.data.limit === 'maxBodyBytes'
}

/** The version that a request names, in its header or in its query (A2A 1.0 §3.6.1). */
function versionOf(request: HttpRequest, query: URLSearchParams): string | null {
  return request.header('a2a-version') || query.get('A2A-Version')
}

/** A2A's own media type, unless the client takes plain JSON only (A2A 1.0 §11.1). */
function mediaTypeFor(request: HttpRequest, dialect: Dialect): string {
  const accept = request.header('accept') ?? '*/*'
  const takesOwn = ['*/*', 'application/*', dialect.mediaType].some((type) => accept.includes(type))
  return takesOwn ? dialect.mediaType : JSON_TYPE
}

/** At least 1: an immediate retry would fail again. */
function retryAfterSeconds(error: A2AError): number {
  const { retryAfterMs = 0 } = hasRetryAfter(error) ? error.data : {}
  return Math.max(1, Math.ceil(retryAfterMs / 1_000))
}

/** `WWW-Authenticate` for the card's security schemes (RFC 9110 §11.6.1); `Bearer` where the card has no HTTP scheme. */
function challengeOf({ securitySchemes = {}, name }: AgentCard): string {
  const realm = name.replace(/[^\x20-\x7e]|["\\]/g, '')
  const schemes = Object.values(securitySchemes).flatMap((scheme) => {
    const { httpAuthSecurityScheme: http } = scheme
    if (http !== undefined)
      return [/^[\w!#$%&'*+.^`|~-]+$/.test(http.scheme) ? capitalize(http.scheme) : 'Bearer']
    return scheme.oauth2SecurityScheme || scheme.openIdConnectSecurityScheme ? ['Bearer'] : []
  })
  const asked = schemes.length === 0 ? ['Bearer'] : [...new Set(schemes)]
  return asked.map((scheme) => `${scheme} realm="${realm}"`).join(', ')
}

function capitalize(scheme: string): string {
  return scheme.charAt(0).toUpperCase() + scheme.slice(1)
}
