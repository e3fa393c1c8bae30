/**
 * The HTTP layer of the agent: routing, authentication, status codes and headers.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { JsonValue } from '../../core/json-types.js'
import type { MaybePromise } from '../../core/managers.js'
import { retryAfterSeconds, WIRE_ERRORS } from '../../wire/errors.js'
import type { Dialect, Operation, Probe } from '../../wire/dialect.js'
import { bodyStatusOf, BodyReader } from './body.js'
import { CardRoute } from './card-route.js'
import { challengeOf } from './challenge.js'
import type { EventSource, HttpAnswer, HttpRequest } from './exchange.js'
import { FrameStream, toA2AError } from '../streams/frame-stream.js'
import { requireSafeJson } from './safe-json.js'
import { answerRpc, failure, isRpcBody } from './json-rpc.js'
import { LargeTexts, type LargeText } from './large-texts.js'
import type { IsInMemory } from './removed-tasks.js'
import {
  chooseDialect,
  isSpoken,
  knownExtensions,
  nonEmpty,
  dialectsFor,
  type Dialects,
} from '../negotiation.js'
import type { BindingSettings } from '../options.js'
import { isPromise } from '../tasks.js'
import { perform, type Operations, type Received } from '../operations/perform.js'
import { noRoute, paramsOf } from './rest.js'
import { normalPath, Routes, type RouteMatch } from './routes.js'
import { LatestEvent } from '../streams/latest-event.js'
import { eventHead, formatFrame, SseHeartbeat, SSE_HEADERS, type Frame } from '../streams/sse.js'
import { hintForPath } from '../unserved.js'
import {
  generationFromHeader,
  readIdempotencyKey,
  requirePrincipal,
  requireRate,
  type Caller,
  type Principal,
} from '../caller.js'

const CARD_PATH = '/.well-known/agent-card.json'
/** The path that clients of versions before 0.3, and of KAOS, request. */
const OLD_CARD_PATH = '/.well-known/agent.json'
const JSON_TYPE = 'application/json'
const A2A_TYPE = 'application/a2a+json'

/** The parts of a request's URL. */
interface Target {
  readonly url: string
  readonly pathname: string
  readonly query: URLSearchParams
}

/** What a caller knows of its connection. */
interface Connection {
  request: HttpRequest | undefined
}

export class HttpBinding<P extends Principal> {
  readonly #settings: BindingSettings<P>
  readonly #operations: Operations<P>
  readonly #routes: Routes
  readonly #card: CardRoute
  readonly #bodies: BodyReader
  readonly #heartbeat: SseHeartbeat
  readonly #texts: LargeTexts
  readonly #latest: LatestEvent
  readonly #challenge: string
  /** The dialects of the card, for requests that name no version. */
  readonly #inCards: Dialects
  readonly #probes: ReadonlyMap<string, Probe>
  /** That of the latest request: most go to the same URL. */
  #target: Target | undefined
  #isClosing = false

  constructor(settings: BindingSettings<P>, operations: Operations<P>, isInMemory: IsInMemory) {
    const { card, clock, cardMaxAgeSeconds, dialects, heartbeatMs, limits } = settings
    this.#settings = settings
    this.#operations = operations
    this.#routes = new Routes(card, dialects)
    this.#card = new CardRoute(card, cardMaxAgeSeconds, clock)
    this.#bodies = new BodyReader(limits, clock)
    this.#heartbeat = new SseHeartbeat(clock, heartbeatMs)
    // The other half is for what sockets have not taken.
    this.#texts = new LargeTexts(limits.maxPendingBytes / 2, isInMemory)
    this.#latest = new LatestEvent(this.#texts)
    this.#challenge = challengeOf(card)
    this.#probes = new Map(dialects.flatMap(({ probes = [] }) => [...probes]))
    this.#inCards = nonEmpty(dialects.filter(({ isInCards }) => isInCards)) ?? dialects
  }

  /** From now on the agent is not ready for work. */
  close(): void {
    this.#isClosing = true
  }

