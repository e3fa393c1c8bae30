/**
 * Skills as tools: their names, their schemas, and the message that a call sends.
 *
 * @module
 */
import type { JsonObject } from '../core/json-types.js'
import type { Part } from '../core/task.js'
import { quote } from '../runtime/describe.js'
import { readOptions, requireBoolean, requireObject, requireText } from '../runtime/options.js'
import { isRecord, type Unread } from '../runtime/unread.js'
import { skillSchemasIn, type SkillSchemas } from '../agent-card/skill-schemas.js'
import { own } from '../agent-card/skills.js'
import type { AgentCard } from '../schemas/agent-card.js'
import { violationOf } from '../wire/question/violation.js'

/** What a tool has beside its skill. */
export interface McpTool {
  /** Default is the id of the skill, with `_` for what names of tools cannot have. */
  readonly name?: string | undefined
  /**
   * A JSON Schema of an object without the properties `taskId`, `contextId` and `message`. The agent gets the arguments as a data
   * part. Default is that of the card, by {@link skillSchemas}, and otherwise `{ message: string }`, which the agent gets as a text.
   */
  readonly inputSchema?: object | undefined
  /** A JSON Schema of the data part of the result. What does not fit is an error of the tool. Default is that of the card. */
  readonly outputSchema?: object | undefined
  /** Hints for clients, such as `{ readOnlyHint: true }`. Default is none. */
  readonly annotations?: object | undefined
  /**
   * Whether only clients that follow tasks may call the tool: those that declare the extension for tasks, and those of 2025-11-25
   * that make the call a task. Others are refused. Default is `false`.
   */
  readonly requiresTask?: boolean | undefined
}

const WHERE = 'createMcpHandler'
const TOOL_KEYS = ['name', 'inputSchema', 'outputSchema', 'annotations', 'requiresTask']

/** @throws {TypeError} naming what is wrong. */
export function toTool(id: string, given: McpTool): McpTool {
  const path = `tools.${id}`
  const tool = readOptions(given, TOOL_KEYS, WHERE, path)
  if (tool.name !== undefined) {
    requireText(`${path}.name`, tool.name)
    if (!/^[\w.-]{1,128}$/.test(tool.name))
      throw new TypeError(
        `"${path}.name" must have 1 to 128 letters, digits, "_", "-" and ".", got "${tool.name}"`,
      )
  }
  for (const name of ['inputSchema', 'outputSchema', 'annotations'] as const)
    if (tool[name] !== undefined) requireObject(`${path}.${name}`, tool[name], WHERE)
  if (tool.requiresTask !== undefined) requireBoolean(`${path}.requiresTask`, tool.requiresTask)
  if (tool.inputSchema !== undefined && !isOpenObject({ ...tool.inputSchema }))
    throw new TypeError(
      `"${path}.inputSchema" must be the JSON Schema of an object without the properties ${OWN.join(', ')}`,
    )
  return tool
}

/** The arguments that each tool has beside those of its schema. */
const OWN = ['message', 'taskId', 'contextId']

function isOpenObject({ type, properties = {} }: Unread): boolean {
  return type === 'object' && isRecord(properties) && !OWN.some((name) => name in properties)
}

/** A skill as a tool. */
export interface Tool {
  readonly name: string
  readonly skill: string
  readonly given: McpTool
  /** As `tools/list` has it. */
  readonly listed: JsonObject
}

type ToolsCard = Pick<AgentCard, 'name' | 'description' | 'skills' | 'capabilities'>

const MAX_NAME = 128
const TASK_ID = {
  type: 'string',
  description: 'To answer a question of an earlier call: the taskId that it has returned',
}
const CONTEXT_ID = {
  type: 'string',
  description: 'To continue a conversation: the contextId that an earlier call has returned',
}
const MESSAGE = { type: 'string', description: 'What to do, in words' }
const ANSWER = { type: 'string', description: 'The answer to a question of an earlier call, with its taskId' }

/**
 * A tool for each skill of the card, in its order, by name. A card without skills is a skill itself.
 *
 * @throws {TypeError} for an option for a skill that the card does not have.
 */
export function toolsOf(
  card: ToolsCard,
  options: Readonly<Record<string, McpTool>>,
): ReadonlyMap<string, Tool> {
  const { name, description } = card
  const skills = card.skills.length > 0 ? card.skills : [{ id: name, name, description }]
  const unknown = Object.keys(options).find((id) => skills.every((skill) => skill.id !== id))
  if (unknown !== undefined) {
    const known = skills.map(({ id }) => id).join(', ')
    throw new TypeError(`"tools" must be of skills of ${name}: ${known}, got ${quote(unknown)}`)
  }
  const schemas = skillSchemasIn(card)
  const tools = new Map<string, Tool>()
  const counts = new Map<string, number>()
  for (const skill of skills) {
    const given = { ...usable(schemas.get(skill.id)), ...own(options, skill.id) }
    const name = freeName(given.name ?? skill.id, tools, counts)
    tools.set(name, { name, skill: skill.id, given, listed: listed(name, skill, given) })
  }
  return tools
}

