/**
 * Lint of a card: what a client would stumble on.
 *
 * @module
 */
import { requireKnown } from '../runtime/options.js'
import type { AgentCard } from '../schemas/agent-card.js'
import { parseAgentCard } from './parse.js'

/** What a client would stumble on in a card. */
export interface CardProblem {
  /** An `error` keeps clients from using the agent, or a part of it. */
  readonly level: 'error' | 'warning'
  /** The field, such as `skills[0].tags`. */
  readonly path: string
  readonly text: string
}

/** Options of {@link lintAgentCard}. */
export interface LintOptions {
  /** Where the card came from. Its interfaces are compared with it. */
  readonly url?: string
  /** The headers of the response that had the card. */
  readonly headers?: Headers
  /** The error with which a client has refused the card. Default is that of `parseAgentCard`, if it refuses the card. */
  readonly refusal?: unknown
}

type Raw = Readonly<Record<string, unknown>>

interface LintedCard {
  readonly source: string
  readonly raw: Raw
  readonly card: AgentCard | undefined
}

/**
 * Lists what clients would stumble on in a card as its agent wrote it, errors first. Reads cards of every version, and does not
 * throw for a card that clients refuse.
 *
 * @example
 * const errors = lintAgentCard(json, { url }).filter(({ level }) => level === 'error')
 * if (errors.length > 0) throw new Error(errors.map(({ path, text }) => `${path}: ${text}`).join('\n'))
 */
export function lintAgentCard(json: object, options: LintOptions = {}): CardProblem[] {
  requireKnown(options, ['url', 'headers', 'refusal'], 'lintAgentCard')
  const { url: source = '', headers } = options
  const read = readCard(json)
  const { refusal = read.refusal } = options
  const { card } = read
  // JSON has only names that are texts.
  const raw = json as Raw
  const linted = { source, raw, card }
  const problems = [
    ...refusalProblems(refusal),
    ...fieldProblems(raw),
    ...interfaceProblems(linted),
    ...(card === undefined
      ? []
      : [
          ...skillProblems(raw, card),
          ...modeProblems(card),
          ...securityProblems(raw, card),
          ...capabilityProblems(card),
        ]),
    ...(headers === undefined ? [] : headerProblems(headers)),
  ]
  return problems.sort(byLevel)
}

function readCard(json: object): { card?: AgentCard; refusal?: unknown } {
  try {
    return { card: parseAgentCard(json) }
  } catch (refusal) {
    return { refusal }
  }
}

function byLevel(a: CardProblem, b: CardProblem): number {
  return Number(a.level === 'warning') - Number(b.level === 'warning')
}

function error(path: string, text: string): CardProblem {
  return { level: 'error', path, text }
}

function warning(path: string, text: string): CardProblem {
  return { level: 'warning', path, text }
}

function refusalProblems(refusal: unknown): CardProblem[] {
  if (refusal === undefined) return []
  const text = refusal instanceof Error ? refusal.message : 'cannot be read'
  return [error('card', text)]
}

const REQUIRED = [
  'name',
  'description',
  'version',
  'capabilities',
  'defaultInputModes',
  'defaultOutputModes',
  'skills',
]

function fieldProblems(raw: Raw): CardProblem[] {
  const missing = REQUIRED.filter((name) => raw[name] === undefined || raw[name] === '')
  const isOld = raw['supportedInterfaces'] === undefined
  return [
    ...missing.map((name) =>
      warning(name, 'is missing: A2A 1.0 §4.4.1 requires it, and strict clients refuse the card'),
    ),
    ...(isOld
      ? [warning('supportedInterfaces', 'is missing: clients of A2A 1.0 alone cannot use this card')]
      : []),
    ...(!isOld && raw['url'] === undefined
      ? [warning('url', 'is missing: clients of A2A 0.3 alone cannot use this card')]
      : []),
  ]
}

const BINDINGS = ['JSONRPC', 'HTTP+JSON', 'GRPC']

function interfaceProblems({ raw, card, source }: LintedCard): CardProblem[] {
  const listed: readonly unknown[] = Array.isArray(raw['supportedInterfaces'])
    ? raw['supportedInterfaces']
    : []
  const interfaces = listed.length > 0 ? listed : (card?.supportedInterfaces ?? [])
  const field = listed.length > 0 ? 'supportedInterfaces' : 'url'
  return interfaces.slice(0, 100).flatMap((each, index) => {
    const path = field === 'url' ? 'url' : `${field}[${index}]`
    return typeof each === 'object' && each !== null
      ? oneInterface(path, each, source)
      : [error(path, 'is not an object')]
  })
}

