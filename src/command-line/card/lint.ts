/**
 * Lint of a card: what a client would stumble on.
 *
 * @module
 */
import type { AgentCard } from 'a2a-tasks/schemas'
import type { LoadedCard } from './load.js'

export interface Problem {
  /** An `error` keeps clients from using the agent, or a part of it. */
  readonly level: 'error' | 'warning'
  /** The field, such as `skills[0].tags`. */
  readonly path: string
  readonly text: string
}

type Raw = Readonly<Record<string, unknown>>

/** The problems of a card, errors first. */
export function lintCard(loaded: LoadedCard): Problem[] {
  const { raw, card, refusal, headers } = loaded
  const problems = [
    ...refusalProblems(refusal),
    ...fieldProblems(raw),
    ...interfaceProblems(loaded),
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
  return problems.toSorted(byLevel)
}

function byLevel(a: Problem, b: Problem): number {
  return Number(a.level === 'warning') - Number(b.level === 'warning')
}

function error(path: string, text: string): Problem {
  return { level: 'error', path, text }
}

function warning(path: string, text: string): Problem {
  return { level: 'warning', path, text }
}

function refusalProblems(refusal: unknown): Problem[] {
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

function fieldProblems(raw: Raw): Problem[] {
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

function interfaceProblems({ raw, card, source }: LoadedCard): Problem[] {
  const listed: readonly unknown[] = Array.isArray(raw['supportedInterfaces'])
    ? raw['supportedInterfaces']
    : []
  const interfaces = listed.length > 0 ? listed : (card?.supportedInterfaces ?? [])
  const field = listed.length > 0 ? 'supportedInterfaces' : 'url'
  return interfaces.slice(0, 100).flatMap((each, index) => {
    const path = field === 'url' ? 'url' : `${field}[${index}]`
    return typeof each === 'object' && each !== null
      ? oneInterface(path, each, source)
      : [error(path, 'is no object')]
  })
}

function oneInterface(path: string, agentInterface: object, source: string): Problem[] {
  const { url, protocolBinding, protocolVersion } = agentInterface as Raw
  const problems: Problem[] = []
  if (typeof url !== 'string' || !URL.canParse(url)) return [error(`${path}.url`, 'is no absolute URL')]
  const version = typeof protocolVersion === 'string' ? protocolVersion : ''
  if (!/^\d+\.\d+/.test(version)) {
    problems.push(error(`${path}.protocolVersion`, 'is missing: clients cannot tell which A2A it speaks'))
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
function placeProblems(path: string, url: URL, source: string): Problem[] {
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
  const problems: Problem[] = []
  if (isRemote && url.protocol === 'http:')
    problems.push(warning(path, 'is http: others can read what is sent'))
  if (url.origin !== from.origin) {
    problems.push(
      warning(path, `is at ${url.origin}, and the card at ${from.origin}: credentials go to both`),
    )
  }
  return problems
}

function skillProblems(raw: Raw, { skills }: AgentCard): Problem[] {
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

function modeProblems({ defaultInputModes, defaultOutputModes }: AgentCard): Problem[] {
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
): Problem[] {
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

function capabilityProblems({ capabilities }: AgentCard): Problem[] {
  const required = (capabilities.extensions ?? []).filter((extension) => extension.required === true)
  return required
    .slice(0, 20)
    .map(({ uri = '' }) =>
      warning('capabilities.extensions', `requires ${uri}: clients without it are refused`),
    )
}

function headerProblems(headers: Headers): Problem[] {
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