/** The schemas of the card that a tool can have. Any other input is a text. */
function usable({ inputSchema, outputSchema }: SkillSchemas = {}): McpTool {
  const { type }: Unread = { ...outputSchema }
  return {
    ...(inputSchema !== undefined && isOpenObject({ ...inputSchema }) && { inputSchema }),
    ...(type === 'object' && { outputSchema }),
  }
}

/** @param counts - The last number of each name that had to have one: a search from the first would be quadratic. */
function freeName(wished: string, taken: ReadonlyMap<string, Tool>, counts: Map<string, number>): string {
  const name = wished.replace(/[^\w.-]/g, '_').slice(0, MAX_NAME) || '_'
  if (!taken.has(name)) return name
  const base = name.slice(0, MAX_NAME - 10)
  for (let count = (counts.get(base) ?? 1) + 1; ; count += 1) {
    const next = `${base}_${count}`
    if (taken.has(next)) continue
    counts.set(base, count)
    return next
  }
}

function listed(
  name: string,
  skill: { readonly name: string; readonly description: string; readonly examples?: readonly string[] },
  { inputSchema, outputSchema, annotations }: McpTool,
): JsonObject {
  const examples = (skill.examples ?? []).map((example) => `\n- ${example}`).join('')
  const tool = {
    name,
    title: skill.name,
    description: examples === '' ? skill.description : `${skill.description}\n\nExamples:${examples}`,
    inputSchema: inputSchema === undefined ? PLAIN : withAnswer({ ...inputSchema }),
    ...(outputSchema !== undefined && { outputSchema }),
    ...(annotations !== undefined && { annotations }),
  }
  // Options are objects, whose types say nothing of their values: what is no JSON is left out, as it is in the response.
  return JSON.parse(JSON.stringify(tool)) as JsonObject
}

const PLAIN = {
  type: 'object',
  properties: { message: MESSAGE, taskId: TASK_ID, contextId: CONTEXT_ID },
  required: ['message'],
  additionalProperties: false,
}

/** The schema of the tool, with what an answer to a question has, and the conversation. */
function withAnswer({ properties = {}, ...others }: Unread): Unread {
  const own = { message: ANSWER, taskId: TASK_ID, contextId: CONTEXT_ID }
  return { ...others, properties: { ...(properties as object), ...own } }
}

/** What a call says: a message to a new task, or an answer to one. */
export interface Said {
  readonly parts: readonly Part[]
  readonly taskId?: string
  readonly contextId?: string
}

/** The message, or why the arguments are none. The agent checks data itself. */
export function saidBy({ given }: Tool, args: Unread): Said | { readonly problem: string } {
  const { taskId, contextId, ...data } = args
  const { message } = data
  // Models fill in what they do not need by empty texts.
  const ids = Object.fromEntries(
    Object.entries({ taskId, contextId }).filter(([, id]) => typeof id === 'string' && id !== ''),
  )
  if ('taskId' in ids || given.inputSchema === undefined) {
    if (typeof message !== 'string' || message === '') return { problem: '"message" must be a text' }
    return { ...ids, parts: [{ text: message }] }
  }
  const found = violationOf(given.inputSchema, data)
  if (found !== undefined)
    return { problem: `${found.path.replace(/^\./, '') || 'The input'} ${found.reason}` }
  // The body is JSON.
  return { ...ids, parts: [{ data: data as JsonObject }] }
}

/** What is wrong with the structured result; `undefined` if it fits. */
export function problemOfOutput({ given }: Tool, output: unknown): string | undefined {
  if (given.outputSchema === undefined) return undefined
  if (output === undefined) return 'The agent has returned no data'
  const found = violationOf(given.outputSchema, output)
  return (
    found && `The agent has returned data that does not fit: ${found.path.replace(/^\./, '')} ${found.reason}`
  )
}

/** The tool by which a task was begun, where its first message tells. */
export function toolOf(
  tools: ReadonlyMap<string, Tool>,
  { messages }: { readonly messages: readonly { readonly metadata?: object | undefined }[] },
): Tool | undefined {
  const { skill }: Unread = { ...messages[0]?.metadata }
  return isRecord(messages[0]?.metadata)
    ? [...tools.values()].find((each) => each.skill === skill)
    : undefined
}
