/**
 * OAuth credentials of agents. Their tokens are requested by what sends the requests to the agent.
 *
 * @module
 */
import { clientCredentialsAuth, type ClientCredentials } from '../../http/auth.js'
import type { AuthenticatedRequest, Authenticator } from '../../http/authenticator.js'
import type { HttpOptions } from '../../http/request.js'

/** Settings for the requests that fetch OAuth tokens. */
export type TokenHttp = Pick<HttpOptions, 'fetch' | 'urlGuard' | 'clock'>

type Credentials = Omit<ClientCredentials, keyof TokenHttp>

/** Client credentials that any sender of requests can use: each has a token of its own. */
export class OAuthCredentials implements Authenticator {
  readonly #credentials: Credentials
  readonly #http: TokenHttp
  readonly #own: Authenticator
  /** One per sender, such as a provider. */
  readonly #senders: { readonly http: TokenHttp; readonly auth: Authenticator }[] = []

  /** @throws {TypeError} when a credential is missing. */
  constructor(credentials: Credentials, http: TokenHttp = {}) {
    this.#credentials = credentials
    this.#http = http
    this.#own = clientCredentialsAuth({ ...credentials, ...http })
  }

  apply(request: AuthenticatedRequest): void | Promise<void> {
    return this.#own.apply(request)
  }

  renew(refused: AuthenticatedRequest): boolean | Promise<boolean> {
    return this.#own.renew?.(refused) ?? false
  }

  /** The same credentials, with these settings where a sender has none. */
  withDefaults(http: TokenHttp): OAuthCredentials {
    return new OAuthCredentials(this.#credentials, http)
  }

  /** The authenticator of a sender: tokens are requested with its `fetch`, `urlGuard` and `clock`. */
  of(sender: TokenHttp): Authenticator {
    const { fetch = this.#http.fetch, urlGuard = this.#http.urlGuard, clock = this.#http.clock } = sender
    const isSame = (http: TokenHttp): boolean =>
      http.fetch === fetch && http.urlGuard === urlGuard && http.clock === clock
    if (isSame(this.#http)) return this.#own
    const known = this.#senders.find(({ http }) => isSame(http))
    if (known !== undefined) return known.auth
    const http = { fetch, urlGuard, clock }
    const auth = clientCredentialsAuth({ ...this.#credentials, ...http })
    this.#senders.push({ http, auth })
    return auth
  }
}
