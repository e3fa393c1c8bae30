/**
 * The agent that a client calls, as telemetry tells of it.
 *
 * @module
 */
import type { A2AClient } from '../client/a2a-client.js'
import type { OtelAttributes } from './api.js'
import { quietly } from './telemetry.js'
import { parseUrl } from '../runtime/url.js'

export interface Callee {
  readonly name: string
  /** Whether it is one of those that the program was set up with: names of others may be any number. */
  readonly isKnown: boolean
  readonly attributes: OtelAttributes
}

/** What is told in place of what might be any of too many. */
export const OTHER = '_OTHER'

/** Reads the agents of a client. */
export class Callees {
  readonly #client: A2AClient
  readonly #agentName: string | undefined
  /** Read once: reading a card is work, and one client is one agent. */
  #card: { readonly name: string; readonly version?: string } | undefined

  constructor(client: A2AClient, agentName: string | undefined) {
    this.#client = client
    this.#agentName = agentName
  }

  /** The client's own agent. */
  own(): Callee {
    this.#card ??= quietly(() => this.#client.card)
    const face = quietly(() => this.#client.interface)
    const { name = OTHER, version } = this.#card ?? {}
    return {
      name: this.#agentName ?? name,
      isKnown: true,
      attributes: {
        'gen_ai.agent.version': version,
        'a2a.protocol.version': face?.protocolVersion,
        ...(face && addressOf(face.url)),
      },
    }
  }

  /** Of `sendTask`: a name, a URL, a client or a card. */
  given(agent: unknown): Callee {
    if (typeof agent === 'string') {
      const url = parseUrl(agent)
      const attributes = url === undefined ? {} : addressOf(agent)
      return { name: url?.host ?? agent, isKnown: url === undefined, attributes }
    }
    if (isClient(agent)) return new Callees(agent, undefined).own()
    const isNamed = typeof agent === 'object' && agent !== null && 'name' in agent
    const name = isNamed && typeof agent.name === 'string' ? agent.name : OTHER
    return { name, isKnown: false, attributes: {} }
  }
}

function isClient(agent: unknown): agent is A2AClient {
  return typeof agent === 'object' && agent !== null && 'sendTask' in agent
}

function addressOf(url: string): OtelAttributes {
  const { protocol, hostname, port } = new URL(url)
  const usual = protocol === 'https:' ? 443 : 80
  return { 'server.address': hostname, 'server.port': port === '' ? usual : Number(port) }
}
