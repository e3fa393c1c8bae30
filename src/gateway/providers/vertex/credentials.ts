/**
 * Access tokens of Google Cloud.
 *
 * @module
 */
import type { Authorize } from '../shared/service.js'
import { bearerFrom, loadPeer, rethrow } from '../shared/tokens.js'

/** Gives access tokens, and keeps them until they are about to expire: a `GoogleAuth` of `google-auth-library`. */
export interface GoogleCredentials {
  getAccessToken(): Promise<string | null | undefined>
}

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform'

/** Signs with `given`; without it, with Application Default Credentials by `google-auth-library`, loaded when it is needed. */
export function googleAuthorize(
  given: GoogleCredentials | undefined,
  load: () => Promise<{
    readonly GoogleAuth: new (options: { readonly scopes: string }) => GoogleCredentials
  }> = () => import('google-auth-library').catch(rethrow),
): Authorize {
  return bearerFrom('Google Cloud', async () => {
    const credentials =
      given ?? new (await loadPeer('google-auth-library', load)).GoogleAuth({ scopes: SCOPE })
    return () => credentials.getAccessToken()
  })
}
