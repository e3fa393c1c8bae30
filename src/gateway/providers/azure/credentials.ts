/**
 * Tokens of Entra ID for Azure AI Foundry.
 *
 * @module
 */
import type { Authorize } from '../shared/service.js'
import { bearerFrom, loadPeer, rethrow } from '../shared/tokens.js'

/** Gives tokens, and keeps them until they are about to expire: any credential of `@azure/identity`. */
export interface AzureCredentials {
  getToken(scope: string): Promise<{ readonly token: string } | null>
}

const SCOPE = 'https://ai.azure.com/.default'

/** Signs with `given`; without it, with the `DefaultAzureCredential` of `@azure/identity`, loaded when it is needed. */
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
