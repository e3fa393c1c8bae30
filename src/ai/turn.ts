/**
 * State that the parts of an agent with AI SDK share during one call of `execute`.
 *
 * @module
 */
import type { ReadonlyJson } from '../core/json-types.js'
import { readOptions } from '../runtime/options.js'
import type { Run } from '../server/run/run.js'
import { toolCallMetadata, toolCallParts, type ToolCall } from '../wire/tool-calls.js'
import type { ApprovalRule } from './types.js'

/** What is used of a run. */
export type AgentRun = Pick<
  Run,
  | 'step'
  | 'artifact'
  | 'update'
  | 'spend'
  | 'approve'
  | 'requireInput'
  | 'message'
  | 'messages'
  | 'conversation'
  | 'task'
  | 'signal'
>

/** The state of a turn. It is the same at the same place of each replay: only what is in the journal changes it. */
export interface Turn {
  readonly run: AgentRun
  /** The artifact that the models write their answers to. */
  readonly artifactId: string
  /** The artifacts that have text already. */
  readonly written: Set<string>
  /**
   * The calls of tools that are over, and those with the state `called`, which clients have seen begin and not end. They are in
   * the order in which the models have asked for them: calls at a time may end in any order.
   */
  readonly calls: ToolCall[]
  /** The characters of JSON of those that are over. */
  keptSize: number
  /** The sources that the models have named, oldest first. */
  readonly sources: object[]
  /** Whether there are calls that the metadata of the artifact lacks. */
  isBehind: boolean
  /** Whether clients see answers of a model. */
  isShown: boolean
  /** Whether status messages show calls of tools, and the reasoning of models. */
  readonly shows: { readonly tools: boolean; readonly reasoning: boolean }
  /** Whether a model of this turn was called. */
  hasModel: boolean
  /** The names of the tools whose calls are steps. */
  readonly toolNames: Set<string>
  /** The rules of approvals. */
  readonly rules: Readonly<Record<string, ApprovalRule>>[]
  /** The calls of tools that may be made, by their names and ids: the framework has asked. */
  readonly allowed: Set<string>
  /** The errors of the run that the framework takes for errors of tools, by the ids of the calls. */
  readonly broken: Map<unknown, unknown>
  /**
   * What the run or a model has thrown. The framework makes other errors of it, or hands it to the model. An answer of a model
   * removes that of an earlier model: the code has caught it.
   */
  failure?: { readonly error: unknown } | undefined
}

/** Options of a turn. */
export interface TurnOptions {
  /**
   * Whether clients see the calls of tools, with their inputs and outputs, as status messages that `toolCallsIn` reads. Default is
   * `true`.
   */
  readonly showTools?: boolean | undefined
  /** Whether clients see the reasoning of models, as status messages with `metadata.reasoning`. Default is `false`. */
  readonly showReasoning?: boolean | undefined
}

/** @throws {TypeError} naming the invalid option of the function `of`. */
export function newTurn(run: AgentRun, options: TurnOptions, of: string): Turn {
  const { showTools = true, showReasoning = false } = readOptions(options, ['showTools', 'showReasoning'], of)
  return {
    run,
    artifactId: answerIdOf(run.message.messageId),
    written: new Set(),
    ...{ calls: [], keptSize: 0 },
    sources: [],
    rules: [],
    ...{ toolNames: new Set<string>(), allowed: new Set<string>(), broken: new Map<unknown, unknown>() },
    ...{ hasModel: false, isBehind: false, isShown: false },
    shows: { tools: showTools, reasoning: showReasoning },
  }
}

/**
 * Waits for the framework's loop, and keeps what later turns read.
 *
 * @throws As a rejection, why the model, a tool's step or an approval has failed, in place of what the framework made of it.
 */
export async function endTurn(turn: Turn, loop: () => Promise<void>): Promise<void> {
  const { run, artifactId } = turn
  try {
    await loop()
  } catch (error) {
    run.signal.throwIfAborted()
    throw turn.failure === undefined ? error : turn.failure.error
  }
  if (turn.failure !== undefined) throw turn.failure.error
  run.signal.throwIfAborted()
  // Those after the last text: later turns read them.
  if (turn.isShown && turn.isBehind) {
    run.artifact({ artifactId, parts: [{ text: '' }], metadata: toolCallMetadata(endedCalls(turn)) })
  }
  turn.isBehind = false
}

