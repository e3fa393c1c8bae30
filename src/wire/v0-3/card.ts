/**
 * Agent cards in the two forms of A2A 0.3.
 *
 * Fields that 0.3 does not have are left out: tenants, and signatures, which sign the card of 1.0. The device flow
 * becomes a bearer token, its result.
 *
 * @module
 */
import type { JsonObject } from '../../core/json-types.js'
import type { AgentCapabilities, AgentCard, AgentInterface, AgentSkill } from '../../schemas/agent-card.js'
import type { OAuthFlows, SecurityRequirement, SecurityScheme } from '../../schemas/security.js'

/** Differences between JSON with a `type` and ProtoJSON. */
interface Form {
  readonly requirement: (requirement: SecurityRequirement) => JsonObject
  /** The scheme in this form. A scheme without a flow of 0.3 becomes a bearer token. */
  readonly scheme: (scheme: SecurityScheme) => JsonObject
}

/** Converts a card to A2A 0.3, in the form of the well-known URL and of JSON-RPC responses. */
export function toV03Card(card: AgentCard): JsonObject {
  const { iconUrl } = card
  return { ...cardIn(JSON_FORM, card), ...(iconUrl !== undefined && { iconUrl }) }
}

/** The card in responses of HTTP+JSON. Its form differs from that at the well-known URL. */
export function toProtoCard(card: AgentCard): JsonObject {
  return cardIn(PROTO_FORM, card)
}

function cardIn(form: Form, card: AgentCard): JsonObject {
  const { name, description, version, provider, documentationUrl, capabilities, skills } = card
  const { securitySchemes, securityRequirements, defaultInputModes, defaultOutputModes } = card
  const { extendedAgentCard } = capabilities
  return {
    protocolVersion: '0.3.0',
    name,
    description,
    version,
    ...interfacesOf(card),
    ...(provider !== undefined && { provider: { ...provider } }),
    ...(documentationUrl !== undefined && { documentationUrl }),
    capabilities: toCapabilities(capabilities),
    ...(securitySchemes !== undefined && { securitySchemes: toSchemes(form, securitySchemes) }),
    ...(securityRequirements !== undefined && { security: securityRequirements.map(form.requirement) }),
    defaultInputModes,
    defaultOutputModes,
    skills: skills.map((skill) => toSkill(form, skill)),
    ...(extendedAgentCard !== undefined && { supportsAuthenticatedExtendedCard: extendedAgentCard }),
  }
}

/**
 * The interfaces of 0.3, or all if the card names none: a client that requests this card knows that the agent speaks
 * 0.3.
 */
function interfacesOf({ supportedInterfaces }: AgentCard): JsonObject {
  const legacy = supportedInterfaces.filter(({ protocolVersion }) => /^0\.3(\.|$)/.test(protocolVersion))
  const shown = new Map<string, AgentInterface>()
  for (const each of legacy.length > 0 ? legacy : supportedInterfaces) {
    // Clients of 0.3 expect one URL per transport, and would use the last of several.
    const transport = each.protocolBinding.toUpperCase()
    if (!shown.has(transport)) shown.set(transport, each)
  }
  const all = [...shown.values()].map(({ url, protocolBinding }) => ({ url, transport: protocolBinding }))
  const { url, transport } = all[0] ?? { url: '', transport: 'JSONRPC' }
  return { url, preferredTransport: transport, ...(all.length > 1 && { additionalInterfaces: all }) }
}

function toCapabilities({ streaming, pushNotifications, extensions }: AgentCapabilities): JsonObject {
  // A client cannot request an extension without a URI.
  const named = extensions?.filter(({ uri }) => uri !== undefined).map((extension) => ({ ...extension }))
  return {
    ...(streaming !== undefined && { streaming }),
    ...(pushNotifications !== undefined && { pushNotifications }),
    ...(named !== undefined && { extensions: named }),
  }
}

