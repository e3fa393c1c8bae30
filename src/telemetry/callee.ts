/**
 * The agent that a client calls, as described in spans and metrics.
 *
 * @module
 */
import type { A2AClient } from '../client/a2a-client.js'
import type { OtelAttributes } from './api.js'
import { addressOf } from './names.js'
import { quietly } from './telemetry.js'
import { parseUrl } from '../runtime/url.js'

export interface Callee {
  readonly name: string
  /**
   * Whether the program configured the agent. Other names are unbounded, so they must not become values of metric
   * attributes.
   */
  readonly isKnown: boolean
  readonly attributes: OtelAttributes
}

/** Replaces a value that could be any of too many. */
export const OTHER = '_OTHER'

/** Describes the agents that a client calls. */
export class Callees {
  readonly #client: A2AClient
  readonly #agentName: string | undefined
  /** Cached, because reading a card takes time and a client has only one agent. */
  #card: { readonly name: string; readonly version?: string } | undefined

  constructor(client: A2AClient, agentName: string | undefined) {
    this.#client = client
    this.#agentName = agentName
  }

  /** The client's own agent. */
  own(): Callee {
    this.#card ??= quietly(() => this.#client.card)
    const agentInterface = quietly(() => this.#client.interface)
    const { name = OTHER, version } = this.#card ?? {}
    const { origin, pathname } = parseUrl(this.#client.cardUrl ?? '') ?? {}
    return {
      name: this.#agentName ?? name,
      isKnown: true,
      attributes: {
        'gen_ai.agent.version': version,
        // Without its query, which may be secret.
        'a2a.agent.card.url': origin && `${origin}${pathname}`,
        'a2a.protocol.version': agentInterface?.protocolVersion,
        'a2a.protocol.binding': agentInterface?.protocolBinding,
        ...(agentInterface && addressOf(agentInterface.url)),
      },
    }
  }

  /** The agent argument of `sendTask`: a name, a URL, a client or a card. */
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
