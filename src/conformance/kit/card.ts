/** The card of an agent and the interfaces that it offers. */

import { ask, type Answer } from './http.js'
import { ensure, describeAnswer } from './mismatch.js'
import type { WireCard } from './wire.js'

/** An interface that the checks know. */
export interface AgentInterface {
  /** `JSONRPC 1.0`. */
  readonly name: string
  readonly binding: string
  readonly version: string
  readonly url: string
  readonly tenant: string | undefined
}

interface Offered {
  readonly url: string
  readonly binding: string | undefined
  readonly version: string | undefined
  readonly tenant?: string | undefined
}

const CARD_PATH = '.well-known/agent-card.json'
const KNOWN = new Set(['JSONRPC 1.0', 'JSONRPC 0.3', 'HTTP+JSON 1.0', 'HTTP+JSON 0.3'])

/** The URL of the card of the agent at `url`, below its path. A URL that ends with `.json` is the card's own. */
export function cardUrlOf(url: string): string {
  return url.endsWith('.json') ? url : new URL(CARD_PATH, url.endsWith('/') ? url : `${url}/`).href
}

export async function readCard(url: string, version = '1.0'): Promise<Answer & { readonly json: WireCard }> {
  const answer = await ask(cardUrlOf(url), { headers: { 'A2A-Version': version } })
  const isObject = typeof answer.json === 'object' && !Array.isArray(answer.json)
  ensure(answer, answer.status === 200 && isObject, 'HTTP 200 and a card as JSON', describeAnswer(answer))
  // The checks look at what it has.
  return { ...answer, json: answer.json as WireCard }
}

/**
 * The interfaces of a card that the checks know: `binding`, `version`, `url`, `tenant`. A card of A2A 0.3 has `url`,
 * `preferredTransport` and `additionalInterfaces`; a card of 1.0 has `supportedInterfaces`.
 *
 * @param origin replaces the origin of all URLs, for agents that are reached by another address than their cards say.
 */
export function interfacesOf(card: WireCard, origin: string | undefined): AgentInterface[] {
  const found = new Map<string, AgentInterface>()
  for (const each of [...modernInterfaces(card), ...legacyInterfaces(card)]) {
    const version = minorOf(each.version)
    const name = `${each.binding ?? ''} ${version ?? ''}`
    if (each.binding === undefined || version === undefined) continue
    if (!KNOWN.has(name) || found.has(name)) continue
    const url = origin === undefined ? each.url : withOrigin(each.url, origin)
    found.set(name, {
      name,
      binding: each.binding,
      version,
      url: url.replace(/\/$/, ''),
      tenant: each.tenant,
    })
  }
  return [...found.values()]
}

function modernInterfaces({ supportedInterfaces = [] }: WireCard): Offered[] {
  return supportedInterfaces.map(({ url, protocolBinding: binding, protocolVersion: version, tenant }) => ({
    url,
    binding,
    version,
    tenant: tenant || undefined,
  }))
}

function legacyInterfaces({
  url,
  protocolVersion,
  preferredTransport = 'JSONRPC',
  additionalInterfaces = [],
}: WireCard): Offered[] {
  if (url === undefined || minorOf(protocolVersion) !== '0.3') return []
  const all = [{ url, transport: preferredTransport }, ...additionalInterfaces]
  return all.map(({ url, transport }) => ({ url, binding: transport, version: '0.3' }))
}

/** `1.0` for `1.0.3`: patch versions count nothing (§3.6). */
function minorOf(version: string | undefined): string | undefined {
  return /^\d+\.\d+/.exec(version ?? '')?.[0]
}

function withOrigin(url: string, origin: string): string {
  const { pathname, search } = new URL(url)
  return `${new URL(origin).origin}${pathname}${search}`
}
