/**
 * A server of MCP as an agent of A2A, whose skills are its tools.
 *
 * @module
 */
import { buildAgentCard, type AgentCardInput } from '../../agent-card/build.js'
import { skillSchemas } from '../../agent-card/skill-schemas.js'
import { toolsToSkills } from '../../agent-card/skills.js'
import type { MaybePromise } from '../../core/managers.js'
import { observed } from '../../runtime/abort.js'
import { readOptions, requireBoolean, requireObject, requireStrings } from '../../runtime/options.js'
import { isRecord, type Unread } from '../../runtime/unread.js'
import type { Execute } from '../../server/execute.js'
import type { Run } from '../../server/run/run.js'
import { violationOf } from '../../wire/question/violation.js'
import type { McpClient } from './client.js'
import { requireClient, TOOLS_KEYS, toSettings, type McpToolsOptions, type Settings } from './options.js'
import { toSchema } from './questions.js'
import { McpToolError } from './results.js'
import { skillsOf, type Choice, type McpSkill } from './skills.js'

/**
 * The client of a server of MCP. All runs share a client. A function returns one for each run, with the credentials of its user,
 * and is called without a run for the list of the tools. It is called again where the connection has broken. Its clients are
 * closed when the run ends, and while it waits for its user.
 */
export type McpClientSource = McpClient | ((run: Run | undefined) => MaybePromise<McpClient>)

type Capabilities = NonNullable<AgentCardInput['capabilities']>
type WithoutSkills<C> = C extends unknown ? Omit<C, 'skills'> : never

/** Options of {@link mcpAgent}. */
export interface McpAgentOptions extends McpToolsOptions {
  /** The agent's card, without its skills. `{ name, url }` is enough. */
  readonly card: WithoutSkills<AgentCardInput>
  /** The names of the prompts to use. Default is all of them, at most 1,000. `[]` leaves them out. */
  readonly prompts?: readonly string[] | undefined
  /**
   * Whether the agent has a skill `resources`, where the server has resources. Who may call the agent may read each of them.
   * Default is `true`.
   */
  readonly resources?: boolean | undefined
}

/** What {@link mcpAgent} resolves to: options of `createRequestHandler`. */
export interface McpAgentParts {
  readonly card: AgentCardInput
  readonly execute: Execute
}

/**
 * An agent whose skills are the tools and prompts of a server of MCP, and `resources`, which reads its resources.
 *
 * - A message names its skill by `metadata.skill`, as those of `createMcpHandler` do. An agent with one tool, or one skill, needs
 *   no name. The input is the data part of the message. A text is the input of a skill that takes one text, or JSON of the input.
 *   Where it is neither, the user gets the schema of the skill as a question. Input that does not fit rejects the task.
 * - Each call is a step, as those of `mcpTools`: with progress, questions of the server, and cancellation.
 * - The result is an artifact: for a prompt, the contents of its messages, whose roles are in `metadata.role` of the parts. A tool
 *   that fails fails the task, with its text.
 *
 * Tools and prompts are read once: start again where they change.
 *
 * @returns Rejects with an `Error` when the server exceeds a limit of a list, lacks a tool or prompt that `tools` or `prompts`
 *   names, or has two skills of one name.
 * @throws {TypeError | RangeError} As a rejection, naming the invalid option.
 * @throws {A2AError} As a rejection, `INVALID_PARAMS` for the card, as `buildAgentCard`.
 * @example
 * const handler = createRequestHandler(await mcpAgent(client, { card: { name: 'Files', url: 'http://localhost:3000' } }))
 */
export async function mcpAgent(client: McpClientSource, options: McpAgentOptions): Promise<McpAgentParts> {
  const { card, prompts, resources = true } = readOptions(options, KEYS, 'mcpAgent()')
  if (prompts !== undefined) requireStrings('prompts', prompts)
  requireBoolean('resources', resources)
  requireObject('card', card, 'mcpAgent()')
  if ('skills' in card) throw new TypeError('"card.skills" are those of the MCP server: leave it out')
  // Before the server is asked.
  buildAgentCard(card)
  const settings = toSettings(options)
  const offered = await offeredBy(client, { tools: settings.tools, prompts, resources })
  const tags = Object.fromEntries(
    offered.flatMap(({ name, kind }) => (kind === 'tool' ? [] : [[name, [kind]]])),
  )
  const skills = toolsToSkills(
    offered.map(({ name, title, description }) => ({ name, title, description })),
    { tags },
  )
  return {
    card: { ...card, skills, capabilities: withSchemas(card.capabilities, offered) } as AgentCardInput,
    execute: async (run) => await execute(run, { client, skills: offered, settings }),
  }
}

const KEYS = ['card', 'prompts', 'resources', ...TOOLS_KEYS]

/** The most characters of all schemas in the card, as JSON. Clients read cards of 1 MiB. */
const MAX_SCHEMAS = 262_144

