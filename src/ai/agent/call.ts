/**
 * A call of a remote agent as a tool, whichever framework makes it.
 *
 * @module
 */
import { skillSchemasIn } from '../../agent-card/skill-schemas.js'
import type { MessageContent } from '../../client/message.js'
import type { RunOptions, RunResult, RunUpdate } from '../../client/run/run-types.js'
import type { JsonObject } from '../../core/json-types.js'
import type { Part } from '../../core/task.js'
import { onAbort } from '../../runtime/abort.js'
import { firstChars, lastChars } from '../../runtime/cut.js'
import {
  readOptions,
  requireFunctions,
  requireMethods,
  requireText,
  requireWhole,
} from '../../runtime/options.js'
import { isRecord, type Unread } from '../../runtime/unread.js'
import type { AgentCard } from '../../schemas/agent-card.js'
import type { DelegatedMessage } from '../../server/journal/call-types.js'
import type { Run } from '../../server/run/run.js'
import { textOf } from '../../wire/text.js'
import { AgentFailure, outputOf, type AgentOutput, type AgentResult } from './output.js'

/** What is used of a client: an `A2AClient` is one. */
export interface RemoteAgentLike {
  readonly card: {
    readonly name: string
    readonly description?: string
    readonly skills?: readonly { readonly id: string; readonly name: string; readonly description: string }[]
    readonly capabilities?: AgentCard['capabilities']
  }
  readonly run: (message: MessageContent, options?: RunOptions) => Promise<RunResult>
}

/** Options of `agentTool`, `openAiAgentTool` and `langChainAgentTool`. */
export interface AgentToolOptions {
  /**
   * The id of the skill that the tool stands for: the tool has its description, and messages name it in `metadata.skill`.
   * Default is none: the tool stands for the agent, and its description names all skills.
   */
  readonly skill?: string | undefined
  /**
   * The name of the tool. Default is the id of `skill`, or the name of the agent, with `_` for what names cannot have: the agent
   * chooses it, so give one where it could be that of another tool. Needed where the default has no ASCII letter or digit.
   */
  readonly name?: string | undefined
  /**
   * A JSON Schema of an object, for agents that take data: the input is sent as a data part. Default is that of `skill`, where the
   * card has one by `skillSchemas`, and otherwise `{ message: string }`, which is sent as a text.
   */
  readonly inputSchema?: object | undefined
  /**
   * The run of a request handler, if the tool is used within one: the call goes by `run.delegate`, so it survives the death of
   * the process, and has budget, lineage and cancellation. Leave the tool out of `ai.tools`. Values of `toolCallId` must be the
   * same when the turn continues, as those of `ai.model` are. An abort by the framework cancels the agent's task, as without
   * `run`; while the user is asked, it takes effect with the answer.
   */
  readonly run?: Pick<Run, 'delegate' | 'requireInput' | 'signal'> | undefined
  /**
   * Answers a question of the agent. If it returns `undefined`, or without it, the question goes to the user of `run`; without
   * `run` it is the result of the tool, and the model answers by a second call with the `taskId`. A tool takes the ids of the last
   * 1,000 questions that it has returned, so keep it as long as the conversation.
   */
  readonly onQuestion?:
    | ((question: AgentOutput) => DelegatedMessage | undefined | Promise<DelegatedMessage | undefined>)
    | undefined
  /** The most bytes of JSON of a result: what exceeds it is cut or left out. Default is 262,144. */
  readonly maxBytes?: number | undefined
}

/** A tool for a remote agent, before it has the form of a framework. */
export interface AgentCall {
  readonly name: string
  readonly description: string
  readonly parameters: ParametersSchema
  /** What is wrong with an input. The agent checks data itself. */
  readonly problemOf: (input: unknown) => string | undefined
  /**
   * Yields what the agent says while it works, and its output last. Leaving the loop cancels the agent's task.
   *
   * @throws {AgentFailure} What the model may read. Other errors are those of the callbacks and of the run.
   */
  readonly call: (input: unknown, options: CallContext) => AsyncGenerator<AgentOutput, undefined>
}

/** A JSON Schema of an object. */
export interface ParametersSchema {
  type: 'object'
  properties: Record<string, object>
  required: string[]
  additionalProperties: false
}

interface CallContext {
  readonly toolCallId?: string | undefined
  readonly signal?: AbortSignal | undefined
}

type Content = { readonly parts: readonly Part[] }

const OPTIONS = ['skill', 'name', 'inputSchema', 'run', 'onQuestion', 'maxBytes']
const MAX_BYTES = 262_144
/** The most characters of a description: more is refused by some providers. */
const MAX_DESCRIPTION = 1_024
const MAX_TOOL_NAME = 64
const MAX_ENTRY_NAME = 200
/** The most questions that a tool knows. */
const MAX_ASKED = 1_000
/** The most characters of what an agent has said last. */
const MAX_PROGRESS = 2_000

