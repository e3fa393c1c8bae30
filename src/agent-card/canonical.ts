/**
 * Canonical text of a card for signatures (A2A 1.0 §8.4.1, RFC 8785).
 *
 * @module
 */
import { invalidParams } from '../core/errors.js'
import { isRecord, type Unread } from '../runtime/unread.js'
import { plain } from './plain.js'

/** A required field, or one whose presence matters: included whenever the card has it. */
const KEPT = 'kept'
/** A field whose default means the same as its absence, as in ProtoJSON: included unless it has the default. */
const SPARSE = 'sparse'

/** A field with a message, or a list or map of messages. A message is included whenever the card has it. */
interface Nested {
  readonly of: Message
  readonly as: 'message' | 'list' | 'map'
  readonly rule: typeof KEPT | typeof SPARSE
}
interface Message {
  readonly [field: string]: typeof KEPT | typeof SPARSE | Nested
}

const REQUIREMENT: Message = { schemes: { of: { list: SPARSE }, as: 'map', rule: SPARSE } }

const FLOWS: Message = {
  authorizationCode: {
    of: {
      authorizationUrl: KEPT,
      tokenUrl: KEPT,
      refreshUrl: SPARSE,
      scopes: KEPT,
      pkceRequired: SPARSE,
    },
    as: 'message',
    rule: KEPT,
  },
  clientCredentials: {
    of: { tokenUrl: KEPT, refreshUrl: SPARSE, scopes: KEPT },
    as: 'message',
    rule: KEPT,
  },
  implicit: {
    of: { authorizationUrl: SPARSE, refreshUrl: SPARSE, scopes: SPARSE },
    as: 'message',
    rule: KEPT,
  },
  password: { of: { tokenUrl: SPARSE, refreshUrl: SPARSE, scopes: SPARSE }, as: 'message', rule: KEPT },
  deviceCode: {
    of: { deviceAuthorizationUrl: KEPT, tokenUrl: KEPT, refreshUrl: SPARSE, scopes: KEPT },
    as: 'message',
    rule: KEPT,
  },
}

const SCHEME: Message = {
  apiKeySecurityScheme: {
    of: { description: SPARSE, location: KEPT, name: KEPT },
    as: 'message',
    rule: KEPT,
  },
  httpAuthSecurityScheme: {
    of: { description: SPARSE, scheme: KEPT, bearerFormat: SPARSE },
    as: 'message',
    rule: KEPT,
  },
  oauth2SecurityScheme: {
    of: {
      description: SPARSE,
      flows: { of: FLOWS, as: 'message', rule: KEPT },
      oauth2MetadataUrl: SPARSE,
    },
    as: 'message',
    rule: KEPT,
  },
  openIdConnectSecurityScheme: {
    of: { description: SPARSE, openIdConnectUrl: KEPT },
    as: 'message',
    rule: KEPT,
  },
  mtlsSecurityScheme: { of: { description: SPARSE }, as: 'message', rule: KEPT },
}

/** A2A 1.0 §4.4.1, without the signatures. */
const CARD: Message = {
  name: KEPT,
  description: KEPT,
  supportedInterfaces: {
    of: { url: KEPT, protocolBinding: KEPT, tenant: SPARSE, protocolVersion: KEPT },
    as: 'list',
    rule: KEPT,
  },
  provider: { of: { url: KEPT, organization: KEPT }, as: 'message', rule: KEPT },
  version: KEPT,
  documentationUrl: KEPT,
  capabilities: {
    of: {
      streaming: KEPT,
      pushNotifications: KEPT,
      extensions: {
        of: { uri: SPARSE, description: SPARSE, required: SPARSE, params: KEPT },
        as: 'list',
        rule: SPARSE,
      },
      extendedAgentCard: KEPT,
    },
    as: 'message',
    rule: KEPT,
  },
  securitySchemes: { of: SCHEME, as: 'map', rule: SPARSE },
  securityRequirements: { of: REQUIREMENT, as: 'list', rule: SPARSE },
  defaultInputModes: KEPT,
  defaultOutputModes: KEPT,
  skills: {
    of: {
      id: KEPT,
      name: KEPT,
      description: KEPT,
      tags: KEPT,
      examples: SPARSE,
      inputModes: SPARSE,
      outputModes: SPARSE,
      securityRequirements: { of: REQUIREMENT, as: 'list', rule: SPARSE },
    },
    as: 'list',
    rule: KEPT,
  },
  iconUrl: KEPT,
}

/**
 * Returns the text that a signature of the card covers (A2A 1.0 §8.4.1), in the canonical form of RFC 8785.
 *
 * The text has no signatures and no fields that 1.0 does not define. Default values are left out, except those of required
 * fields and of fields whose presence has a meaning.
 *
 * @throws {A2AError} `INVALID_PARAMS` for a value without a canonical form: a lone surrogate, or a number that is not
 *   finite.
 */
export function canonicalizeAgentCard(card: object): string {
  return canonicalize(presentIn(card))
}

/** The same without empty values at any level. The official SDKs sign this text, following the wording of §8.4.2. */
export function canonicalizeStripped(card: object): string {
  return canonicalize(withoutEmpty(presentIn(card)) ?? {})
}

/** Returns the fields of the card that 1.0 defines. */
function presentIn(card: object): Unread {
  const given = plain(card)
  return isRecord(given) ? project(CARD, given) : {}
}

function project(message: Message, given: Unread): Unread {
  const shown = Object.entries(message).flatMap(([name, rule]) => {
    if (!Object.hasOwn(given, name)) return []
    const value = typeof rule === 'string' ? given[name] : within(rule, given[name])
    const isThere = (typeof rule === 'string' ? rule : rule.rule) === KEPT || !isDefault(value)
    return isThere ? [[name, value] as const] : []
  })
  return Object.fromEntries(shown)
}

function within({ of, as }: Nested, value: unknown): unknown {
  const one = (each: unknown): unknown => (isRecord(each) ? project(of, each) : each)
  if (as === 'list') return Array.isArray(value) ? value.map(one) : value
  if (as === 'message' || !isRecord(value)) return one(value)
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, one(each)]))
}

function isDefault(value: unknown): boolean {
  return value === '' || value === false || value === 0 || isHollow(value)
}

function isHollow(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) {
    const kept = value.map(withoutEmpty).filter((each) => each !== undefined)
    return kept.length > 0 ? kept : undefined
  }
  if (!isRecord(value)) return value === '' || value === null ? undefined : value
  const kept = Object.entries(value).flatMap(([key, each]) => {
    const rest = withoutEmpty(each)
    return rest === undefined ? [] : [[key, rest] as const]
  })
  return kept.length > 0 ? Object.fromEntries(kept) : undefined
}

/** RFC 8785: members sorted by UTF-16 code units, values as ECMAScript serializes them. */
export function canonicalize(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalize).join(',')}]`
  if (isRecord(value)) {
    // Without a comparator, `sort` compares code units.
    const members = Object.keys(value)
      .sort()
      .map((key) => `${canonicalize(key)}:${canonicalize(value[key])}`)
    return `{${members.join(',')}}`
  }
  const isFit = typeof value === 'number' ? Number.isFinite(value) : !/\p{Surrogate}/u.test(String(value))
  const text: unknown = isFit && typeof value !== 'bigint' ? JSON.stringify(value) : undefined
  if (typeof text === 'string') return text
  throw invalidParams('card', 'must be JSON with whole characters and finite numbers')
}
