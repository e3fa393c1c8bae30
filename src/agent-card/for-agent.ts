/**
 * Card for one of several agents on a server.
 *
 * @module
 */
import { requireKnown } from '../runtime/options.js'
import type { AgentCard } from '../schemas/agent-card.js'
import { buildAgentCard, type AgentCardInput } from './build.js'
import { own, PRESET_KEYS, toolsToSkills, type ToolTables } from './skills.js'

/** An agent, as the server stores it. */
export interface AgentRecord {
  readonly id: string
  readonly name: string
  readonly description?: string | null | undefined
  /** Names of the tools that the agent may use. Absent or `null` means the preset's default tools; `[]` means none. */
  readonly mcpToolPermissions?: readonly string[] | null | undefined
}

/** The tools of a server. */
export interface AgentPreset extends ToolTables {
  /** Tools of agents without their own permissions, in this order. Default is none. */
  readonly defaultTools?: readonly string[] | undefined
  /** Description of agents without one. Default is their name. */
  readonly agentDescription?: string | undefined
}

/** Options for the card of an agent. */
export interface AgentCardForAgentOptions {
  /** Base URL of the server. The agent's URL is `/api/agents/{id}` below it. */
  readonly url: string
  /** The tools of the server. Unknown tools of an agent are left out. */
  readonly preset: AgentPreset
  readonly persona?: { readonly archetype?: string | null | undefined } | null | undefined
  readonly bundles?: readonly { readonly name: string }[] | undefined
  /** Further fields of the card. */
  readonly card?:
    Omit<AgentCardInput, 'name' | 'description' | 'url' | 'supportedInterfaces' | 'skills'> | undefined
}

/**
 * Builds the card of an agent, with a skill for each tool that it may use. Its description is extended by the persona's
 * archetype, unless that is `custom`, and by its bundles: `Reviews code | Archetype: mentor | Skills: git, web`.
 *
 * @throws {TypeError} for an unknown option.
 * @throws {A2AError} `INVALID_PARAMS` with the path of what is missing or wrong.
 */
export function buildAgentCardForAgent(agent: AgentRecord, options: AgentCardForAgentOptions): AgentCard {
  requireKnown(options, ['url', 'preset', 'persona', 'bundles', 'card'], 'buildAgentCardForAgent')
  const { url, preset, persona, bundles = [], card } = options
  requireKnown(preset, PRESET_KEYS, 'buildAgentCardForAgent', 'preset')
  const { tags = {}, descriptions = {}, defaultTools = [], agentDescription = agent.name } = preset
  const archetype = persona?.archetype
  const description = [
    agent.description || agentDescription,
    ...(archetype && archetype !== 'custom' ? [`Archetype: ${archetype}`] : []),
    ...(bundles.length > 0 ? [`Skills: ${bundles.map(({ name }) => name).join(', ')}`] : []),
  ]
  const tools = agent.mcpToolPermissions ?? defaultTools
  const known = tools.filter((tool) => [tags, descriptions].some((table) => own<unknown>(table, tool)))
  return buildAgentCard({
    ...card,
    name: agent.name,
    description: description.join(' | '),
    url: `${url.replace(/\/+$/, '')}/api/agents/${encodeURIComponent(agent.id)}`,
    skills: toolsToSkills(known, preset),
  })
}
