/**
 * Tools whose calls are steps.
 *
 * @module
 */
import { firstChars } from '../runtime/cut.js'
import { isRecord, type Unread } from '../runtime/unread.js'
import type { ToolCall } from '../wire/tool-calls.js'
import { refuseRecording } from '../runtime/recording-tools.js'
import { requireAsked } from './approval.js'
import { failed, inputField, jsonOf, keepCall, outputField, showCall, textOfAny, type Turn } from './turn.js'

interface CallOptions {
  readonly toolCallId: string
  readonly abortSignal?: AbortSignal | undefined
  /** Of Mastra, which gives the id here. */
  readonly agent?: { readonly toolCallId: string } | undefined
}

type Work = (input: unknown, options: CallOptions) => unknown
type Outcome =
  | { readonly output: unknown }
  | { readonly interrupted: true }
  | { readonly error: { readonly name: string; readonly message: string } }

/** The most characters of the name of a step. */
const MAX_NAME = 200
const MAX_ERROR = 2_000

/**
 * Tools like `tools`, each of whose calls is a step of the run.
 *
 * @throws {TypeError} for a tool without a function that executes it.
 */
export function durableTools<T extends Record<string, object>>(turn: Turn, tools: T): T {
  const wrapped = Object.entries(tools).map(([name, tool]) => [name, durableTool(turn, name, tool)])
  // Of the same types: only what `execute` does is different.
  return Object.fromEntries(wrapped) as T
}

/** @throws {TypeError} for the tools of a framework that takes a list, as AI SDK has them. */
export function requireList(tools: unknown): void {
  if (!Array.isArray(tools)) throw new TypeError('The tools must be a list, such as ai.tools([weather])')
}

function durableTool(turn: Turn, name: string, tool: object): object {
  const { execute, type } = tool as Unread
  if (typeof execute !== 'function') {
    if (type === 'provider') return tool
    throw new TypeError(
      `The tool "${name}" has no function "execute": give it one, or leave it out of tools()`,
    )
  }
  refuseRecording(name, execute)
  requireWithoutPause(name, tool)
  // A function of the tool's own types, which the framework respects.
  const work = execute.bind(tool) as Work
  turn.toolNames.add(name)
  return {
    ...tool,
    async execute(input: unknown, options: CallOptions): Promise<unknown> {
      const id = options.agent?.toolCallId ?? options.toolCallId
      try {
        await requireAsked(turn, { id, name, tool, input })
      } catch (error) {
        throw failed(turn, error, id)
      }
      return await callTool(turn, { name, work, input }, withoutPause(name, { ...options, toolCallId: id }))
    },
  }
}

/** Tools of Mastra that stop its loop: their turn would end without their work. */
function requireWithoutPause(name: string, tool: object): void {
  const { requireApproval, suspendSchema }: Unread = { ...tool }
  if (requireApproval !== undefined && requireApproval !== false) throw pauses(name, 'has requireApproval')
  if (suspendSchema !== undefined) throw pauses(name, 'has a suspendSchema')
}

/** As {@link requireWithoutPause}, for a tool that does not say it. */
function withoutPause(name: string, { agent, ...options }: CallOptions): CallOptions {
  const suspend = (): never => {
    throw pauses(name, 'calls suspend()')
  }
  return agent === undefined ? options : { ...options, agent: { ...agent, ...{ suspend } } }
}

function pauses(name: string, what: string): TypeError {
  const text = `The tool "${name}" ${what}: ask by run.approve() or run.requireInput() in its "execute" instead, and leave the tool out of tools()`
  return Object.assign(new TypeError(text), { code: 'CALLED_IN_STEP' })
}

interface Callable {
  readonly name: string
  readonly work: Work
  readonly input: unknown
  /** Whether the tool has thrown this to ask a question: the framework calls it again with the answer. */
  readonly isInterrupt?: (error: unknown) => boolean
}

