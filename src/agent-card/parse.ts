/**
 * The cards of all generations as cards of A2A 1.0, field by field: what comes out is what `AgentCardSchema` takes, without
 * the weight of a schema's library. A test compares the two.
 *
 * @module
 */
import { invalidParams } from '../core/errors.js'
import type { AgentCapabilities, AgentCard, AgentInterface, AgentSkill } from '../schemas/agent-card.js'
import { compact, Fields } from '../wire/client/fields.js'
import { isRecord, plain, type Unread } from './plain.js'
import { readRequirements, readScheme } from './read-security.js'

/**
 * A card of A2A 1.0, of 0.3 in either of its forms, or of 0.2, or one made after theirs, as a card of 1.0. A card of 1.0
 * stays as it is, without what 1.0 does not know.
 *
 * Texts that are missing are empty, a skill without a name or tags has its id and `general`, a card without modes takes
 * and gives text. Of several OAuth flows the first counts, in the order of A2A 1.0 §4.5.7.
 *
 * @throws {A2AError} `INVALID_PARAMS` with the path, in the card of 1.0, of what is missing or of another type:
 *   `card.skills[0].id …`. Nothing else, whatever the JSON.
 */
export function parseAgentCard(json: unknown): AgentCard {
  const card = readAgentCard(json)
  if (card.supportedInterfaces.length > 0) return card
  const isThere = isRecord(json) && Array.isArray(json['supportedInterfaces'])
  throw invalidParams('card.supportedInterfaces', isThere ? 'must have at least one interface' : 'is missing')
}

/** {@link parseAgentCard}, also of a card that does not say where the agent is: it has no interfaces then. */
export function readAgentCard(json: unknown): AgentCard {
  const given = plain(json)
  const card = new Fields(isRecord(given) ? toNew(given) : given, 'card')
  return compact({
    name: card.need('name', card.text('name')),
    description: card.text('description') ?? '',
    supportedInterfaces: card.list('supportedInterfaces', (face) => readInterface(face, card)) ?? [],
    provider: readProvider(card.object('provider')),
    version: card.text('version') ?? '',
    documentationUrl: card.text('documentationUrl'),
    capabilities: readCapabilities(card.object('capabilities'), card),
    securitySchemes: card.map('securitySchemes', readScheme),
    securityRequirements: readRequirements(card),
    defaultInputModes: textsOf(card, 'defaultInputModes', 'text/plain'),
    defaultOutputModes: textsOf(card, 'defaultOutputModes', 'text/plain'),
    skills: card.list('skills', readSkill) ?? [],
    signatures: card.list('signatures', (signature) =>
      compact({
        protected: signature.id('protected'),
        signature: signature.id('signature'),
        header: signature.json('header'),
      }),
    ),
    iconUrl: card.text('iconUrl'),
  })
}

/** What has another name in older cards, under that of 1.0. */
function toNew(card: Unread): Unread {
  const { url, supportedInterfaces = [], securitySchemes, authentication } = card
  // A card of 1.0 may have a `url`, too, for readers of 0.3.
  const isOld = Boolean(url) && Array.isArray(supportedInterfaces) && supportedInterfaces.length === 0
  return {
    ...card,
    ...(securitySchemes === undefined && fromAuthentication(authentication)),
    // The signatures of a card of 0.3 are of that card.
    ...(isOld && { supportedInterfaces: legacyInterfaces(card), signatures: undefined }),
  }
}

function legacyInterfaces(card: Unread): unknown[] {
  const { url, preferredTransport, additionalInterfaces, supportedProtocols } = card
  // Some of corvid's kind list objects, whose wire is that of 0.1. Texts say nothing that the rest does not.
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

/** `0.3.0` → `0.3`. Over JSON-RPC 0.2 speaks as 0.3 does. */
function legacyVersion(version: unknown): unknown {
  if (typeof version !== 'string') return version ?? '0.3'
  const short = /^\d+\.\d+(?=\.|$)/.exec(version)?.[0] ?? version
  return short === '' || short === '0.2' ? '0.3' : short
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

/** Every request goes through the whole of its URL, and more than once. Real ones are a tenth of that. */
const MAX_URL_LENGTH = 2048

function readInterface(face: Fields, card: Fields): AgentInterface {
  const url = face.id('url')
  if (url.length > MAX_URL_LENGTH) {
    throw invalidParams(face.at('url'), `must be at most ${MAX_URL_LENGTH} characters`)
  }
  return compact({
    url,
    protocolBinding: face.id('protocolBinding'),
    tenant: face.filled('tenant'),
    protocolVersion: face.has('protocolVersion')
      ? face.id('protocolVersion')
      : (card.filled('protocolVersion') ?? '1.0'),
  })
}

/** Many an agent says only who made it. */
function readProvider(provider: Fields | undefined): AgentCard['provider'] {
  const url = provider?.filled('url')
  return url === undefined ? undefined : { url, organization: provider?.text('organization') ?? '' }
}

function readCapabilities(capabilities: Fields | undefined, card: Fields): AgentCapabilities {
  return compact({
    streaming: capabilities?.flag('streaming'),
    pushNotifications: capabilities?.flag('pushNotifications'),
    extensions: capabilities?.list('extensions', (extension) =>
      compact({
        uri: extension.has('uri') ? extension.id('uri') : undefined,
        description: extension.text('description'),
        required: extension.flag('required'),
        params: extension.json('params'),
      }),
    ),
    extendedAgentCard:
      capabilities?.flag('extendedAgentCard') ?? card.flag('supportsAuthenticatedExtendedCard'),
  })
}

function readSkill(skill: Fields): AgentSkill {
  const id = skill.id('id')
  return compact({
    id,
    name: skill.text('name') ?? id,
    description: skill.text('description') ?? '',
    tags: textsOf(skill, 'tags', 'general'),
    examples: skill.texts('examples'),
    inputModes: skill.texts('inputModes'),
    outputModes: skill.texts('outputModes'),
    securityRequirements: readRequirements(skill),
  })
}

/** Lists that must not be empty (A2A 1.0 §5.7). */
function textsOf(fields: Fields, key: string, whenEmpty: string): string[] {
  const texts = fields.texts(key) ?? []
  return texts.length > 0 ? texts : [whenEmpty]
}
