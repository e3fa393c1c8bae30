/**
 * The port for credentials of requests.
 *
 * @module
 */

/** A request before it is sent. Changes to its URL and headers take effect. */
export interface AuthenticatedRequest {
  readonly url: URL
  readonly headers: Headers
}

/** Adds credentials to requests. A redirect to another origin omits them. */
export interface Authenticator {
  /** Adds the credentials. Called before every request, and again after each redirect within the origin. */
  apply(request: AuthenticatedRequest): void | Promise<void>
  /**
   * Called when the agent refuses the credentials of a request (401). Return `true` when new ones are available: the
   * request is then sent again, once.
   */
  renew?(refused: AuthenticatedRequest): boolean | Promise<boolean>
}