/** @throws {TypeError | RangeError} naming what is wrong. */
export function toAgentCall(agent: RemoteAgentLike, given: AgentToolOptions, where: string): AgentCall {
  requireMethods('agent', agent, ['run'], 'be an A2AClient')
  const options = readOptions(given, OPTIONS, where)
  const { run, maxBytes = MAX_BYTES } = options
  requireFunctions(options, ['onQuestion'])
  requireWhole('maxBytes', maxBytes)
  if (run !== undefined) requireMethods('run', run, ['delegate', 'requireInput'])
  const { card } = agent
  const skill = skillOf(card, options.skill)
  const { inputSchema = skill && schemaOf(card, skill.id) } = options
  const name = options.name ?? toolNameOf(skill?.id ?? card.name)
  requireText('name', name)
  const parameters = parametersOf({ inputSchema, run })
  const asked = new Asked()
  const problemOf = (input: unknown): string | undefined => {
    if (!isRecord(input)) return 'The input must be an object'
    const isText = inputSchema === undefined || isAnswer(input)
    return isText && typeof input['message'] !== 'string' ? '"message" must be a text' : undefined
  }
  return {
    name,
    description: firstChars(skill?.description || describe(card), MAX_DESCRIPTION),
    parameters,
    problemOf,
    async *call(input, context) {
      const problem = problemOf(input)
      if (problem !== undefined || !isRecord(input)) throw new AgentFailure(problem)
      const isReply = run === undefined && isAnswer(input)
      if (isReply && !asked.has(input.taskId))
        throw new AgentFailure('"taskId" must be the one of a question that this tool has returned')
      context.signal?.throwIfAborted()
      const message = {
        ...(isReply ? toAnswer(input) : toRequest(input, inputSchema)),
        ...(skill !== undefined && { metadata: { skill: skill.id } }),
      }
      const label = firstChars(`${name} ${context.toolCallId ?? ''}`.trim(), MAX_ENTRY_NAME)
      if (run !== undefined) {
        yield await delegate(agent, message, { ...options, run, maxBytes }, label, context)
        return undefined
      }
      for await (const output of follow(agent, message, { ...options, maxBytes }, context)) {
        asked.add(output.taskId)
        yield output
      }
      return undefined
    },
  }
}

/** The tasks whose questions a tool has returned, the last ones only: a model could answer a task of another conversation. */
class Asked {
  readonly #ids = new Set<string>()

  has(taskId: string): boolean {
    return this.#ids.has(taskId)
  }

  add(taskId: string | undefined): void {
    if (taskId === undefined) return
    this.#ids.delete(taskId)
    this.#ids.add(taskId)
    if (this.#ids.size <= MAX_ASKED) return
    for (const oldest of this.#ids) {
      this.#ids.delete(oldest)
      break
    }
  }
}

type Limited = AgentToolOptions & { readonly maxBytes: number }

async function delegate(
  agent: RemoteAgentLike,
  message: Content,
  { run, onQuestion, maxBytes }: Limited & { readonly run: NonNullable<AgentToolOptions['run']> },
  label: string,
  { signal }: CallContext,
): Promise<AgentOutput> {
  const { card } = agent
  const { name } = card
  const left = new AbortController()
  const ignore = onAbort(signal, () => {
    // The agent goes on when this process only lets go of the task, with which the framework stops too.
    if (!run.signal.aborted) left.abort(signal?.reason)
  })
  const stoppable: RemoteAgentLike = {
    card,
    run: async (content, given) =>
      await agent.run(content, { ...given, signal: anyOf(given?.signal, left.signal) }),
  }
  const answered = onQuestion && {
    onInputRequired: async (question: AgentResult) => {
      const answer = await onQuestion(outputOf(name, question, maxBytes))
      if (answer !== undefined) return answer
      const { parts } = await run.requireInput(question.text)
      // Messages of the conversation are frozen.
      return { parts: structuredClone(parts) as Part[] }
    },
  }
  try {
    const result = await run.delegate(label, stoppable, message, answered)
    if (!result.ok && left.signal.aborted) signal?.throwIfAborted()
    return outputOf(name, result, maxBytes)
  } finally {
    ignore()
  }
}

function anyOf(given: AbortSignal | undefined, own: AbortSignal): AbortSignal {
  return given === undefined ? own : AbortSignal.any([given, own])
}

/** Follows the agent's task. Its updates are as many as the framework takes: what it did not take in time is passed over. */
async function* follow(
  agent: RemoteAgentLike,
  message: MessageContent,
  { onQuestion, maxBytes }: Limited,
  { signal }: CallContext,
): AsyncGenerator<AgentOutput> {
  const { name } = agent.card
  const left = new AbortController()
  const said = new Said()
  let wake = (): void => {}
  const running = agent.run(message, {
    signal: anyOf(signal, left.signal),
    onUpdate: (update) => {
      said.add(update)
      wake()
    },
    ...(onQuestion && {
      onInputRequired: async (task) => {
        const text = task.message === undefined ? '' : textOf(task.message)
        return await onQuestion(outputOf(name, { ok: false, type: 'input-required', text, task }, maxBytes))
      },
    }),
  })
  const end = (): void => {
    said.isOver = true
    wake()
  }
  running.then(end, end)
  try {
    for (let last = ''; !said.isOver;) {
      if (said.text === last) await new Promise<void>((resolve) => (wake = resolve))
      else yield { state: 'working', text: (last = said.text) }
    }
    const result = await running
    if (!result.ok) signal?.throwIfAborted()
    yield outputOf(name, result, maxBytes)
  } finally {
    left.abort()
  }
}

/** What an agent has said last: a status message, or the end of the text that it writes. */
class Said {
  text = ''
  isOver = false
  #written = ''

