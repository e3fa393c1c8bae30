/**
 * The port for credentials of requests.
 *
 * @module
 */

/** A request about to be sent. Changes to its URL and headers are sent. */
export interface AuthenticatedRequest {
  readonly url: URL
  readonly headers: Headers
}

/** Adds credentials to requests. They go to the agent's own origin only, never along with a redirect. */
export interface Authenticator {
  apply(request: AuthenticatedRequest): void | Promise<void>
  /**
   * Called when the agent has refused the credentials of a request (401). Returns `true` if there are new ones; the request
   * is then sent again, once.
   */
  renew?(refused: AuthenticatedRequest): boolean | Promise<boolean>
}
