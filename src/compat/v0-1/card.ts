/**
 * Agent cards in the form of A2A 0.1.
 *
 * Fields that 0.1 does not have are left out: further interfaces, extensions, security requirements of skills, and
 * signatures.
 *
 * @module
 */
import type { JsonObject } from '../../core/json-types.js'
import type { AgentCapabilities, AgentCard } from '../../schemas/agent-card.js'
import type { SecurityScheme } from '../../schemas/security.js'
import { toPlainSkill } from '../../wire/v0-3/card.js'

export function toV01Card(card: AgentCard): JsonObject {
  const { name, description, version, provider, documentationUrl, capabilities, skills } = card
  const { securitySchemes = {}, defaultInputModes, defaultOutputModes } = card
  const schemes = [...new Set(Object.values(securitySchemes).map(schemeName))]
  return {
    name,
    description,
    url: urlOf(card),
    ...(provider !== undefined && { provider: { ...provider } }),
    version,
    ...(documentationUrl !== undefined && { documentationUrl }),
    capabilities: toCapabilities(capabilities),
    ...(schemes.length > 0 && { authentication: { schemes } }),
    defaultInputModes,
    defaultOutputModes,
    skills: skills.map(toPlainSkill),
  }
}

/** JSON-RPC is the only binding of 0.1. A client that requests this card knows that the agent speaks 0.1. */
function urlOf({ supportedInterfaces }: AgentCard): string {
  const rpc = supportedInterfaces.find(({ protocolBinding }) => protocolBinding.toUpperCase() === 'JSONRPC')
  return (rpc ?? supportedInterfaces[0])?.url ?? ''
}

function toCapabilities({ streaming = false, pushNotifications = false }: AgentCapabilities): JsonObject {
  // Tasks have no history of states, and an absent `stateTransitionHistory` means `false`.
  return { streaming, pushNotifications }
}

/** The specification's names (§5.5.3): "Bearer", "OAuth2", "ApiKey". */
function schemeName(scheme: SecurityScheme): string {
  if (scheme.httpAuthSecurityScheme !== undefined) {
    const { scheme: name } = scheme.httpAuthSecurityScheme
    return name.charAt(0).toUpperCase() + name.slice(1)
  }
  if (scheme.apiKeySecurityScheme !== undefined) return 'ApiKey'
  if (scheme.oauth2SecurityScheme !== undefined) return 'OAuth2'
  return scheme.openIdConnectSecurityScheme === undefined ? 'MutualTLS' : 'OpenIdConnect'
}
