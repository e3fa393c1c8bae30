/**
 * Agent card with lookup methods.
 *
 * @module
 */
import type { AgentCapabilities, AgentCard as Card, AgentSkill } from '../schemas/agent-card.js'
import { readAgentCard } from './parse.js'

/** The fields of a card that {@link AgentCard} requires; each skill needs an id. */
export interface AgentInfo {
  readonly name: string
  readonly skills?: readonly { readonly id: string }[]
}

type Capability = Exclude<keyof AgentCapabilities, 'extensions'>

/**
 * An agent card with methods that look up its skills, interfaces and capabilities.
 *
 * Pass a card of any version, or a few fields such as `{ name, skills: [{ id }] }`. The object has the fields of an A2A 1.0
 * card and serializes to one, so you can pass it wherever a card is expected. Deeply frozen. A card without a URL has no
 * interfaces.
 *
 * @throws {A2AError} `INVALID_PARAMS`, as `parseAgentCard`.
 * @example
 * const card = new AgentCard(await response.json())
 * if (card.hasSkill('summarize') && card.supports('streaming')) { … }
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

  /** Returns the skill with this id. */
  skill(id: string): AgentSkill | undefined {
    return this.skills.find((skill) => skill.id === id)
  }

  /**
   * Whether the agent has an interface with this binding (`JSONRPC`, `HTTP+JSON`, …; case-insensitive) and, if given,
   * this version. Patch versions are ignored (A2A 1.0 §3.6): `1.0.3` matches `1.0`.
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
