/**
 * A tool with which a model delegates work to another agent, as in KAOS.
 *
 * @module
 */
import { delegationName } from '../agent-card/skills.js'
import { A2AError } from '../core/errors.js'
import { asText, fieldsOf } from '../http/json.js'
import {
  readOptions,
  requireFunctions,
  requireKnown,
  requireMethods,
  requireWhole,
} from '../runtime/options.js'
import type { ChatMessage, RemoteAgent } from './remote-agent.js'

/** Options of {@link delegationTool}. */
export interface DelegationToolOptions {
  /** The agent's card, as `await agent.card()` returns it: its name and description are in the description of the tool. */
  readonly card?: object | undefined
  /** How many messages of the conversation go along with a task. Default is `6`. */
  readonly contextLimit?: number | undefined
  /** Receives the errors of failed delegations, of which the model reads the texts. */
  readonly onError?: ((error: unknown) => void) | undefined
}

/** A tool as MCP lists it, with the function that does its work. `toolsToSkills` takes it too. */
export interface DelegationTool {
  /** `delegate_to_` and the name of the agent. */
  readonly name: string
  readonly description: string
  /** A JSON Schema. */
  readonly inputSchema: {
    readonly type: 'object'
    readonly properties: { readonly task: { readonly type: 'string'; readonly description: string } }
    readonly required: readonly ['task']
  }
  /**
   * Sends the task, after the last messages of the user and the model in `messages`. Returns the answer of the agent as text, or
   * `[Delegation failed: …]` with the reason, which is for the model to read.
   *
   * @throws {A2AError} `REQUEST_ABORTED` when the signal aborts.
   */
  readonly execute: (
    input: { readonly task: string },
    options?: {
      readonly messages?: readonly ChatMessage[] | undefined
      readonly signal?: AbortSignal | undefined
    },
  ) => Promise<string>
  readonly [field: string]: unknown
}

const KEYS = ['card', 'contextLimit', 'onError']
/** What is sent before the task. Calls of tools and their results stay here. */
const CONTEXT_ROLES = ['user', 'assistant']

/**
 * Makes the tool `delegate_to_{name}` for an agent. Give it to your model, and show it in your card: `subAgentsToSkills`.
 *
 * @throws {TypeError | RangeError} naming the option that is wrong.
 * @example
 * const analyst = new RemoteAgent({ name: 'analyst', cardUrl: 'http://analyst:8000' })
 * const tool = delegationTool(analyst)
 * await tool.execute({ task: 'Analyze this data' })
 */
export function delegationTool(
  agent: Pick<RemoteAgent, 'name' | 'processMessage'>,
  options: DelegationToolOptions = {},
): DelegationTool {
  requireMethods('agent', agent, ['processMessage'], 'be a RemoteAgent')
  const { card, contextLimit = 6, onError } = readOptions(options, KEYS, 'delegationTool')
  requireWhole('contextLimit', contextLimit, 0)
  requireFunctions({ onError }, ['onError'])
  return {
    name: delegationName(agent.name),
    description: describeTool(agent.name, card),
    inputSchema: {
      type: 'object',
      properties: { task: { type: 'string', description: 'Task to delegate to the agent' } },
      required: ['task'],
    },
    async execute(input, given = {}) {
      requireKnown(given, ['messages', 'signal'], 'execute')
      const { messages = [], signal } = given
      const known = messages.filter(({ role }) => CONTEXT_ROLES.includes(role))
      const context = contextLimit === 0 ? [] : known.slice(-contextLimit)
      try {
        const content = taskOf(input)
        return await agent.processMessage([...context, { role: 'task-delegation', content }], { signal })
      } catch (error) {
        if (A2AError.is(error, 'REQUEST_ABORTED')) throw error
        onError?.(error)
        return `[Delegation failed: ${error instanceof Error ? error.message : String(error)}]`
      }
    },
  }
}

function describeTool(name: string, card: object | undefined): string {
  if (card === undefined) return `Delegate a task to the ${name} agent.`
  const { name: shown, description } = fieldsOf(card)
  return `Delegate a task to the ${asText(shown)} agent: ${asText(description)}`
}

/** A model may call the tool with anything. */
function taskOf(input: unknown): string {
  const { task } = fieldsOf(input)
  if (typeof task === 'string' && task !== '') return task
  throw new TypeError('"task" must be a text that is not empty')
}
