/**
 * The challenge of responses with status 401.
 *
 * @module
 */
import type { AgentCard } from '../../schemas/agent-card.js'

/**
 * `WWW-Authenticate` for the card's security schemes (RFC 9110 §11.6.1). API keys have no registered scheme; the name is
 * that in common use. `Bearer` where the card has no scheme that a header can name.
 */
export function challengeOf({ securitySchemes = {}, name }: AgentCard): string {
  const challenges = Object.values(securitySchemes).flatMap((scheme) => {
    const { httpAuthSecurityScheme: http, apiKeySecurityScheme: key } = scheme
    if (key !== undefined) return [challenge('ApiKey', { realm: name, in: key.location, name: key.name })]
    if (http !== undefined) {
      const isToken = /^[\w!#$%&'*+.^`|~-]+$/.test(http.scheme)
      return [challenge(isToken ? capitalize(http.scheme) : 'Bearer', { realm: name })]
    }
    const isToken = scheme.oauth2SecurityScheme ?? scheme.openIdConnectSecurityScheme
    return isToken === undefined ? [] : [challenge('Bearer', { realm: name })]
  })
  return challenges.length === 0 ? challenge('Bearer', { realm: name }) : [...new Set(challenges)].join(', ')
}

function challenge(scheme: string, parameters: Readonly<Record<string, string>>): string {
  const quoted = Object.entries(parameters).map(
    ([name, value]) => `${name}="${value.replace(/[^\x20-\x7e]|["\\]/g, '')}"`,
  )
  return `${scheme} ${quoted.join(', ')}`
}

function capitalize(scheme: string): string {
  return scheme.charAt(0).toUpperCase() + scheme.slice(1)
}
