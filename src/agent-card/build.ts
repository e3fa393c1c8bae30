/**
 * A card from few words.
 *
 * @module
 */
import { invalidParams } from '../core/errors.js'
import {
  AgentCardSchema,
  type AgentCapabilities,
  type AgentCard,
  type AgentInterface,
  type AgentSkill,
} from '../schemas/agent-card.js'
import { check } from '../wire/check.js'

/** A card with what goes without saying left out: a `name`, and where the agent is. */
export interface AgentCardInput extends Partial<Omit<AgentCard, 'name' | 'skills' | 'capabilities'>> {
  readonly name: string
  /**
   * Where the agent is reached, by both bindings; `urlFromEnvironment()` knows it by `PORT` and `BIND_HOST`. Or say it in
   * `supportedInterfaces`.
   */
  readonly url?: string
  /** The versions that are spoken at `url`. Default is `['1.0', '0.3']`. */
  readonly protocolVersions?: readonly string[]
  /** Default is streaming. */
  readonly capabilities?: AgentCapabilities
  /** Default is one skill with the agent's name and description. */
  readonly skills?: readonly AgentSkill[]
}

/**
 * A complete A2A 1.0 card (§4.4.1). What is left out gets a default: version `1.0.0`, text in and out, streaming, one
 * skill that is what the agent itself is.
 *
 * @throws {A2AError} `INVALID_PARAMS` with the path of what is missing or wrong: `card.skills[0].id …`.
 */
export function buildAgentCard(input: AgentCardInput): AgentCard {
  const { url, protocolVersions = ['1.0', '0.3'], ...given } = input
  if (url === undefined && given.supportedInterfaces === undefined) {
    throw invalidParams('card.url', 'is missing: say where the agent is reached, as https://agent.example')
  }
  const unknown = Object.keys(given).find((key) => !(key in AgentCardSchema.shape))
  if (unknown !== undefined) {
    const known = ['url', 'protocolVersions', ...Object.keys(AgentCardSchema.shape)].join(', ')
    throw invalidParams(`card.${unknown}`, `is unknown; known are ${known}`)
  }
  if (url !== undefined && !/^https?:\/\/[^/]/.test(url)) {
    throw invalidParams('card.url', 'must be an absolute URL, such as https://agent.example')
  }
  const { name, description = name } = given
  return check(
    AgentCardSchema,
    {
      description,
      supportedInterfaces: url === undefined ? [] : interfacesAt(url.replace(/\/+$/, ''), protocolVersions),
      version: '1.0.0',
      capabilities: { streaming: true },
      defaultInputModes: ['text/plain'],
      defaultOutputModes: ['text/plain'],
      skills: [{ id: 'default', name, description, tags: ['general'] }],
      ...given,
    },
    'card',
  )
}

function interfacesAt(url: string, versions: readonly string[]): AgentInterface[] {
  return versions.flatMap((protocolVersion) =>
    ['JSONRPC', 'HTTP+JSON'].map((protocolBinding) => ({ url, protocolBinding, protocolVersion })),
  )
}
