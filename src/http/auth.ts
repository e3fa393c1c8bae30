/**
 * Authenticators for requests. None shows its secrets when it is printed or made JSON.
 *
 * @module
 */
import type { Authenticator } from './authenticator.js'
import { invalidParams } from '../core/errors.js'
import { type Clock, keepAliveClock } from '../runtime/clock.js'
import { platformFetch, type Fetch } from '../runtime/fetch.js'
import { ExternalServiceError } from './errors.js'
import { request, type Answer, type HttpSettings } from './request.js'
import { fieldsOf, asText, type Unread } from './json.js'
import { requireKnown, requirePositive } from '../runtime/options.js'
import { shownUrl } from './url.js'
import type { UrlGuard } from './url-guard.js'

export type TokenSource = string | (() => string | Promise<string>)

/**
 * `Authorization: Bearer …`. A function is called for every request, and once more when the agent refuses its token: the
 * request is sent again if it has another by then.
 *
 * @throws {A2AError} `INVALID_PARAMS` when the token is empty or no header can hold it; with a function, the requests are
 *   rejected with that, or with `UNAUTHENTICATED` whose `cause` is what it throws.
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

export interface ApiKey {
  /** Of the header, the query parameter or the cookie. */
  readonly name: string
  readonly value: string
  /** As in the card's `apiKeySecurityScheme.location`. In a browser no cookie can be set so. */
  readonly in: 'header' | 'query' | 'cookie'
}

/**
 * A key in every request (A2A 1.0 §4.5.2).
 *
 * @throws {A2AError} `INVALID_PARAMS` when `name` or `value` is empty, or cannot stand there.
 */
export function apiKeyAuth({ name, value, in: place }: ApiKey): Authenticator {
  requireText('name', name, place === 'query' ? ANY : HTTP_TOKEN)
  requireText('value', value, { header: FIELD, query: ANY, cookie: COOKIE }[place])
  return {
    apply({ url, headers }) {
      if (place === 'query') url.searchParams.set(name, value)
      else if (place === 'header') headers.set(name, value)
      else headers.set('cookie', [headers.get('cookie'), `${name}=${value}`].filter(Boolean).join('; '))
    },
  }
}

export interface ClientCredentials {
  /** Where tokens are to be had. */
  readonly tokenUrl: string
  readonly clientId: string
  readonly clientSecret: string
  /** What the token shall allow, separated by spaces. */
  readonly scope?: string | undefined
  readonly audience?: string | undefined
  /** Whatever else the server wants to know, such as `resource`. */
  readonly params?: Readonly<Record<string, string>> | undefined
  /** Where id and secret stand: in the header `Authorization`, or in the body. Default is `'basic'`. */
  readonly clientAuthentication?: 'basic' | 'body' | undefined
  /** How long before its end a token is no longer used, in ms, at most half of its life. Default is 30,000. */
  readonly expirySkewMs?: number | undefined
  /** How long the server may take, in ms. Default is 10,000. */
  readonly timeoutMs?: number | undefined
  readonly fetch?: Fetch | undefined
  readonly clock?: Clock | undefined
  readonly urlGuard?: UrlGuard | undefined
}

const KEYS = [
  ...['tokenUrl', 'clientId', 'clientSecret', 'scope', 'audience', 'params', 'clientAuthentication'],
  ...['expirySkewMs', 'timeoutMs', 'fetch', 'clock', 'urlGuard'],
]

interface Token {
  /** As in `Authorization`. */
  readonly header: string
  /** By the clock's `now`. */
  readonly usableUntil: number
  readonly refreshToken: string | undefined
}

/**
 * OAuth 2.0 client credentials (RFC 6749 §4.4): one token for all requests until it is about to expire or is refused,
 * then the next, by its refresh token where it has one. However many requests need a token, one asks for it.
 *
 * Requests are rejected with `EXTERNAL_SERVICE_ERROR` (service `OAuth`) when the server gives no token, `REQUEST_TIMED_OUT`,
 * `URL_BLOCKED`. No error holds the secret, a token, or what the server said.
 *
 * @throws {A2AError} `INVALID_PARAMS`; `TypeError` or `RangeError` naming the option that makes no sense.
 */
