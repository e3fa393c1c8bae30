/**
 * A card to ask.
 *
 * @module
 */
import type { AgentCapabilities, AgentCard as Card, AgentSkill } from '../schemas/agent-card.js'
import { readAgentCard } from './parse.js'

/** What of a card {@link AgentCard} needs in any case; skills need an id. */
export interface AgentInfo {
  readonly name: string
  readonly skills?: readonly { readonly id: string }[]
}

type Capability = Exclude<keyof AgentCapabilities, 'extensions'>

/**
 * The card of an agent, to look things up in: a card of any generation, or a few words, `{ name, skills: [{ id }] }`, as
 * a card of A2A 1.0. Deeply frozen. It is what a card of 1.0 is, so functions take it for one, and its JSON is the
 * card's; one that does not say where the agent is has no interfaces.
 *
 * @throws {A2AError} `INVALID_PARAMS`, as `parseAgentCard` does.
 */
export class AgentCard implements Card {
  declare readonly name: string
  declare readonly description: string
  declare readonly supportedInterfaces: Card['supportedInterfaces']
  declare readonly provider?: NonNullable<Card['provider']>
  declare readonly version: string
  declare readonly documentationUrl?: string
  declare readonly capabilities: Card['capabilities']
  declare readonly securitySchemes?: NonNullable<Card['securitySchemes']>
  declare readonly securityRequirements?: NonNullable<Card['securityRequirements']>
  declare readonly defaultInputModes: string[]
  declare readonly defaultOutputModes: string[]
  declare readonly skills: AgentSkill[]
  declare readonly signatures?: NonNullable<Card['signatures']>
  declare readonly iconUrl?: string

  constructor(info: AgentInfo | Readonly<Record<string, unknown>>) {
    Object.assign(this, readAgentCard(info))
    deepFreeze(this)
  }

  /** Whether the agent has the skill with this id. */
  hasSkill(id: string): boolean {
    return this.skill(id) !== undefined
  }

  /** The skill with this id. */
  skill(id: string): AgentSkill | undefined {
    return this.skills.find((skill) => skill.id === id)
  }

  /**
   * Whether the agent is reached by this binding (`JSONRPC`, `HTTP+JSON`, …; case does not count), and in this version
   * where one is given. Patch versions do not count (A2A 1.0 §3.6): `1.0.3` is `1.0`.
   */
  speaks(binding: string, version?: string): boolean {
    return this.supportedInterfaces.some(
      ({ protocolBinding, protocolVersion }) =>
        protocolBinding.toLowerCase() === binding.toLowerCase() &&
        (version === undefined || majorMinor(protocolVersion) === majorMinor(version)),
    )
  }

  /** Whether the agent declares this capability, or the extension with this URI. */
  supports(what: Capability | (string & {})): boolean {
    const { extensions = [], streaming, pushNotifications, extendedAgentCard } = this.capabilities
    const flags = new Map(Object.entries({ streaming, pushNotifications, extendedAgentCard }))
    return flags.has(what) ? flags.get(what) === true : extensions.some(({ uri }) => uri === what)
  }
}

function majorMinor(version: string): string {
  return /^\d+\.\d+(?=\.\d+$)/.exec(version)?.[0] ?? version
}

function deepFreeze(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  Object.values(value).forEach(deepFreeze)
  Object.freeze(value)
}
