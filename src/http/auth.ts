/**
 * Authenticators for requests. Their secrets do not appear when they are logged or serialized.
 *
 * @module
 */
import type { Authenticator } from './authenticator.js'
import { invalidParams } from '../core/errors.js'
import { type Clock, keepAliveClock } from '../runtime/clock.js'
import { platformFetch, type Fetch } from '../runtime/fetch.js'
import { ExternalServiceError } from './errors.js'
import { request, type Answer, type HttpSettings } from './request.js'
import type { Unread } from '../runtime/unread.js'
import { fieldsOf, asText } from './json.js'
import {
  requireClock,
  requireFunctions,
  requireKnown,
  requireOneOf,
  requirePositive,
  requireText,
} from '../runtime/options.js'
import { shownUrl } from './url.js'
import type { UrlGuard } from './url-guard.js'

/** A bearer token, or a function that returns the current one. */
export type TokenSource = string | (() => string | Promise<string>)

/**
 * Sends `Authorization: Bearer …`. A function is called for every request, and once more when the agent refuses its token
 * (401): if it then returns a different token, the request is sent again, once.
 *
 * @throws {A2AError} `INVALID_PARAMS` when the token is empty or not valid in a header. With a function, requests reject
 *   with that error, or with `UNAUTHENTICATED` and the function's own error as `cause`.
 * @example
 * const agent = await A2AClient.connect(url, { auth: bearerAuth(() => session.accessToken()) })
 */
export function bearerAuth(token: TokenSource): Authenticator {
  if (typeof token !== 'function') {
    const header = bearer(token)
    return { apply: ({ headers }) => headers.set('authorization', header) }
  }
  return {
    async apply({ headers }) {
      headers.set('authorization', bearer(await token()))
    },
    async renew({ headers }) {
      return bearer(await token()) !== headers.get('authorization')
    },
  }
}

/** An API key and its place in a request. */
export interface ApiKey {
  /** Name of the header, the query parameter or the cookie. */
  readonly name: string
  readonly value: string
  /** The place, as in the card's `apiKeySecurityScheme.location`. Browsers do not let code set cookies this way. */
  readonly in: 'header' | 'query' | 'cookie'
}

/**
 * Sends an API key with every request (A2A 1.0 §4.5.2).
 *
 * @throws {TypeError} when a property is unknown, or `in` is not one of its three values.
 * @throws {A2AError} `INVALID_PARAMS` when `name` or `value` is empty, or not valid in that place.
 * @example
 * const agent = await A2AClient.connect(url, { auth: apiKeyAuth({ in: 'header', name: 'X-API-Key', value: key }) })
 */
export function apiKeyAuth(options: ApiKey): Authenticator {
  requireKnown(options, ['name', 'value', 'in'], 'apiKeyAuth')
  const { name, value, in: place } = options
  requireOneOf('in', place, Object.keys(VALUES))
  requireCredential('name', name, place === 'query' ? ANY : HTTP_TOKEN)
  requireCredential('value', value, VALUES[place])
  return {
    apply({ url, headers }) {
      if (place === 'query') url.searchParams.set(name, value)
      else if (place === 'header') headers.set(name, value)
      else headers.set('cookie', [headers.get('cookie'), `${name}=${value}`].filter(Boolean).join('; '))
    },
  }
}

/** Options of {@link clientCredentialsAuth}. */
export interface ClientCredentials {
  /** URL of the authorization server's token endpoint. */
  readonly tokenUrl: string
  readonly clientId: string
  readonly clientSecret: string
  /** Requested scopes, separated by spaces. */
  readonly scope?: string | undefined
  /** The `audience` parameter of the token request. */
  readonly audience?: string | undefined
  /** Further parameters of the token request, such as `resource`. */
  readonly params?: Readonly<Record<string, string>> | undefined
  /** Sends id and secret in the header `Authorization` (`'basic'`) or in the body. Default is `'basic'`. */
  readonly clientAuthentication?: 'basic' | 'body' | undefined
  /** Time before its expiry, in ms, at which a token is replaced; at most half of its lifetime. Default is 30,000. */
  readonly expirySkewMs?: number | undefined
  /** Time limit of a token request, in ms. Default is 10,000. */
  readonly timeoutMs?: number | undefined
  /** Sends the token requests. Default is the platform's `fetch`. */
  readonly fetch?: Fetch | undefined
  /** Measures timeouts and expiry. Default is the platform's clock. */
  readonly clock?: Clock | undefined
  /** Checks the URL of every token request. Default is none. */
  readonly urlGuard?: UrlGuard | undefined
}