/** The most levels of a schema in the card, which has 64. */
const MAX_SCHEMA_DEPTH = 50

function isDeep(value: unknown, left = MAX_SCHEMA_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return false
  return left === 0 || Object.values(value).some((each) => isDeep(each, left - 1))
}

/** The capabilities, with the schemas of the skills, as many as there is room for. */
function withSchemas(
  { extensions = [], ...others }: Capabilities = { streaming: true },
  skills: readonly McpSkill[],
): Capabilities {
  let left = MAX_SCHEMAS
  const schemas = skills.flatMap(({ name, inputSchema, outputSchema }) => {
    const given = { inputSchema, outputSchema }
    if (isDeep(given)) return []
    left -= JSON.stringify(given).length
    return left < 0 ? [] : [[name, given] as const]
  })
  return { ...others, extensions: [...extensions, skillSchemas(Object.fromEntries(schemas))] }
}

async function offeredBy(source: McpClientSource, choice: Choice): Promise<McpSkill[]> {
  const connection = new Connection(source, undefined)
  try {
    return await skillsOf(await connection.client(), choice)
  } finally {
    connection.close()
  }
}

interface Served {
  readonly client: McpClientSource
  readonly skills: readonly McpSkill[]
  readonly settings: Settings
}

async function execute(run: Run, { client, skills, settings }: Served): Promise<undefined> {
  const skill = skillFor(run, skills)
  if (skill === undefined) {
    const names = skills.slice(0, MAX_NAMES).map(({ name }) => name)
    run.reject(`Name one of the skills of this agent in metadata.skill: ${names.join(', ')}`)
    return
  }
  const input = await inputFor(run, skill)
  const found = violationOf(skill.inputSchema, input)
  if (found !== undefined) {
    run.reject(`${found.path.replace(/^\./, '') || 'The input'} ${found.reason}`)
    return
  }
  const connection = new Connection(client, run)
  try {
    const caller = { run, ...settings, client: connection.client, release: connection.close }
    const parts = await skill.call(input, caller)
    if (parts.length > 0) run.artifact({ name: skill.title, parts })
  } catch (error) {
    if (!(error instanceof McpToolError)) throw error
    run.fail(error.message)
  } finally {
    connection.close()
  }
}

/** The most skills that a refusal names. */
const MAX_NAMES = 20

function skillFor({ message }: Run, skills: readonly McpSkill[]): McpSkill | undefined {
  const { skill: name }: Unread = { ...message.metadata }
  if (name !== undefined) return skills.find((each) => each.name === name)
  const tools = skills.filter(({ kind }) => kind === 'tool')
  const [only, ...others] = tools.length > 0 ? tools : skills
  return others.length === 0 ? only : undefined
}

/** The data of the message, what its text certainly means, or the answer of the user to a question with the skill's schema. */
async function inputFor(run: Run, { title, inputSchema }: McpSkill): Promise<Unread> {
  const data = run.message.parts.map((part): unknown => part.data).find(isRecord)
  const input = data ?? objectIn(run.text) ?? inputOfText(inputSchema, run.text)
  if (input !== undefined) return input
  return await run.requireInput(`What does "${title}" need?`, {
    schema: toSchema(inputSchema),
    jsonSchema: inputSchema,
  })
}

/** A text is the input of a skill that takes one, or nothing at all. */
function inputOfText({ properties, required }: Unread, text: string): Unread | undefined {
  const known = isRecord(properties) ? properties : {}
  const names = Object.keys(known)
  if (names.length === 0) return {}
  const needed: readonly unknown[] = Array.isArray(required) && required.length > 0 ? required : names
  const [only, ...others] = needed
  if (typeof only !== 'string' || others.length > 0 || text === '') return undefined
  const schema = Object.hasOwn(known, only) ? known[only] : undefined
  const isText = isRecord(schema) && schema['type'] === 'string' && violationOf(schema, text) === undefined
  return isText ? { [only]: text } : undefined
}

function objectIn(text: string): Unread | undefined {
  if (!text.trimStart().startsWith('{')) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** The client of one run. It is connected when it is needed first. */
class Connection {
  readonly #source: McpClientSource
  readonly #run: Run | undefined
  #own: Promise<McpClient> | undefined

  constructor(source: McpClientSource, run: Run | undefined) {
    if (typeof source !== 'function') requireClient(source)
    this.#source = source
    this.#run = run
  }

  readonly client = async (): Promise<McpClient> => {
    const source = this.#source
    if (typeof source !== 'function') return source
    const known = await this.#own
    if (known?.transport !== undefined) return known
    this.#own = observed(Promise.resolve(source(this.#run)))
    const client = await this.#own
    requireClient(client)
    return client
  }

  /** Closes a client of its own. What its transport reports then is ignored. */
  readonly close = (): void => {
    const own = this.#own
    this.#own = undefined
    void own?.then((client) => client.close()).catch(() => undefined)
  }
}
