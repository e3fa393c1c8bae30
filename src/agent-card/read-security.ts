/**
 * How an agent wants its callers to authenticate, as its card of any generation says.
 *
 * @module
 */
import { invalidParams, type A2AError } from '../core/errors.js'
import type { OAuthFlows, SecurityRequirement, SecurityScheme } from '../schemas/security.js'
import { compact, Fields, mapOf } from '../wire/client/fields.js'
import { isRecord } from './plain.js'

/** As 1.0 calls them, or 0.3. */
export function readRequirements(of: Fields): SecurityRequirement[] | undefined {
  const name = 'securityRequirements'
  return of.list(name, readRequirement) ?? of.list('security', readRequirement, name)
}

/** 0.3 has the scopes of each scheme right there; one scheme may be called `schemes`. */
function readRequirement(requirement: Fields): SecurityRequirement {
  if (isRecord(requirement.get('schemes'))) {
    return { schemes: requirement.map('schemes', (scopes) => compact({ list: scopes.texts('list') })) ?? {} }
  }
  const schemes = requirement.under('schemes')
  const scopesOf = (name: string): { list?: string[] } =>
    compact({ list: new Fields({ list: schemes.get(name) }, schemes.at(name)).texts('list') })
  return { schemes: mapOf(schemes.keys(), scopesOf) }
}

/** How each member is read, where exactly one is present. */
type Readers<T> = { readonly [K in Member<T>]: (of: Fields) => object }
// Not `keyof` itself: of a union that would make a union of tables.
type Member<T> = T extends unknown ? keyof T : never

const PLACES = { query: 'query', header: 'header', cookie: 'cookie' } as const

const SCHEMES: Readers<SecurityScheme> = {
  apiKeySecurityScheme: (scheme) => ({
    location: scheme.oneOf(scheme.has('in') ? 'in' : 'location', PLACES),
    name: scheme.id('name'),
  }),
  httpAuthSecurityScheme: (scheme) => ({
    scheme: scheme.id('scheme'),
    bearerFormat: scheme.text('bearerFormat'),
  }),
  oauth2SecurityScheme: (scheme) => ({
    flows: readFlows(scheme.need('flows', scheme.object('flows'))),
    oauth2MetadataUrl: maybeId(scheme, 'oauth2MetadataUrl'),
  }),
  openIdConnectSecurityScheme: (scheme) => ({ openIdConnectUrl: scheme.id('openIdConnectUrl') }),
  mtlsSecurityScheme: () => ({}),
}

/** What 0.3 calls them, in `type`. */
const TYPES: Readonly<Record<Member<SecurityScheme>, string>> = {
  apiKeySecurityScheme: 'apiKey',
  httpAuthSecurityScheme: 'http',
  oauth2SecurityScheme: 'oauth2',
  openIdConnectSecurityScheme: 'openIdConnect',
  mtlsSecurityScheme: 'mutualTLS',
}

const FLOWS: Readers<OAuthFlows> = {
  authorizationCode: (flow) => ({
    authorizationUrl: flow.id('authorizationUrl'),
    tokenUrl: flow.id('tokenUrl'),
    scopes: readScopes(flow) ?? {},
    pkceRequired: flow.flag('pkceRequired'),
  }),
  clientCredentials: (flow) => ({ tokenUrl: flow.id('tokenUrl'), scopes: readScopes(flow) ?? {} }),
  implicit: (flow) => ({ authorizationUrl: maybeId(flow, 'authorizationUrl'), scopes: readScopes(flow) }),
  password: (flow) => ({ tokenUrl: maybeId(flow, 'tokenUrl'), scopes: readScopes(flow) }),
  deviceCode: (flow) => ({
    deviceAuthorizationUrl: flow.id('deviceAuthorizationUrl'),
    tokenUrl: flow.id('tokenUrl'),
    scopes: readScopes(flow) ?? {},
  }),
}

export function readScheme(given: Fields): SecurityScheme {
  const scheme = uncased(given, 'scheme')
  const names = namesOf(SCHEMES)
  const present = names.filter((name) => scheme.has(name))
  const [name = names.find((each) => TYPES[each] === scheme.get('type'))] = present
  if (name === undefined || present.length > 1) throw notOne(scheme, names, present)
  const member = scheme.object(name) ?? scheme.under(name)
  const read = compact({ description: member.text('description'), ...SCHEMES[name](member) })
  // The table makes of each member what its name says.
  return { [name]: read } as unknown as SecurityScheme
}

/** Some agents offer several: the first counts. */
function readFlows(given: Fields): OAuthFlows {
  const flows = uncased(given, 'flow')
  const names = namesOf(FLOWS)
  const name = names.find((each) => flows.has(each))
  const flow = name && flows.object(name)
  if (name === undefined || flow === undefined) throw notOne(flows, names, [])
  const read = compact({ refreshUrl: maybeId(flow, 'refreshUrl'), ...FLOWS[name](flow) })
  // As above.
  return { [name]: read } as unknown as OAuthFlows
}

function namesOf<K extends string>(table: Readonly<Record<K, unknown>>): K[] {
  // A table has no other keys than its type says.
  return Object.keys(table) as K[]
}

function notOne(of: Fields, names: readonly string[], present: readonly string[]): A2AError {
  const got = present.join(', ') || 'none'
  return invalidParams(of.path, `must have exactly one of ${names.join(', ')}, got ${got}`)
}

/** What the official SDK serves for a oneof: `{ scheme: { $case: 'httpAuthSecurityScheme', value: {} } }`. */
function uncased(fields: Fields, name: string): Fields {
  const oneof = fields.get(name)
  if (!isRecord(oneof) || typeof oneof['$case'] !== 'string') return fields
  return new Fields({ [oneof['$case']]: oneof['value'] }, fields.path)
}

function maybeId(of: Fields, key: string): string | undefined {
  return of.has(key) ? of.id(key) : undefined
}

function readScopes(flow: Fields): Record<string, string> | undefined {
  const scopes = flow.object('scopes')
  return scopes && mapOf(scopes.keys(), (name) => scopes.need(name, scopes.text(name)))
}