  add({ event }: RunUpdate): void {
    if (event.type === 'artifact') {
      const text = textOf(event.artifact)
      this.#written = lastChars(`${event.append ? this.#written : ''}${text}`, MAX_PROGRESS)
      if (text !== '') this.text = this.#written
      return
    }
    const message = event.type === 'task' ? event.task.message : event.message
    const text = message === undefined ? '' : textOf(message)
    if (text !== '') this.text = lastChars(text, MAX_PROGRESS)
  }
}

function isAnswer(input: Unread): input is Unread & { readonly taskId: string } {
  return typeof input['taskId'] === 'string'
}

/** With a `taskId`, `message` is the answer to the question of this task. */
function toAnswer({ taskId, message }: Unread & { readonly taskId: string }): Content & { taskId: string } {
  return { parts: [{ text: String(message) }], taskId }
}

function toRequest(input: Unread, inputSchema: object | undefined): Content {
  // The inputs of tools are JSON.
  return {
    parts: [inputSchema === undefined ? { text: String(input['message']) } : { data: input as JsonObject }],
  }
}

const MESSAGE = { type: 'string', description: 'What you say to the agent' }
const TASK_ID = {
  type: 'string',
  description:
    'Only to answer a question of the agent: the taskId of its result. The message is then the answer',
}

/** In a run the user answers questions. */
function parametersOf({ inputSchema, run }: Pick<AgentToolOptions, 'inputSchema' | 'run'>): ParametersSchema {
  const answers = run === undefined ? { taskId: TASK_ID } : {}
  if (inputSchema === undefined) {
    const properties = { message: MESSAGE, ...answers }
    return { type: 'object', properties, required: ['message'], additionalProperties: false }
  }
  const { properties = {}, required = [] }: Unread = { ...inputSchema }
  if (!isRecord(properties) || Object.hasOwn(properties, 'taskId')) {
    throw new TypeError('"inputSchema" must be the JSON Schema of an object without a property "taskId"')
  }
  return {
    ...inputSchema,
    type: 'object',
    // A copy: frameworks change schemas.
    properties: structuredClone({
      ...(run === undefined && { message: MESSAGE }),
      ...properties,
      ...answers,
    }),
    required: Array.isArray(required) ? required.map(String) : [],
    additionalProperties: false,
  }
}

/** The schema that the card has for a skill, where it can be that of a tool. */
function schemaOf(card: RemoteAgentLike['card'], skill: string): object | undefined {
  const { inputSchema } = skillSchemasIn(card).get(skill) ?? {}
  const { type, properties = {} }: Unread = { ...inputSchema }
  const isUsable = type === 'object' && isRecord(properties) && !Object.hasOwn(properties, 'taskId')
  return isUsable ? inputSchema : undefined
}

function skillOf(
  { name, skills = [] }: RemoteAgentLike['card'],
  id: string | undefined,
): { readonly id: string; readonly description: string } | undefined {
  if (id === undefined) return undefined
  const found = skills.find((each) => each.id === id)
  if (found !== undefined) return found
  const known = skills.map((each) => each.id).join(', ')
  throw new TypeError(`"skill" must be one of ${name}: ${known || 'it has none'}, got "${id}"`)
}

function describe({ name, description, skills = [] }: RemoteAgentLike['card']): string {
  const own = skills.filter((skill) => skill.description !== '' && skill.description !== description)
  return [description || name, ...own.map((skill) => `- ${skill.name}: ${skill.description}`)].join('\n')
}

/** @throws {TypeError} for a text of which a name of a tool can have nothing. */
function toolNameOf(text: string): string {
  const name = text.replace(/[^\w-]+/g, '_').replace(/^_+|_+$/g, '')
  if (/[a-z\d]/i.test(name)) return name.slice(0, MAX_TOOL_NAME)
  throw new TypeError(`"name" is needed: "${text}" has no letters or digits that a name of a tool can have`)
}
