/**
 * The authentication challenge of a 401 response.
 *
 * @module
 */
import type { AgentCard } from '../../schemas/agent-card.js'

/** `WWW-Authenticate` for the card's security schemes (RFC 9110 §11.6.1); `Bearer` where the card has no HTTP scheme. */
export function challengeOf({ securitySchemes = {}, name }: AgentCard): string {
  const realm = name.replace(/[^\x20-\x7e]|["\\]/g, '')
  const schemes = Object.values(securitySchemes).flatMap((scheme) => {
    const { httpAuthSecurityScheme: http } = scheme
    if (http !== undefined)
      return [/^[\w!#$%&'*+.^`|~-]+$/.test(http.scheme) ? capitalize(http.scheme) : 'Bearer']
    return scheme.oauth2SecurityScheme || scheme.openIdConnectSecurityScheme ? ['Bearer'] : []
  })
  const asked = schemes.length === 0 ? ['Bearer'] : [...new Set(schemes)]
  return asked.map((scheme) => `${scheme} realm="${realm}"`).join(', ')
}

function capitalize(scheme: string): string {
  return scheme.charAt(0).toUpperCase() + scheme.slice(1)
}
