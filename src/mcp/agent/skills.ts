/**
 * The skills of an agent: the tools and prompts of a server, and one skill that reads its resources.
 *
 * @module
 */
import type { Part } from '../../core/task.js'
import { isRecord, recordOf, type Unread } from '../../runtime/unread.js'
import type { McpClient } from './client.js'
import { definitionOf, listPrompts, listResources, listTools, MAX_URI, type ListedPrompt } from './listing.js'
import { partsOf, partsOfResource, readResult, MAX_BLOCKS } from './results.js'
import { request, type Caller } from './steps.js'

/** A skill of the agent. */
export interface McpSkill extends ListedPrompt {
  readonly kind: 'tool' | 'prompt' | 'resources'
  readonly outputSchema?: Unread
  /** Resolves to the parts of the result. Rejects as `request`. */
  readonly call: (input: Unread, caller: Caller) => Promise<readonly Part[]>
}

/** The names of the tools and prompts to use, or all, and whether resources can be read. */
export interface Choice {
  readonly tools: readonly string[] | undefined
  readonly prompts: readonly string[] | undefined
  readonly resources: boolean
}

const RESOURCES = 'resources'

/**
 * What the server offers, in this order: tools, prompts, resources.
 *
 * @throws {Error} where the server offers nothing, exceeds a limit, lacks what is asked for, or has one name for two skills.
 */
export async function skillsOf(client: McpClient, choice: Choice): Promise<McpSkill[]> {
  const tools = await listTools(client, choice.tools)
  const prompts = await listPrompts(client, choice.prompts)
  const skills: McpSkill[] = [
    ...tools.map((tool): McpSkill => {
      const { name } = tool
      const call: McpSkill['call'] = async (input, caller) => {
        const given = { method: 'tools/call', params: { name, arguments: input }, tool: definitionOf(tool) }
        return readResult(await request(caller, name, given), tool).parts
      }
      return { ...tool, kind: 'tool', call }
    }),
    ...prompts.map((prompt): McpSkill => {
      const { name } = prompt
      const call: McpSkill['call'] = async (input, caller) => {
        const given = { method: 'prompts/get', params: { name, arguments: input } }
        return partsOfPrompt(await request(caller, name, given))
      }
      return { ...prompt, kind: 'prompt', call }
    }),
    ...(choice.resources && recordOf(client.getServerCapabilities())?.[RESOURCES] !== undefined
      ? [RESOURCES_SKILL]
      : []),
  ]
  if (skills.length === 0) throw new Error('The MCP server has no tools, prompts or resources')
  requireDistinct(skills)
  return skills
}

function requireDistinct(skills: readonly McpSkill[]): void {
  const kinds = new Map<string, string>()
  for (const { name, kind } of skills) {
    const other = kinds.get(name)
    if (other !== undefined)
      throw new Error(
        `The MCP server has two skills "${name}", for "${other}" and "${kind}": leave one out by "tools", "prompts" or "resources"`,
      )
    kinds.set(name, kind)
  }
}

/** One skill for all resources: a server can have any number of them, and templates. */
const RESOURCES_SKILL: McpSkill = {
  ...{ kind: 'resources', name: RESOURCES, title: 'Resources' },
  description: 'Reads the resource with this URI. Without a URI, lists the resources and their templates.',
  inputSchema: {
    type: 'object',
    properties: { uri: { type: 'string', minLength: 1, maxLength: MAX_URI } },
  },
  async call({ uri }, caller) {
    if (uri === undefined) {
      const list = async ({ signal }: { readonly signal: AbortSignal }): Promise<unknown> => ({
        ...(await listResources(await caller.client(), signal)),
      })
      // A result of JSON.
      return [{ data: (await caller.run.step(RESOURCES, list)) as NonNullable<Part['data']> }]
    }
    const { contents } = await request(caller, RESOURCES, { method: 'resources/read', params: { uri } })
    return blocksOf(contents).flatMap(partsOfResource)
  },
}

/** The contents of the messages. `metadata.role` of each part is that of its message. */
function partsOfPrompt({ messages }: Unread): readonly Part[] {
  return blocksOf(messages).flatMap(({ role, content }) =>
    partsOf(recordOf(content) ?? {}).map((part) =>
      role === 'user' || role === 'assistant' ? { ...part, metadata: { role } } : part,
    ),
  )
}

function blocksOf(given: unknown): Unread[] {
  return Array.isArray(given) ? given.slice(0, MAX_BLOCKS).filter(isRecord) : []
}