/** The fields of a skill that every version has. */
export function toPlainSkill(skill: AgentSkill): JsonObject {
  const { id, name, description, tags, examples, inputModes, outputModes } = skill
  return {
    id,
    name,
    description,
    tags,
    ...(examples !== undefined && { examples }),
    ...(inputModes !== undefined && { inputModes }),
    ...(outputModes !== undefined && { outputModes }),
  }
}

function toSkill(form: Form, skill: AgentSkill): JsonObject {
  const { securityRequirements } = skill
  return {
    ...toPlainSkill(skill),
    ...(securityRequirements !== undefined && { security: securityRequirements.map(form.requirement) }),
  }
}

function toSchemes(form: Form, schemes: Readonly<Record<string, SecurityScheme>>): JsonObject {
  return Object.fromEntries(Object.entries(schemes).map(([name, scheme]) => [name, form.scheme(scheme)]))
}

function scopesOf({ schemes = {} }: SecurityRequirement): [name: string, scopes: string[]][] {
  return Object.entries(schemes).map(([name, { list = [] }]) => [name, list])
}

const JSON_FORM: Form = {
  requirement: (requirement) => Object.fromEntries(scopesOf(requirement)),
  scheme: toTypedScheme,
}

const PROTO_FORM: Form = {
  requirement: (requirement) => ({
    schemes: Object.fromEntries(scopesOf(requirement).map(([name, list]) => [name, { list }])),
  }),
  scheme: toProtoScheme,
}

function toTypedScheme(scheme: SecurityScheme): JsonObject {
  if (scheme.apiKeySecurityScheme !== undefined) {
    const { location, ...rest } = scheme.apiKeySecurityScheme
    return { type: 'apiKey', in: location, ...rest }
  }
  if (scheme.httpAuthSecurityScheme !== undefined) return { type: 'http', ...scheme.httpAuthSecurityScheme }
  if (scheme.oauth2SecurityScheme !== undefined) {
    const { flows, ...rest } = scheme.oauth2SecurityScheme
    const shown = toFlows(flows)
    return shown === undefined ? { type: 'http', ...bearer(rest) } : { type: 'oauth2', ...rest, flows: shown }
  }
  if (scheme.openIdConnectSecurityScheme !== undefined) {
    return { type: 'openIdConnect', ...scheme.openIdConnectSecurityScheme }
  }
  return { type: 'mutualTLS', ...scheme.mtlsSecurityScheme }
}

/** The scheme for a token that the client obtains in any other way. */
function bearer({ description }: { description?: string }): JsonObject {
  return { scheme: 'bearer', ...(description !== undefined && { description }) }
}

function toProtoScheme(scheme: SecurityScheme): JsonObject {
  if (scheme.oauth2SecurityScheme === undefined) return { ...scheme }
  const { flows, ...rest } = scheme.oauth2SecurityScheme
  const shown = toFlows(flows)
  return shown === undefined
    ? { httpAuthSecurityScheme: bearer(rest) }
    : { oauth2SecurityScheme: { ...rest, flows: shown } }
}

/**
 * Returns `undefined` for the device flow, which 0.3 does not have. The official clients reject a card with a scheme
 * that has no flow.
 */
function toFlows(flows: OAuthFlows): JsonObject | undefined {
  const { authorizationCode, clientCredentials, implicit, password } = flows
  if (authorizationCode !== undefined) {
    const { authorizationUrl, tokenUrl, refreshUrl, scopes } = authorizationCode
    return {
      authorizationCode: {
        authorizationUrl,
        tokenUrl,
        ...(refreshUrl !== undefined && { refreshUrl }),
        scopes,
      },
    }
  }
  if (clientCredentials !== undefined) return { clientCredentials: { ...clientCredentials } }
  // 0.3 requires the scopes of every flow.
  if (implicit !== undefined) return { implicit: { scopes: {}, ...implicit } }
  if (password !== undefined) return { password: { scopes: {}, ...password } }
  return undefined
}
