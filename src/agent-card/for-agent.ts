/**
 * A card for one of the agents of a server.
 *
 * @module
 */
import type { AgentCard } from '../schemas/agent-card.js'
import { buildAgentCard, type AgentCardInput } from './build.js'
import { own, toolsToSkills, type ToolTables } from './skills.js'

/** An agent as a server keeps it. */
export interface AgentRecord {
  readonly id: string
  readonly name: string
  readonly description?: string | null | undefined
  /** The tools that it may use. `null` is as absent: the preset's default tools. `[]` is none. */
  readonly mcpToolPermissions?: readonly string[] | null | undefined
}

/** The tools that there are. */
export interface AgentPreset extends ToolTables {
  /** What agents without permissions of their own use, in this order. Default is none. */
  readonly defaultTools?: readonly string[] | undefined
  /** Describes agents that are not described. Default is their name. */
  readonly agentDescription?: string | undefined
}

/** What is said of the agent beside its record. */
export interface AgentCardForAgentOptions {
  /** Where the server is: the agent is at `/api/agents/{id}` below it. */
  readonly url: string
  /** The tools that there are: others are left out. */
  readonly preset: AgentPreset
  readonly persona?: { readonly archetype?: string | null | undefined } | null | undefined
  readonly bundles?: readonly { readonly name: string }[] | undefined
  /** What goes into the card beside name, description, URL and skills. */
  readonly card?: Omit<AgentCardInput, 'name' | 'description' | 'url' | 'supportedInterfaces' | 'skills'>
}

/**
 * The card of an agent whose skills are the tools that it may use. Its description goes on with the persona's archetype,
 * unless that is `custom`, and with its bundles: `Reviews code | Archetype: mentor | Skills: git, web`.
 *
 * @throws {A2AError} `INVALID_PARAMS` with the path of what is missing or wrong.
 */
export function buildAgentCardForAgent(agent: AgentRecord, options: AgentCardForAgentOptions): AgentCard {
  const { url, preset, persona, bundles = [], card } = options
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
