/**
 * Tools as skills.
 *
 * @module
 */
import type { AgentSkill } from '../schemas/agent-card.js'

/** A tool as MCP lists it. */
export interface Tool {
  readonly name: string
  readonly title?: string | undefined
  readonly description?: string | undefined
  /** Its schemas, and whatever else: no skill has them. */
  readonly [field: string]: unknown
}

/** What is known of tools beside what they say of themselves. Keys are their names, with the prefix. */
export interface ToolTables {
  /** What names begin with, and skills' names do not. Default is none. */
  readonly prefix?: string | undefined
  /** Default is `['general']` for each. */
  readonly tags?: Readonly<Record<string, readonly string[]>> | undefined
  /** They go before the tools' own. Default is those, or `Tool: name`. */
  readonly descriptions?: Readonly<Record<string, string>> | undefined
}

/**
 * A skill for each tool of an agent, under the tool's name as its id: it takes JSON, and gives JSON or text. Names are
 * for people, `github_list_prs` is `GitHub List PRs`; a tool's own title goes before.
 */
export function toolsToSkills(tools: readonly (string | Tool)[], tables: ToolTables = {}): AgentSkill[] {
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

/** A tool may be called `constructor`. */
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