const KEYS = [
  'tokenUrl',
  'clientId',
  'clientSecret',
  'scope',
  'audience',
  'params',
  'clientAuthentication',
  'expirySkewMs',
  'timeoutMs',
  'fetch',
  'clock',
  'urlGuard',
]

interface Token {
  /** The value of the `Authorization` header. */
  readonly header: string
  /** Compared with the clock's `now`. */
  readonly usableUntil: number
  readonly refreshToken: string | undefined
}

/**
 * Authenticates with OAuth 2.0 client credentials (RFC 6749 §4.4). All requests share one token until it is about to
 * expire or is refused; then it is replaced, with its refresh token if it has one. Concurrent requests share one token
 * request.
 *
 * Requests reject with `EXTERNAL_SERVICE_ERROR` (service `OAuth`) when the server returns no token, with
 * `REQUEST_TIMED_OUT`, or with `URL_BLOCKED`. Errors never contain the secret, a token, or text from the server.
 *
 * @throws {TypeError | RangeError} naming the option that is unknown, missing or has an invalid value.
 * @example
 * const auth = clientCredentialsAuth({ tokenUrl: 'https://login.example/token', clientId, clientSecret })
 */
export function clientCredentialsAuth(options: ClientCredentials): Authenticator {
  requireKnown(options, KEYS, 'clientCredentialsAuth')
  const { clock = keepAliveClock, clientAuthentication = 'basic' } = options
  for (const name of ['tokenUrl', 'clientId', 'clientSecret'] as const) requireText(name, options[name])
  requireOneOf('clientAuthentication', clientAuthentication, ['basic', 'body'])
  requireFunctions(options, ['fetch', 'urlGuard'])
  requireClock(clock)
  const endpoint = new TokenEndpoint(options, clock)
  let token: Token | undefined
  let pending: Promise<Token> | undefined

  const next = (): Promise<Token> => {
    const last = token
    pending ??= endpoint.fetch(last?.refreshToken).then(
      (fetched) => {
        pending = undefined
        return (token = fetched)
      },
      (error: unknown) => {
        pending = undefined
        throw error
      },
    )
    return pending
  }
  return {
    async apply({ headers }) {
      const usable = token !== undefined && clock.now() < token.usableUntil ? token : await next()
      headers.set('authorization', usable.header)
    },
    async renew({ headers }) {
      const refused = headers.get('authorization')
      // After an earlier refusal of the same token, another request may have replaced it already.
      if (token?.header === refused) token = await next()
      return token?.header !== refused
    },
  }
}

/** Error codes of RFC 6749 §5.2, the only text of the server that errors repeat: other text may contain the secret. */
const OAUTH_ERRORS = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
]

/** Requests tokens from the authorization server. */
class TokenEndpoint {
  readonly #options: ClientCredentials
  readonly #http: HttpSettings
  readonly #skewMs: number
  readonly #timeoutMs: number

  constructor(options: ClientCredentials, clock: Clock) {
    const { clientId, clientSecret, clientAuthentication = 'basic', fetch = platformFetch } = options
    const isBasic = clientAuthentication === 'basic'
    const headers = isBasic
      ? { authorization: `Basic ${btoa(`${formEncode(clientId)}:${formEncode(clientSecret)}`)}` }
      : {}
    this.#options = options
    this.#http = { fetch, clock, headers, urlGuard: options.urlGuard, maxResponseBytes: 1_048_576 }
    this.#skewMs = requirePositive('expirySkewMs', options.expirySkewMs ?? 30_000)
    this.#timeoutMs = requirePositive('timeoutMs', options.timeoutMs ?? 10_000)
  }