/**
 * @param how - What the code has to pass to the framework.
 * @throws {TypeError} when no model of this turn was called: clients have not seen its answer, and no step has kept it.
 */
export function requireModel({ hasModel }: Turn, how: string): void {
  if (!hasModel) throw new TypeError(`No model of ai.model() was called: pass ${how}`)
}

/** The id of the artifact with the answers of a turn, which begins with this message. */
export function answerIdOf(messageId: string): string {
  return `answer-${messageId}`
}

/** The most characters of JSON of an input or an output that clients see. */
const MAX_SHOWN = 16_384
/** The most characters of JSON of all calls of a turn in the metadata of its artifact. */
const MAX_KEPT = 262_144

/** The most levels of an input or an output that clients see. */
const MAX_LEVELS = 50

/** Shows a call of a tool as the status message. If its values exceed a limit of the handler, they are left out. */
export function showCall({ run, shows }: Turn, call: ToolCall): void {
  if (!shows.tools) return
  try {
    run.update({ message: { parts: toolCallParts(call) } })
  } catch {
    const { id, name, state, error } = call
    run.update({
      message: { parts: toolCallParts({ id, name, state, ...(error !== undefined && { error }) }) },
    })
  }
}

/**
 * Keeps a call that is over for the metadata of the artifact, with the input with which it began. Forgets the oldest calls when
 * there is no more room.
 */
export function keepCall(turn: Turn, call: ToolCall): void {
  const { calls } = turn
  const at = calls.findLastIndex(({ id, state }) => id === call.id && state === 'called')
  const kept = { ...calls[at], ...call }
  if (at === -1) calls.push(kept)
  else calls[at] = kept
  turn.isBehind = true
  // Not the JSON of all calls, each time: its size is up to the limit for each of a thousand calls.
  turn.keptSize += sizeOf(kept)
  while (turn.keptSize > MAX_KEPT) {
    const oldest = calls.findIndex(({ state }) => state !== 'called')
    for (const dropped of calls.splice(oldest, 1)) turn.keptSize -= sizeOf(dropped)
  }
}

/** With the comma after it. */
function sizeOf(call: ToolCall): number {
  return JSON.stringify(call).length + 1
}

export function endedCalls({ calls }: Turn): readonly ToolCall[] {
  return calls.filter(({ state }) => state !== 'called')
}

/** The field of a call, for clients. It is left out where it is too large. */
export function inputField(value: unknown): Pick<ToolCall, 'input'> {
  const input = shown(value)
  return input === undefined ? {} : { input }
}

/** As {@link inputField}. */
export function outputField(value: unknown): Pick<ToolCall, 'output'> {
  const output = shown(value)
  return output === undefined ? {} : { output }
}

/** As JSON: what has no JSON becomes a text, and what is too large, or no task can have, `undefined`. */
function shown(value: unknown): ReadonlyJson | undefined {
  const json = jsonOf(value)
  if (json === undefined || json.length > MAX_SHOWN || json.includes('"__proto__"')) return undefined
  // It is JSON.
  const copy = JSON.parse(json) as ReadonlyJson
  return isWithin(copy, MAX_LEVELS) ? copy : undefined
}

function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.values(value).every((each) => isWithin(each, levels - 1))
}

/** `undefined` for `undefined` and functions. */
export function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    return JSON.stringify(textOfAny(value))
  }
}

/** The text of a value of code that is not ours, which may have none. */
export function textOfAny(value: unknown): string {
  try {
    return String(value)
  } catch {
    return 'a value without a text'
  }
}

/**
 * Remembers why the turn has failed, and makes the error with which the framework goes on: none that it tries again.
 *
 * @param callId - The call of a tool that has failed.
 */
export function failed(turn: Turn, error: unknown, callId?: string): Error {
  turn.failure ??= { error }
  if (callId !== undefined) turn.broken.set(callId, error)
  const message = error instanceof Error ? error.message : String(error)
  return new Error(message, { cause: error })
}