function oneInterface(path: string, agentInterface: object, source: string): CardProblem[] {
  const { url, protocolBinding, protocolVersion } = agentInterface as Raw
  const problems: CardProblem[] = []
  if (typeof url !== 'string' || !URL.canParse(url)) return [error(`${path}.url`, 'is not an absolute URL')]
  const version = typeof protocolVersion === 'string' ? protocolVersion : ''
  if (!/^\d+\.\d+/.test(version)) {
    problems.push(error(`${path}.protocolVersion`, 'is missing: clients cannot know its version of A2A'))
  }
  if (
    typeof protocolBinding === 'string' &&
    !BINDINGS.includes(protocolBinding) &&
    !/^[a-z]+:/.test(protocolBinding)
  ) {
    problems.push(
      warning(`${path}.protocolBinding`, `"${protocolBinding}" is none of ${BINDINGS.join(', ')}`),
    )
  }
  return [...problems, ...placeProblems(`${path}.url`, new URL(url), source)]
}

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\]|0\.0\.0\.0)$/

/** Where an interface is, seen from where the card is. */
function placeProblems(path: string, url: URL, source: string): CardProblem[] {
  if (!URL.canParse(source)) return []
  const from = new URL(source)
  const isRemote = !LOOPBACK.test(from.hostname)
  if (url.hostname === '0.0.0.0')
    return [error(path, 'is 0.0.0.0, which is an address to listen on, and none to call')]
  if (isRemote && LOOPBACK.test(url.hostname)) {
    return [error(path, `is ${url.host}, which is the machine of the client itself`)]
  }
  if (from.protocol === 'https:' && url.protocol === 'http:') {
    return [error(path, 'is http although the card came by https: clients with credentials refuse it')]
  }
  const problems: CardProblem[] = []
  if (isRemote && url.protocol === 'http:')
    problems.push(warning(path, 'is http: others can read what is sent'))
  if (url.origin !== from.origin) {
    problems.push(
      warning(path, `is at ${url.origin}, and the card at ${from.origin}: credentials go to both`),
    )
  }
  return problems
}

function skillProblems(raw: Raw, { skills }: AgentCard): CardProblem[] {
  const listed: readonly unknown[] = Array.isArray(raw['skills']) ? raw['skills'] : []
  const ids = skills.map(({ id }) => id)
  const repeated = [...new Set(ids.filter((id, index) => ids.indexOf(id) !== index))]
  return [
    ...(skills.length === 0
      ? [warning('skills', 'is empty: clients that choose agents by skill do not find this one')]
      : []),
    ...repeated.slice(0, 20).map((id) => warning('skills', `has several skills with the id "${id}"`)),
    ...listed.slice(0, 100).flatMap((skill, index) => {
      const fields: Raw = typeof skill === 'object' && skill !== null ? (skill as Raw) : {}
      const { description, tags } = fields
      const path = `skills[${index}]`
      return [
        ...(typeof description === 'string' && description !== ''
          ? []
          : [warning(`${path}.description`, 'is missing: models choose skills by it')]),
        ...(Array.isArray(tags) && tags.length > 0
          ? []
          : [warning(`${path}.tags`, 'is missing: A2A 1.0 §4.4.5 requires it')]),
      ]
    }),
  ]
}

function modeProblems({ defaultInputModes, defaultOutputModes }: AgentCard): CardProblem[] {
  const fields = Object.entries({ defaultInputModes, defaultOutputModes })
  return fields.flatMap(([name, modes]) =>
    modes
      .filter((mode) => !/^[\w*.+-]+\/[\w*.+-]+/.test(mode))
      .slice(0, 20)
      .map((mode) => warning(name, `"${mode}" is no media type, such as text/plain`)),
  )
}

function securityProblems(
  raw: Raw,
  { securitySchemes = {}, securityRequirements = [] }: AgentCard,
): CardProblem[] {
  const known = Object.keys(securitySchemes)
  const required = securityRequirements.flatMap(({ schemes = {} }) => Object.keys(schemes))
  const unknown = [...new Set(required)].filter((name) => !known.includes(name))
  const hasUnusedSchemes = known.length > 0 && required.length === 0
  const isSigned = Array.isArray(raw['signatures']) && raw['signatures'].length > 0
  return [
    ...unknown
      .slice(0, 20)
      .map((name) => error('securityRequirements', `names "${name}", which securitySchemes lacks`)),
    ...(hasUnusedSchemes
      ? [
          warning(
            'securityRequirements',
            'is missing: clients do not know which of the securitySchemes to use',
          ),
        ]
      : []),
    ...(isSigned && raw['supportedInterfaces'] === undefined
      ? [warning('signatures', 'cover a card of A2A 0.3, which this program does not verify')]
      : []),
  ]
}

function capabilityProblems({ capabilities }: AgentCard): CardProblem[] {
  const required = (capabilities.extensions ?? []).filter((extension) => extension.required === true)
  return required
    .slice(0, 20)
    .map(({ uri = '' }) =>
      warning('capabilities.extensions', `requires ${uri}: clients without it are refused`),
    )
}

function headerProblems(headers: Headers): CardProblem[] {
  const type = headers.get('content-type') ?? 'none'
  return [
    ...(/^application\/([\w.-]+\+)?json\b/i.test(type)
      ? []
      : [warning('Content-Type', `of the response is "${type}", and not application/json`)]),
    ...(headers.has('cache-control')
      ? []
      : [
          warning(
            'Cache-Control',
            'is missing in the response: clients fetch the card each time (A2A 1.0 §8.6.1)',
          ),
        ]),
  ]
}
