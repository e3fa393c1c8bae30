/**
 * The metadata of a protected resource (RFC 9728), made from the card of the agent: it tells clients where to get tokens.
 *
 * @module
 */
import type { JsonObject } from '../core/json-types.js'
import { parseUrl } from '../runtime/url.js'
import type { AgentCard } from '../schemas/agent-card.js'
import { challengeOf } from '../server/binding/challenge.js'

const PATH = '/.well-known/oauth-protected-resource'
/** Where servers have their own metadata (RFC 8414, OpenID Connect Discovery). The rest of the URL is their name. */
const OF_SERVER = /\/\.well-known\/(?:oauth-authorization-server|openid-configuration)/

/** Whether a request asks for the metadata. */
export function asksForMetadata({ method, url }: { readonly method: string; readonly url: string }): boolean {
  return method === 'GET' && (parseUrl(url)?.pathname.startsWith(PATH) ?? false)
}

/** The metadata of the server at `resource`; `undefined` if the card names no server of OAuth or OpenID Connect. */
export function metadataOf(
  { securitySchemes = {}, name }: AgentCard,
  resource: string,
): JsonObject | undefined {
  const schemes = Object.values(securitySchemes)
  const servers = new Set(schemes.flatMap(serverOf))
  if (servers.size === 0) return undefined
  const scopes = new Set(
    schemes.flatMap((scheme) => flowsOf(scheme).flatMap((flow) => Object.keys(flow.scopes))),
  )
  return {
    ...{ resource, resource_name: name, authorization_servers: [...servers] },
    ...{ bearer_methods_supported: ['header'], ...(scopes.size > 0 && { scopes_supported: [...scopes] }) },
  }
}

type Scheme = NonNullable<AgentCard['securitySchemes']>[string]

/** The flows in which a client gets a token, without those that RFC 9700 forbids. */
function flowsOf({
  oauth2SecurityScheme: oauth,
}: Scheme): { readonly tokenUrl: string; readonly scopes: object }[] {
  const { authorizationCode, clientCredentials, deviceCode } = oauth?.flows ?? {}
  return [authorizationCode, clientCredentials, deviceCode].flatMap((flow) => flow ?? [])
}

/** The name of the server. One without metadata of its own is asked for it at its origin. */
function serverOf(scheme: Scheme): string[] {
  const { oauth2SecurityScheme: oauth, openIdConnectSecurityScheme: connect } = scheme
  const metadata = connect?.openIdConnectUrl ?? oauth?.oauth2MetadataUrl
  const { origin, pathname = '' } = parseUrl(metadata ?? flowsOf(scheme)[0]?.tokenUrl ?? '') ?? {}
  if (origin === undefined) return []
  const path = metadata === undefined ? '' : pathname.replace(OF_SERVER, '')
  return [`${origin}${path}`.replace(/\/$/, '')]
}

/** `WWW-Authenticate` of a refusal, with the address of the metadata where there is any. */
export function challengeFor(card: AgentCard, resource: string | undefined): string {
  const challenge = challengeOf(card)
  if (resource === undefined || metadataOf(card, resource) === undefined) return challenge
  const { origin, pathname } = new URL(resource)
  const at = `${origin}${PATH}${pathname === '/' ? '' : pathname}`
  return challenge.replace('Bearer ', `Bearer resource_metadata="${at}", `)
}
