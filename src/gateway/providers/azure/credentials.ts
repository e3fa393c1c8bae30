/**
 * Entra ID tokens for Azure AI Foundry.
 *
 * @module
 */
import type { Authorize } from '../shared/service.js'
import { bearerFrom, loadPeer, rethrow } from '../shared/tokens.js'

/** Source of tokens, which caches them until they are about to expire. Any credential of `@azure/identity` is one. */
export interface AzureCredentials {
  getToken(scope: string): Promise<{ readonly token: string } | null>
}

const SCOPE = 'https://ai.azure.com/.default'

/** Signs with the given credentials, or with the `DefaultAzureCredential` of `@azure/identity`, loaded on demand. */
export function entraAuthorize(
  given: AzureCredentials | undefined,
  load: () => Promise<{ readonly DefaultAzureCredential: new () => AzureCredentials }> = () =>
    import('@azure/identity').catch(rethrow),
): Authorize {
  return bearerFrom('Entra ID', async () => {
    const credentials = given ?? new (await loadPeer('@azure/identity', load)).DefaultAzureCredential()
    return async () => (await credentials.getToken(SCOPE))?.token
  })
}