export function clientCredentialsAuth(options: ClientCredentials): Authenticator {
  requireKnown(options, KEYS, 'clientCredentialsAuth')
  for (const name of ['tokenUrl', 'clientId', 'clientSecret'] as const) requireText(name, options[name], ANY)
  const { clock = keepAliveClock } = options
  const endpoint = new TokenEndpoint(options, clock)
  let token: Token | undefined
  let flight: Promise<Token> | undefined

  const next = (): Promise<Token> => {
    const last = token
    flight ??= endpoint.fetch(last?.refreshToken).then(
      (fetched) => {
        flight = undefined
        return (token = fetched)
      },
      (error: unknown) => {
        flight = undefined
        throw error
      },
    )
    return flight
  }
  return {
    async apply({ headers }) {
      const usable = token !== undefined && clock.now() < token.usableUntil ? token : await next()
      headers.set('authorization', usable.header)
    },
    async renew({ headers }) {
      const refused = headers.get('authorization')
      // Another request may have been refused earlier, and there is a new one already.
      if (token?.header === refused) token = await next()
      return token?.header !== refused
    },
  }
}

/** RFC 6749 §5.2. Nothing else that the server says is told: it may repeat what it was told. */
const OAUTH_ERRORS = [
  ...['invalid_request', 'invalid_client', 'invalid_grant', 'unauthorized_client', 'unsupported_grant_type'],
  'invalid_scope',
]

class TokenEndpoint {
  readonly #options: ClientCredentials
  readonly #http: HttpSettings
  readonly #skewMs: number
  readonly #timeoutMs: number

  constructor(options: ClientCredentials, clock: Clock) {
    const { clientId, clientSecret, clientAuthentication = 'basic', fetch = platformFetch } = options
    const isBasic = clientAuthentication === 'basic'
    const headers = isBasic
      ? { authorization: `Basic ${btoa(`${form(clientId)}:${form(clientSecret)}`)}` }
      : {}
    this.#options = options
    this.#http = { fetch, clock, headers, urlGuard: options.urlGuard, maxResponseBytes: 1_048_576 }
    this.#skewMs = requirePositive('expirySkewMs', options.expirySkewMs ?? 30_000)
    this.#timeoutMs = requirePositive('timeoutMs', options.timeoutMs ?? 10_000)
  }

  async fetch(refreshToken: string | undefined): Promise<Token> {
    const { scope, audience, params } = this.#options
    if (refreshToken !== undefined) {
      const refreshed = await this.#ask({ grant_type: 'refresh_token', refresh_token: refreshToken })
      try {
        return this.#read(refreshed, refreshToken)
      } catch {
        // It is spent; the credentials are good for another.
      }
    }
    const grant = { grant_type: 'client_credentials', scope, audience, ...params }
    return this.#read(await this.#ask(grant), undefined)
  }

  #ask(grant: Readonly<Record<string, string | undefined>>): Promise<Answer> {
    const { tokenUrl, clientId, clientSecret, clientAuthentication } = this.#options
    const client = clientAuthentication === 'body' ? { client_id: clientId, client_secret: clientSecret } : {}
    const body = new URLSearchParams(client)
    for (const [name, value] of Object.entries(grant)) if (value !== undefined) body.set(name, value)
    const headers = { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' }
    const call = { method: 'POST', url: tokenUrl, headers, body: body.toString() } as const
    return request(this.#http, call, { timeoutMs: this.#timeoutMs })
  }

  #read({ status, text }: Answer, refreshToken: string | undefined): Token {
    const answer = read(text)
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
    // Some write it as text. Without it the token is good until it is refused.
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

function read(text: string): Unread {
  try {
    return fieldsOf(JSON.parse(text))
  } catch {
    // What it is instead may hold a token, and is not to be told.
    return {}
  }
}

/** As in a form (RFC 6749 §2.3.1). */
function form(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1)
}

const ANY = /./s
const TOKEN = /^[\x21-\x7e]+$/
const HTTP_TOKEN = /^[\w!#$%&'*+.^`|~-]+$/
const FIELD = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/
const COOKIE = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]+$/

function bearer(token: string): string {
  requireText('token', token, TOKEN)
  return `Bearer ${token}`
}

/** Says nothing of the text itself: it may be a secret. */
function requireText(path: string, text: unknown, pattern: RegExp): asserts text is string {
  if (typeof text === 'string' && pattern.test(text)) return
  throw invalidParams(path, text === '' || text === undefined ? 'is required' : 'cannot stand in a request')
}