  /** Never rejects. */
  readonly respond = async (request: HttpRequest): Promise<HttpAnswer> => {
    const [preferred] = this.#settings.dialects
    let dialect = preferred
    try {
      // A message may have had tasks removed.
      if (request.method === 'POST') this.#texts.trim()
      const { pathname, query } = this.#targetOf(request)
      const version = versionOf(request, query)
      if (pathname.endsWith(CARD_PATH)) return await this.#respondCard(request, version, this.#inCards)
      if (pathname.endsWith(OLD_CARD_PATH)) {
        return await this.#respondCard(request, version, this.#settings.dialects)
      }
      if (request.method === 'POST' && this.#routes.isRpc(pathname))
        return await this.#respondRpc(request, version)
      const probed = this.#probe(request, pathname)
      if (probed !== undefined) return probed
      const matches = this.#routes.match(pathname)
      dialect = matches[0]?.dialect ?? preferred
      const candidates = this.#candidates(request, pathname, version, matches)
      if ('status' in candidates)
        return mayBeRpc(request, matches) ? await this.#respondRpc(request, version, candidates) : candidates
      dialect = candidates[0].dialect
      const admitted = this.#admit(request)
      const principal = isPromise(admitted) ? await admitted : admitted
      const match = candidates.length === 1 ? candidates[0] : await this.#choose(candidates, principal)
      dialect = match.dialect
      return await this.#respondRest(request, query, match, principal)
    } catch (thrown) {
      const error = toA2AError(thrown, `${request.method} request`, this.#settings.onError)
      request.trail?.record({ error })
      const { status, body } = dialect.encodeHttpError(error, bodyStatusOf(error))
      return this.#json(body, status, this.#headers(mediaTypeFor(request, dialect), request, dialect, error))
    }
  }

  #targetOf({ url }: HttpRequest): Target {
    if (this.#target?.url === url) return this.#target
    const { pathname, searchParams } = new URL(url)
    return (this.#target = { url, pathname: normalPath(pathname), query: searchParams })
  }

  /** The routes of the requested version; a response if none matches. */
  #candidates(
    request: HttpRequest,
    path: string,
    version: string | null,
    matches: readonly RouteMatch[],
  ): readonly [RouteMatch, ...RouteMatch[]] | HttpAnswer {
    const { method } = request
    const served = dialectsFor(this.#settings.dialects, version)
    const known = matches.filter(({ dialect }) => served.includes(dialect))
    const [first, ...others] = known.filter(({ route }) => route.verb === method)
    if (first !== undefined) return [first, ...others]
    const allowed = [...new Set(known.map(({ route }) => route.verb))]
    const isRpc = this.#routes.isRpc(path)
    if (isRpc) allowed.push('POST')
    const [dialect] = served
    const isThere = allowed.length > 0
    const hint = hintForPath(this.#settings.dialects, method, path)
    const { status, body } = dialect.encodeHttpError(
      noRoute(method, path, isRpc ? [...allowed, `GET …${CARD_PATH}`] : allowed, hint),
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

  /** Whether the agent is alive or ready, for callers that have no credentials. */
  #probe(request: HttpRequest, pathname: string): HttpAnswer | undefined {
    const end = pathname.lastIndexOf('/')
    const probe = this.#probes.get(pathname.slice(end))
    if (probe === undefined || !this.#routes.isRpc(pathname.slice(0, end))) return undefined
    request.trail?.record({ route: pathname.slice(end) })
    if (!['GET', 'HEAD'].includes(request.method)) {
      return { status: 405, headers: { allow: 'GET, HEAD' }, body: null }
    }
    const status = probe.isOfReadiness && this.#isClosing ? 503 : 200
    const { card, clock } = this.#settings
    const json = probe.answer(card.name, clock.now())
    const headers = { 'content-type': JSON_TYPE, 'cache-control': 'no-store' }
    return { status, headers, body: request.method === 'HEAD' ? null : JSON.stringify(json) }
  }

  #respondCard(
    request: HttpRequest,
    version: string | null,
    all: Dialects,
  ): Promise<HttpAnswer> | HttpAnswer {
    request.trail?.record({ route: CARD_PATH })
    if (!['GET', 'HEAD'].includes(request.method)) {
      return { status: 405, headers: { allow: 'GET, HEAD' }, body: null }
    }
    const { dialects } = this.#settings
    // A version that is not supported still gets the card, which lists those that are.
    const isNamed = Boolean(version?.trim()) && isSpoken(dialects, version)
    return this.#card.respond(request, isNamed ? dialectsFor(dialects, version) : all)
  }

  /** @param elsewhere - The answer to a request that is not of JSON-RPC, at a path that a proxy may have replaced. */
  async #respondRpc(
    request: HttpRequest,
    version: string | null,
    elsewhere?: HttpAnswer,
  ): Promise<HttpAnswer> {
    const { dialects, onError } = this.#settings
    const connection: Connection = { request }
    if (elsewhere === undefined) request.trail?.record({ binding: 'JSONRPC' })
    try {
      const admitted = this.#admit(request)
      const principal = isPromise(admitted) ? await admitted : admitted
      const body = { value: await this.#bodies.readJson(request, [JSON_TYPE]) }
      if (elsewhere !== undefined && !isRpcBody(body.value)) return elsewhere
      if (body.value === undefined) throw noBody()
      const answer = await answerRpc(
        {
          settings: this.#settings,
          operations: this.#operations,
          encoder: this.#latest,
          trail: request.trail,
        },
        body,
        version,
        (dialect) => this.#callerOf(request, dialect, principal, version, connection),
      )
      connection.request = undefined
      const headers = this.#headers(
        JSON_TYPE,
        request,
        answer.dialect,
        'error' in answer ? answer.error : undefined,
      )
      if (answer.type === 'stream') return this.#events(answer.frames, headers)
      const { json, error } = answer
      const status = error === undefined ? 200 : rpcStatusOf(error, answer.dialect)
      const response = this.#answer(json, status, headers)
      return isPromise(response) ? await response : response
    } catch (thrown) {
      // The request was not read, so its id is unknown.
      const error = toA2AError(thrown, 'authenticate', onError)
      if (elsewhere !== undefined && error.code === 'PARSE_ERROR') return elsewhere
      const [dialect] = isSpoken(dialects, version) ? dialectsFor(dialects, version) : dialects
      return this.#json(
        failure(null, dialect, error, request.trail),
        unreadStatusOf(error, dialect),
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
    const { dialect, route } = match
    const { trail } = request
    trail?.record({ binding: 'HTTP+JSON' })
    const { received, operation } = await this.#receive(request, query, match)
    const connection: Connection = { request }
    const caller = this.#callerOf(request, dialect, principal, versionOf(request, query), connection)
    const performing = { encoder: this.#latest, trail }
    const performed = await perform(operation, this.#operations, dialect.rest, received, caller, performing)
    connection.request = undefined
    const headers = this.#headers(mediaTypeFor(request, dialect), request, dialect)
    if (performed.type === 'stream') {
      const { entries, encode } = performed
      const encodeError = (thrown: unknown): JsonValue => {
        const error = toA2AError(thrown, operation, this.#settings.onError)
        trail?.record({ error })
        return dialect.encodeHttpError(error).body
      }
      return this.#events(
        new FrameStream(entries, {
          ...{ encode, encodeError, namesErrors: true, end: route.stream?.end },
        }),
        headers,
      )
    }
    // Responses differ by principal and change over time.
    headers['cache-control'] = 'private, no-cache'
    return this.#answer(performed.json ?? {}, 200, headers)
  }

  /** Not part of the method that waits for the operation, which would keep the parameters. */
  async #receive(
    request: HttpRequest,
    query: URLSearchParams,
    match: RouteMatch,
  ): Promise<{ readonly received: Received; readonly operation: Operation }> {
    const value = await this.#paramsOf(request, query, match)
    const { stream, operation } = match.route
    const isStream = stream?.when(value) === true
    return { received: { value }, operation: isStream ? 'SendStreamingMessage' : operation }
  }

  async #paramsOf(
    request: HttpRequest,
    query: URLSearchParams,
    { route, params }: RouteMatch,
  ): Promise<Record<string, unknown>> {
    const body =
      route.verb === 'POST' ? await this.#bodies.readJson(request, [A2A_TYPE, JSON_TYPE]) : undefined
    requireSafeJson(body, this.#settings.limits.maxDepth)
    return paramsOf(route, query, body, params, (name) => request.header(name))
  }

  /** The client, if it may send a request now. */
  #admit(request: HttpRequest): MaybePromise<P | undefined> {
    const { authenticate, rateLimiter } = this.#settings
    if (authenticate !== undefined || request.principal !== undefined) return this.#authenticate(request)
    requireRate(rateLimiter, undefined)
    return undefined
  }

  async #authenticate(request: HttpRequest): Promise<P> {
    const principal = await this.#principalOf(request)
    requireRate(this.#settings.rateLimiter, principal)
    return principal
  }

  async #principalOf(request: HttpRequest): Promise<P> {
    const { authenticate } = this.#settings
    try {
      // `fetch` and `toNodeListener` take the type of this handler's principals.
      const known = (await request.principal?.()) as P | null | undefined
      const principal = known ?? (await authenticate?.(request.toFetch()))
      if (principal) return requirePrincipal(principal)
    } catch (error) {
      throw toA2AError(error, 'authenticate', this.#settings.onError)
    }
    throw new A2AError('UNAUTHENTICATED', 'Authentication required', {})
  }

  /** @param connection Has the request until its operation has answered. The caller does not keep it any longer. */
  #callerOf(
    request: HttpRequest,
    dialect: Dialect,
    principal: P | undefined,
    version: string | null,
    connection: Connection,
  ): Caller<P> {
    return {
      dialect,
      namesVersion: Boolean(version?.trim()),
      principal,
      extensions: knownExtensions(
        this.#settings.card,
        request.header(dialect.extensionsHeader.toLowerCase()),
      ),
      idempotencyKey: readIdempotencyKey(request.header('idempotency-key')),
      lastGeneration: generationFromHeader(request.header('last-event-id')),
      get signal() {
        return connection.request?.signal
      },
      ownsJson: true,
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
    if (error !== undefined && [429, 503].includes(bodyStatusOf(error) ?? WIRE_ERRORS[error.code].http)) {
      headers['retry-after'] = String(retryAfterSeconds(error))
    }
    return headers
  }

  #json(json: JsonValue, status: number, headers: Readonly<Record<string, string>>): HttpAnswer {
    return { status, headers, body: JSON.stringify(json) }
  }

  #answer(
    json: JsonValue,
    status: number,
    headers: Readonly<Record<string, string>>,
  ): MaybePromise<HttpAnswer> {
    if (!this.#texts.isLarge(json)) return this.#json(json, status, headers)
    return this.#texts.of(json).then((body) => ({ status, headers, body }))
  }

  readonly #textOf = (frame: Frame): string | Promise<LargeText> => {
    const { json, event, id } = frame
    const shared = this.#latest.textOf(json)
    if (shared !== undefined) return `${eventHead(event, id)}data: ${shared}\n\n`
    if (!this.#texts.isLarge(json)) return formatFrame(frame)
    return this.#texts.of(json, `${eventHead(event, id)}data: `, '\n\n')
  }

  #events(frames: EventSource['frames'], headers: Readonly<Record<string, string>>): HttpAnswer {
    return {
      status: 200,
      headers: { ...headers, ...SSE_HEADERS },
      body: { frames, heartbeat: this.#heartbeat, textOf: this.#textOf },
    }
  }
}

/** Whether a request at a path without a route may be one of JSON-RPC, whose path a proxy has replaced. */
function mayBeRpc(request: HttpRequest, matches: readonly RouteMatch[]): boolean {
  const isJson = /^application\/json\b/i.test(request.header('content-type') ?? '')
  return request.method === 'POST' && matches.length === 0 && isJson
}

/** The statuses with which HTTP itself refuses a request, also over JSON-RPC. */
const REFUSALS: readonly number[] = [401, 403, 429, 503]

/** 200 for JSON-RPC errors, as in the official SDKs, unless HTTP itself refuses the request. */
function rpcStatusOf(error: A2AError, { isAlwaysOk = false }: Dialect): number {
  const { http } = WIRE_ERRORS[error.code]
  if (isAlwaysOk && http !== 401 && http !== 403) return 200
  return bodyStatusOf(error) ?? (REFUSALS.includes(http) ? http : 200)
}

/**
 * The status for a request that was not read, so its client may wait for a stream. A2A 1.0.0 and 1.0.1 have different ones
 * for the media type of its body.
 */
function unreadStatusOf(error: A2AError, dialect: Dialect): number {
  const { status } = dialect.encodeHttpError(error)
  const isOfHttp = error.code === 'CONTENT_TYPE_NOT_SUPPORTED' || status >= 500
  return isOfHttp && dialect.isAlwaysOk !== true ? status : rpcStatusOf(error, dialect)
}

function noBody(): A2AError {
  const reason = 'The request has no body'
  return new A2AError('PARSE_ERROR', reason, { reason })
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
