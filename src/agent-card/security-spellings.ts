/**
 * Spellings of security schemes and requirements: A2A 1.0, the JSON of 0.3, its ProtoJSON, and the official SDK's.
 *
 * @module
 */
import { isRecord, type Unread } from '../runtime/unread.js'
import { type Field, type Spelling } from '../wire/normalize.js'

const ID: Field = { isId: true }

/** 0.3 has the scopes of each scheme right there. One scheme may be called `schemes`. */
const REQUIREMENT: Field = {
  of: {
    fields: {},
    rewrite(requirement) {
      if (isRecord(requirement['schemes'])) return requirement
      const schemes = Object.entries(requirement).map(([name, list]) => [name, { list }] as const)
      return { schemes: Object.fromEntries(schemes) }
    },
  },
}

/** The requirements of a card or a skill, under their names in 1.0 and in 0.3. */
export const REQUIREMENTS = {
  securityRequirements: REQUIREMENT,
  security: { ...REQUIREMENT, name: 'securityRequirements' },
} as const satisfies Spelling['fields']

const NO_SCOPES = { scopes: {} }
const FLOW_URLS = { authorizationUrl: ID, tokenUrl: ID, refreshUrl: ID, deviceAuthorizationUrl: ID }

/** In the order of A2A 1.0 §4.5.7: of several flows the first counts. */
const FLOWS: Readonly<Record<string, Field>> = {
  authorizationCode: { of: { fields: FLOW_URLS, defaults: NO_SCOPES } },
  clientCredentials: { of: { fields: FLOW_URLS, defaults: NO_SCOPES } },
  implicit: { of: { fields: FLOW_URLS } },
  password: { of: { fields: FLOW_URLS } },
  deviceCode: { of: { fields: FLOW_URLS, defaults: NO_SCOPES } },
}

const OAUTH_FLOWS: Spelling = {
  fields: FLOWS,
  rewrite(given) {
    const flows = withoutCase(given, 'flow')
    const first = Object.keys(FLOWS).find((name) => flows[name] !== undefined)
    return first === undefined ? {} : { [first]: flows[first] }
  },
}

const API_KEY: Spelling = {
  fields: { name: ID },
  /** `in` is the name of `location` in 0.3. It wins over `location`, which must not put a key for a header into URLs. */
  rewrite({ in: place, ...scheme }) {
    return place === undefined ? scheme : { ...scheme, location: place }
  },
}

const SCHEMES: Readonly<Record<string, Field>> = {
  apiKeySecurityScheme: { of: API_KEY },
  httpAuthSecurityScheme: { of: { fields: { scheme: ID } } },
  oauth2SecurityScheme: { of: { fields: { flows: { of: OAUTH_FLOWS }, oauth2MetadataUrl: ID } } },
  openIdConnectSecurityScheme: { of: { fields: { openIdConnectUrl: ID } } },
  mtlsSecurityScheme: { of: { fields: {} } },
}

/** The `type` of a scheme in 0.3. */
const TYPES: ReadonlyMap<unknown, string> = new Map([
  ['apiKey', 'apiKeySecurityScheme'],
  ['http', 'httpAuthSecurityScheme'],
  ['oauth2', 'oauth2SecurityScheme'],
  ['openIdConnect', 'openIdConnectSecurityScheme'],
  ['mutualTLS', 'mtlsSecurityScheme'],
])

export const SECURITY_SCHEME: Spelling = {
  fields: SCHEMES,
  rewrite(given) {
    const scheme = withoutCase(given, 'scheme')
    const name = TYPES.get(scheme['type'])
    const isNew = Object.keys(SCHEMES).some((each) => scheme[each] !== undefined)
    return isNew || name === undefined ? scheme : { [name]: scheme }
  },
}

/** The official SDK serves a oneof as `{ scheme: { $case: 'httpAuthSecurityScheme', value: {} } }`. */
function withoutCase(object: Unread, name: string): Unread {
  const oneof = object[name]
  if (!isRecord(oneof) || typeof oneof['$case'] !== 'string') return object
  return { [oneof['$case']]: oneof['value'] }
}
