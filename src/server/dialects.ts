/**
 * The dialects that a handler serves.
 *
 * @module
 */
import { buildAgentCard, requireCard, type AgentCardInput } from '../agent-card/build.js'
import { describe, quote } from '../runtime/describe.js'
import type { AgentCard } from '../schemas/agent-card.js'
import { v0_3 } from '../wire/v0-3/dialect.js'
import { v1 } from '../wire/v1/dialect.js'
import type { Dialect } from '../wire/dialect.js'
import { nonEmpty, type Dialects } from './negotiation.js'

/** The `version` of a dialect: one of this library, or of your own. */
export type DialectName = '1.0' | '0.3' | '0.1' | 'kaos' | 'corvid' | 'litellm' | (string & {})

/** The versions of A2A that are in use, the latest first. */
function defaultDialects(): readonly Dialect[] {
  return [v1(), v0_3()]
}

/**
 * The dialects, with the preferred one first.
 *
 * @param preferred - The `version` of one of them. Default is the first.
 * @throws {TypeError} when there are none, or none of that version.
 */
export function toDialects(
  given: readonly Dialect[] = defaultDialects(),
  preferred: string | undefined,
): Dialects {
  if (!Array.isArray(given)) {
    throw new TypeError(`"dialects" must be an array of dialects: [v1(), v0_3()], got ${describe(given)}`)
  }
  const dialects = nonEmpty(given)
  if (dialects === undefined) throw new TypeError('"dialects" must not be empty')
  for (const dialect of dialects) requireDialect(dialect)
  const versions = dialects.map(({ version }) => version)
  if (new Set(versions).size < versions.length) {
    throw new TypeError(`"dialects" must be of one version each, got ${versions.join(', ')}`)
  }
  if (preferred === undefined) return dialects
  const first = dialects.find(({ version }) => version === preferred)
  if (first === undefined) {
    const shown = typeof preferred === 'string' ? quote(preferred) : describe(preferred)
    const meant = versions.map(quote).find((version) => version === shown.toLowerCase())
    const got = meant === undefined ? shown : `${shown}: it is ${meant}`
    throw new TypeError(`"defaultDialect" must be one of ${versions.join(', ')}, got ${got}`)
  }
  return [first, ...dialects.filter((dialect) => dialect !== first)]
}

/** JavaScript callers may pass anything, most likely a factory that they did not call. */
function requireDialect(value: unknown): void {
  if (typeof value === 'object' && value !== null && 'version' in value && 'methods' in value) return
  const hint = typeof value === 'function' ? `; call it: ${value.name || 'v1'}()` : ''
  throw new TypeError(
    `"dialects" must hold dialects: v1(), v0_3() of a2a-tasks/wire, got ${quote(value)}${hint}`,
  )
}

/**
 * Completes the card. If it lists no interfaces, it gets those that are served: of the dialects that clients look for in
 * cards, or, where none of these is served, of all dialects over the bindings that they have.
 *
 * @throws {A2AError} naming the path of what is invalid.
 */
export function servedCard(input: AgentCardInput, dialects: Dialects): AgentCard {
  requireCard(input)
  const listed = nonEmpty(dialects.filter(({ isInCards }) => isInCards))
  const protocolVersions = (listed ?? dialects).map(({ version }) => version)
  const card = buildAgentCard({ protocolVersions, ...input })
  if (listed !== undefined || input.supportedInterfaces !== undefined) return card
  const bindings = [
    ...(dialects.some(({ methods }) => methods.size > 0) ? ['JSONRPC'] : []),
    ...(dialects.some(({ routes }) => routes.some(({ isInCard = true }) => isInCard)) ? ['HTTP+JSON'] : []),
  ]
  const served = card.supportedInterfaces.filter(({ protocolBinding }) => bindings.includes(protocolBinding))
  return { ...card, supportedInterfaces: served }
}
