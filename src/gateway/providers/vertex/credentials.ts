/**
 * Access tokens of Google Cloud.
 *
 * @module
 */
import type { Authorize } from '../shared/service.js'
import { bearerFrom, loadPeer, rethrow } from '../shared/tokens.js'

/**
 * Source of access tokens, which caches them until they are about to expire. A `GoogleAuth` of `google-auth-library` is
 * one.
 */
export interface GoogleCredentials {
  getAccessToken(): Promise<string | null | undefined>
}

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform'

/**
 * Signs with the given credentials, or with Application Default Credentials from `google-auth-library`, loaded on
 * demand.
 */
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
