/**
 * Settings of agents that come from the environment: those that only this library needs, so that a file of LiteLLM-RS does
 * not have them.
 *
 * @module
 */
import type { JsonObject } from '../../core/json-types.js'
import type { AgentInput } from '../registry/agent.js'
import { snakeCase } from './yaml-node.js'

type Agent = Pick<AgentInput, 'id' | 'provider'>

/** The settings that find an agent at its service, by provider: groups of which an agent has one. */
const SETTINGS: ReadonlyMap<string, readonly (readonly string[])[]> = new Map([
  ['langgraph', [['assistantId']]],
  ['vertex_ai', [['project', 'location', 'engineId'], ['resource']]],
  ['azure_ai', [['agentName', 'agentVersion'], ['assistantId']]],
  ['bedrock', [['agentId', 'aliasId'], ['runtimeArn']]],
])

/** Variables that the tools of a service read, for agents without a variable of their own. */
const SHARED: Readonly<Record<string, string>> = { 'vertex_ai.project': 'GOOGLE_CLOUD_PROJECT' }

/** Returns the settings of an agent that have variables, except those that the file gives or rules out. */
export function settingsFromVariables(
  agent: Agent,
  given: Readonly<JsonObject>,
  lookup: (name: string) => string | undefined,
): JsonObject {
  const groups = SETTINGS.get(agent.provider) ?? []
  const valueOf = (name: string): string => lookup(variableOf(agent, name)) ?? ''
  const group =
    groups.find((names) => names.some((name) => Object.hasOwn(given, name))) ??
    groups.find((names) => names.some((name) => valueOf(name) !== '')) ??
    groups[0] ??
    []
  const values = group.map((name) => {
    const shared = SHARED[`${agent.provider}.${name}`]
    return [name, valueOf(name) || (shared === undefined ? '' : (lookup(shared) ?? ''))] as const
  })
  return Object.fromEntries(values.filter(([name, value]) => value !== '' && !Object.hasOwn(given, name)))
}

/** Returns the variable for a setting of an agent, such as `DATA_AGENT_ALIAS_ID`; `undefined` if it has none. */
export function variableFor(agent: Agent, setting: string): string | undefined {
  const groups = SETTINGS.get(agent.provider) ?? []
  return groups.some((names) => names.includes(setting)) ? variableOf(agent, setting) : undefined
}

function variableOf({ id }: Agent, setting: string): string {
  return `${id}_${snakeCase(setting)}`.replace(/[^A-Za-z0-9]/g, '_').toUpperCase()
}