/** Makes one call of a tool as a step, or resolves to what it has returned before. */
export async function callTool(
  turn: Turn,
  { name, work, input, isInterrupt = () => false }: Callable,
  options: CallOptions,
): Promise<unknown> {
  const call = { id: options.toolCallId, name, ...inputField(input) }
  let outcome: Outcome
  let interrupt: { readonly error: unknown } | undefined
  try {
    // What the work of the step has returned, or a copy of it.
    outcome = (await turn.run.step(
      firstChars(`${name} ${call.id}`, MAX_NAME),
      async ({ signal }): Promise<unknown> => {
        const abortSignal = options.abortSignal ? AbortSignal.any([options.abortSignal, signal]) : signal
        try {
          const output = await lastOf(work(input, { ...options, abortSignal }), (preliminary) => {
            signal.throwIfAborted()
            showCall(turn, { ...call, state: 'progress', ...outputField(preliminary) })
          })
          requireKeys(output)
          showCall(turn, { ...call, state: 'done', ...outputField(output) })
          return { output }
        } catch (error) {
          // The call is made again when the turn continues.
          if (signal.aborted || isMisuse(error)) throw error
          if (isInterrupt(error)) {
            interrupt = { error }
            return { interrupted: true }
          }
          const told = toError(error)
          showCall(turn, { ...call, state: 'failed', error: told.message })
          return { error: told }
        }
      },
    )) as Outcome
  } catch (error) {
    throw failed(turn, error, call.id)
  }
  if ('interrupted' in outcome) {
    if (interrupt !== undefined) throw interrupt.error
    // Only the framework can make this error.
    return await work(input, options)
  }
  if ('error' in outcome) {
    keepCall(turn, { ...call, state: 'failed', error: outcome.error.message })
    throw Object.assign(new Error(outcome.error.message), { name: outcome.error.name })
  }
  keepCall(turn, { ...call, state: 'done', ...outputField(outcome.output) })
  return outcome.output
}

/** A tool that asks the user within its step: an error for those who write the agent, and not for the model. */
function isMisuse(error: unknown): boolean {
  return error instanceof TypeError && 'code' in error && error.code === 'CALLED_IN_STEP'
}

/** What a tool has returned. The values of a generator are preliminary, but for its last one. */
async function lastOf(returned: unknown, onPreliminary: (value: unknown) => void): Promise<unknown> {
  if (!isAsyncIterable(returned)) return await returned
  let last: unknown
  for await (const value of returned) {
    last = value
    onPreliminary(value)
  }
  return last
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

/** Names that no value of a task can have. Their data is that of services, and the call has been made: the model decides. */
function requireKeys(output: unknown): void {
  const values = new Set([output])
  for (const value of values) {
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) continue
    for (const [key, member] of Object.entries(value)) {
      if (key === '__proto__' || key === 'constructor')
        throw new Error(`The tool was called, and its output is lost: it has a field "${key}"`)
      if (typeof member === 'object') values.add(member)
    }
  }
}

/** What the model sees of an error. It is no failure of the step: the model decides what to do about it. */
function toError(error: unknown): { readonly name: string; readonly message: string } {
  const { name, message } = isRecord(error) || error instanceof Error ? (error as Unread) : {}
  return {
    name: typeof name === 'string' ? name.slice(0, 100) : 'Error',
    message: firstChars(typeof message === 'string' ? message : textOfAny(error), MAX_ERROR),
  }
}

/**
 * The calls that clients have seen begin, and whose results only the next prompt has: of tools that are no steps or do not exist,
 * and those with an invalid input.
 */
export function callsEndedIn({ calls }: Turn, prompt: unknown): ToolCall[] {
  const open = new Map(calls.flatMap((call) => (call.state === 'called' ? [[call.id, call] as const] : [])))
  if (open.size === 0) return []
  return resultsIn(prompt).flatMap(({ toolCallId, output }) => {
    const call = typeof toolCallId === 'string' ? open.get(toolCallId) : undefined
    return call === undefined || !isRecord(output) ? [] : [endedWith(call, output)]
  })
}

/** The id of a call that the run has made fail, and that the model would take for a tool that has failed. */
export function brokenIn({ broken }: Turn, prompt: unknown): unknown {
  return broken.size === 0
    ? undefined
    : resultsIn(prompt).find(({ toolCallId }) => broken.has(toolCallId))?.['toolCallId']
}

function resultsIn(prompt: unknown): Unread[] {
  const messages = Array.isArray(prompt) ? prompt.filter(isRecord) : []
  const contents = messages.filter(({ role }) => role === 'tool').map(({ content }) => content)
  return contents.flatMap((content) => (Array.isArray(content) ? content.filter(isRecord) : []))
}

function endedWith(call: ToolCall, { type, value }: Unread): ToolCall {
  if (type === 'execution-denied') return { ...call, state: 'rejected' }
  const isFailed = type === 'error-text' || type === 'error-json'
  if (!isFailed) return { ...call, state: 'done', ...outputField(value) }
  const error = typeof value === 'string' ? value : (jsonOf(value) ?? '')
  return { ...call, state: 'failed', error: firstChars(error, MAX_ERROR) }
}
