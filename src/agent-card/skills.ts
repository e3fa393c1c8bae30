/**
 * Skills from tools.
 *
 * @module
 */
import { requireKnown, requireText } from '../runtime/options.js'
import type { AgentSkill } from '../schemas/agent-card.js'

/** A tool as MCP lists it. */
export interface Tool {
  readonly name: string
  readonly title?: string | undefined
  readonly description?: string | undefined
  /** Schemas and further fields, which skills do not have. */
  readonly [field: string]: unknown
}

/** Additional data about tools, by full name with the prefix. */
export interface ToolTables {
  /** Prefix to remove from the names of skills. Default is none. */
  readonly prefix?: string | undefined
  /** Default is `['general']` for each tool. */
  readonly tags?: Readonly<Record<string, readonly string[]>> | undefined
  /** Used in place of a tool's own description. Default is the tool's own, or `Tool: name`. */
  readonly descriptions?: Readonly<Record<string, string>> | undefined
}

/** A preset of agents has such tables too, and can be passed as it is. */
export const PRESET_KEYS = ['prefix', 'tags', 'descriptions', 'defaultTools', 'agentDescription']

/**
 * Returns a skill for each tool. Its id is the tool's name; it takes JSON, and returns JSON or text. Its name is the
 * tool's title, or the name in readable form: `github_list_prs` becomes `GitHub List PRs`.
 *
 * @throws {TypeError} for an unknown option.
 */
export function toolsToSkills(tools: readonly (string | Tool)[], tables: ToolTables = {}): AgentSkill[] {
  requireKnown(tables, PRESET_KEYS, 'toolsToSkills')
  const { prefix = '', tags = {}, descriptions = {} } = tables
  return tools.map((tool) => {
    const { name, title, description }: Tool = typeof tool === 'string' ? { name: tool } : tool
    return {
      id: name,
      name: title || humanize(name.startsWith(prefix) ? name.slice(prefix.length) : name),
      description: own(descriptions, name) ?? (description || `Tool: ${name}`),
      tags: [...(own(tags, name) ?? ['general'])],
      inputModes: ['application/json'],
      outputModes: ['application/json', 'text/plain'],
    }
  })
}

/** The name of the tool with which a model delegates to the agent, in KAOS. */
export function delegationName(agent: string): string {
  return `delegate_to_${agent}`
}

/**
 * Returns a skill for each agent that your agent delegates to, as KAOS has it in cards: `delegate_to_{name}`. `delegationTool`
 * of `a2a-tasks/client` makes the tool of this name.
 *
 * @param agents Names, or `RemoteAgent`s.
 * @throws {TypeError | RangeError} for an agent without a name.
 */
export function subAgentsToSkills(agents: readonly (string | { readonly name: string })[]): AgentSkill[] {
  return agents.map((agent, index) => {
    const name: unknown = typeof agent === 'string' ? agent : agent.name
    requireText(`agents[${index}]`, name)
    return {
      id: delegationName(name),
      name: delegationName(name),
      description: `Delegate task to ${name}`,
      tags: ['delegation'],
      inputModes: ['application/json'],
      outputModes: ['application/json'],
    }
  })
}

/** Own properties only: a tool may be named `constructor`. */
export function own<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}

const SPELLINGS: Readonly<Record<string, string>> = {
  github: 'GitHub',
  pr: 'PR',
  prs: 'PRs',
  a2a: 'A2A',
  api: 'API',
}

function humanize(name: string): string {
  return name
    .split('_')
    .map((word) => own(SPELLINGS, word) ?? word.charAt(0).toUpperCase() + word.slice(1))
    .join(' ')
}