  async fetch(refreshToken: string | undefined): Promise<Token> {
    const { scope, audience, params } = this.#options
    if (refreshToken !== undefined) {
      const refreshed = await this.#request({ grant_type: 'refresh_token', refresh_token: refreshToken })
      try {
        return this.#read(refreshed, refreshToken)
      } catch {
        // The refresh token is no longer valid; the credentials still are.
      }
    }
    const grant = { grant_type: 'client_credentials', scope, audience, ...params }
    return this.#read(await this.#request(grant), undefined)
  }

  #request(grant: Readonly<Record<string, string | undefined>>): Promise<Answer> {
    const { tokenUrl, clientId, clientSecret, clientAuthentication } = this.#options
    const client = clientAuthentication === 'body' ? { client_id: clientId, client_secret: clientSecret } : {}
    const body = new URLSearchParams(client)
    for (const [name, value] of Object.entries(grant)) if (value !== undefined) body.set(name, value)
    const headers = { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' }
    const call = { method: 'POST', url: tokenUrl, headers, body: body.toString() } as const
    return request(this.#http, call, { timeoutMs: this.#timeoutMs })
  }

  #read({ status, text }: Answer, refreshToken: string | undefined): Token {
    const answer = parseFields(text)
    if (status < 200 || status > 299) {
      const error = OAUTH_ERRORS.find((known) => known === answer['error'])
      throw this.#noToken(`HTTP ${status}${error === undefined ? '' : ` ${error}`}`, status)
    }
    const {
      access_token: access,
      token_type: type = 'Bearer',
      expires_in: expiresIn,
      refresh_token: next,
    } = answer
    if (typeof access !== 'string' || !TOKEN.test(access)) {
      throw this.#noToken('its answer has no access_token')
    }
    if (asText(type).toLowerCase() !== 'bearer') throw this.#noToken('it is not a bearer token')
    // Some servers send `expires_in` as text. Without it, the token is used until it is refused.
    const lifeMs = (typeof expiresIn === 'number' ? expiresIn : parseFloat(asText(expiresIn))) * 1000
    const usableMs = Number.isNaN(lifeMs) ? Infinity : lifeMs - Math.min(this.#skewMs, lifeMs / 2)
    return {
      header: `Bearer ${access}`,
      usableUntil: this.#http.clock.now() + usableMs,
      refreshToken: typeof next === 'string' ? next : refreshToken,
    }
  }

  #noToken(reason: string, status?: number): ExternalServiceError {
    const url = shownUrl(this.#options.tokenUrl)
    return new ExternalServiceError('OAuth', `No token from ${url}: ${reason}`, {
      url,
      ...(status !== undefined && { status }),
    })
  }
}

function parseFields(text: string): Unread {
  try {
    return fieldsOf(JSON.parse(text))
  } catch {
    // The text may contain a token, so no error quotes it.
    return {}
  }
}

/** Form encoding, which RFC 6749 §2.3.1 requires for credentials in the header. */
function formEncode(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1)
}

const ANY = /./s
const TOKEN = /^[\x21-\x7e]+$/
const HTTP_TOKEN = /^[\w!#$%&'*+.^`|~-]+$/
const FIELD = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/
const COOKIE = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]+$/

/** The valid values of an API key by its place. */
const VALUES = { header: FIELD, query: ANY, cookie: COOKIE }

function bearer(token: string): string {
  requireCredential('token', token, TOKEN)
  return `Bearer ${token}`
}

/** Throws without quoting the text, which may be a secret. */
function requireCredential(path: string, text: unknown, pattern: RegExp): asserts text is string {
  if (typeof text === 'string' && pattern.test(text)) return
  throw invalidParams(
    path,
    text === '' || text === undefined ? 'is required' : 'has characters that a request cannot contain',
  )
}
