/**
 * Spellings of agent cards: A2A 1.0, 0.3, 0.2, and cards made after theirs.
 *
 * @module
 */
import { isRecord, type Unread } from '../runtime/unread.js'
import { type Field, type Spelling } from '../wire/normalize.js'
import { REQUIREMENTS, SECURITY_SCHEME } from './security-spellings.js'

const ID: Field = { isId: true }
const FILLED_TEXT: Field = { isEmptyTextAbsent: true }
// Lists that must not be empty (A2A 1.0 §5.7).
const FILLED_LIST: Field = { isEmptyListAbsent: true }

const INTERFACE: Spelling = {
  fields: { url: ID, protocolBinding: ID, tenant: FILLED_TEXT, protocolVersion: ID },
}

const CAPABILITIES: Spelling = { fields: { extensions: { of: { fields: { uri: ID } } } } }

const SKILL: Spelling = {
  fields: { id: ID, tags: FILLED_LIST, ...REQUIREMENTS },
  defaults: { description: '', tags: ['general'] },
  rewrite: (skill) => ({ ...skill, name: skill['name'] ?? skill['id'] }),
}

export const CARD: Spelling = {
  fields: {
    supportedInterfaces: { of: INTERFACE },
    provider: { of: { fields: {}, defaults: { organization: '' } } },
    capabilities: { of: CAPABILITIES },
    securitySchemes: { of: SECURITY_SCHEME, isMap: true },
    ...REQUIREMENTS,
    defaultInputModes: FILLED_LIST,
    defaultOutputModes: FILLED_LIST,
    skills: { of: SKILL },
    signatures: { of: { fields: { protected: ID, signature: ID } } },
  },
  defaults: {
    description: '',
    version: '',
    capabilities: {},
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
  },
  rewrite: rewriteCard,
}

/** A card that need not say where the agent is. */
export const LOCAL_CARD: Spelling = { ...CARD, defaults: { ...CARD.defaults, supportedInterfaces: [] } }

/** Moves what older cards say in other fields to the fields of 1.0. */
function rewriteCard(card: Unread): Unread {
  const { url, supportedInterfaces = [], securitySchemes, authentication, provider } = card
  // A card of 1.0 may have a `url`, too, for readers of 0.3.
  const isOld = Boolean(url) && Array.isArray(supportedInterfaces) && supportedInterfaces.length === 0
  return {
    ...card,
    ...(securitySchemes === undefined && fromAuthentication(authentication)),
    // Many agents say only who made them.
    ...(isRecord(provider) && isEmpty(provider['url']) && { provider: undefined }),
    capabilities: capabilitiesOf(card),
    // The signatures of a card of 0.3 are of that card.
    ...(isOld
      ? { supportedInterfaces: legacyInterfaces(card), signatures: undefined }
      : { supportedInterfaces: versionedInterfaces(card) }),
  }
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === ''
}

function capabilitiesOf({ capabilities = {}, supportsAuthenticatedExtendedCard }: Unread): unknown {
  if (!isRecord(capabilities)) return capabilities
  return { extendedAgentCard: supportsAuthenticatedExtendedCard, ...capabilities }
}

/** An interface without a `protocolVersion` has that of the card. */
function versionedInterfaces({ supportedInterfaces, protocolVersion }: Unread): unknown {
  if (!Array.isArray(supportedInterfaces)) return supportedInterfaces
  const version = isEmpty(protocolVersion) ? '1.0' : protocolVersion
  return supportedInterfaces.map((each: unknown) =>
    isRecord(each) && isEmpty(each['protocolVersion']) ? { ...each, protocolVersion: version } : each,
  )
}

function legacyInterfaces(card: Unread): unknown[] {
  const { url, preferredTransport, additionalInterfaces, supportedProtocols } = card
  // Agents like corvid-agent list objects and speak 0.1. Texts say nothing that the rest does not.
  const listed = listOf(supportedProtocols).flatMap((one) =>
    isRecord(one) && one['endpoint']
      ? { url: one['endpoint'], protocolBinding: one['protocol'], protocolVersion: '0.1' }
      : [],
  )
  if (listed.length > 0) return listed
  const protocolVersion = legacyVersion(card['protocolVersion'])
  const all = [{ url, transport: preferredTransport || 'JSONRPC' }, ...listOf(additionalInterfaces)].map(
    (one) => (isRecord(one) ? { url: one['url'], protocolBinding: one['transport'], protocolVersion } : one),
  )
  return [...new Map(all.map((one) => [JSON.stringify(one), one])).values()]
}

/** `0.3.0` → `0.3`. Agents with such a card speak as 0.3 does, whichever earlier version they name. */
function legacyVersion(version: unknown): unknown {
  if (typeof version !== 'string') return version ?? '0.3'
  const short = /^\d+\.\d+(?=\.|$)/.exec(version)?.[0] ?? version
  return ['', '0.1', '0.2'].includes(short) ? '0.3' : short
}

/** As in 0.1: `authentication: { schemes: ['Bearer'] }`. */
function fromAuthentication(authentication: unknown): Unread | undefined {
  const schemes = isRecord(authentication) ? listOf(authentication['schemes']) : []
  const named = schemes.flatMap((scheme) =>
    typeof scheme === 'string' && scheme !== '' ? [{ scheme, name: scheme.toLowerCase() }] : [],
  )
  if (named.length === 0) return undefined
  return {
    securitySchemes: Object.fromEntries(
      named.map(({ scheme, name }) => [name, { httpAuthSecurityScheme: { scheme } }]),
    ),
    securityRequirements: named.map(({ name }) => ({ [name]: [] })),
  }
}

function listOf(value: unknown): unknown[] {
  return value === undefined ? [] : [value].flat()
}
