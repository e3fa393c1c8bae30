/**
 * An agent with OpenAI Agents: its models, its tools and its approvals as parts of a durable function.
 *
 * @module
 */
import { observed } from '../runtime/abort.js'
import { readOptions } from '../runtime/options.js'
import { isRecord, type Unread } from '../runtime/unread.js'
import { refuseRecording } from '../runtime/recording-tools.js'
import { APPROVAL_OPTIONS, askForApproval, rejectCall, type ApprovalOptions } from './approval.js'
import { readMessages, type MessagesOptions } from './messages.js'
import { modelCalls, type ModelOptions } from './model.js'
import { fromOpenAi, toOpenAiItems, usageOf, toolResultsIn, type OpenAiItem } from './openai-items.js'
import { callTool, requireList } from './tools.js'
import { endTurn, newTurn, requireModel, type AgentRun, type Turn, type TurnOptions } from './turn.js'

/** A `Model` of OpenAI Agents. */
export interface OpenAiModelLike {
  getResponse(request: never): PromiseLike<object>
  getStreamedResponse(request: never): AsyncIterable<{ readonly type: string }>
}

/** What `run()` of OpenAI Agents resolves to, with or without `stream`. */
export interface OpenAiResultLike {
  readonly interruptions: readonly { readonly name?: string | undefined }[]
  /** Of a stream. */
  readonly completed?: PromiseLike<void>
  [Symbol.asyncIterator]?(): AsyncIterator<unknown>
}

/** What {@link openAiAgents} returns: the arguments of OpenAI Agents. The methods do not use `this`. */
export interface OpenAiAgents {
  /**
   * A model each of whose calls is a step with the name `model`. Within the step its text goes to one artifact of the turn, as it
   * comes, its images and audio become parts of it, and what it used goes into `run.spend`. The framework receives the answer as
   * soon as it is stored, so a replay takes the same way.
   *
   * A call fails when the model throws, or ends before its answer is complete. {@link finish} then rejects with the error, and the
   * task fails.
   *
   * @throws {TypeError} for a name instead of a model, and for an unknown option.
   */
  readonly model: <M extends OpenAiModelLike>(model: M, options?: ModelOptions) => M
  /**
   * Function tools each of whose calls is a step with the name of the tool and the id of the call. A call that has ended is never
   * made again; `details.toolCall.callId` is the same in each attempt: with the id of the task before it, it is an idempotency key
   * for services. Where a tool's `needsApproval` says so, the user is asked by `run.approve`; the model learns that a call was
   * rejected.
   *
   * The code of a tool must not call methods of the run that record something, such as `requireInput`, and no other agent whose
   * model is durable: leave such tools out. Tools that the provider executes stay as they are.
   *
   * @throws {TypeError} for what is no list, for another tool that this process executes, and for an unknown option.
   */
  readonly tools: <T extends object>(tools: readonly T[], options?: ApprovalOptions) => T[]
  /**
   * The conversation as input of `run()`: the messages of this task, with the answers and the calls of tools of its earlier turns,
   * and, if asked for, what came before the task.
   *
   * @throws {TypeError | RangeError} As a rejection, naming the invalid option.
   */
  readonly messages: (options?: MessagesOptions) => Promise<OpenAiItem[]>
  /**
   * Waits for the result of `run()` to end.
   *
   * @throws As a rejection, why the model, a tool's step or an approval has failed, what the framework has thrown, or the reason of
   *   the signal that aborted it. A `TypeError` when a tool waits for an approval that nobody asks for, and when no model of
   *   {@link model} was called. An error when the framework wants an approval for arguments that are no JSON object, as it does where
   *   a function decides about approvals.
   */
  readonly finish: (result: OpenAiResultLike | PromiseLike<OpenAiResultLike>) => Promise<void>
}

/**
 * Joins a run and OpenAI Agents: its `run()`, with models and tools from here, becomes a durable function. The framework keeps its
 * loop, its handoffs and its guardrails. Over a store, the agent continues after the last answer and the last call when its process
 * dies, and pays for no token twice.
 *
 * @param run - The run of `execute`. Call this function once for each call of `execute`.
 * @throws {TypeError} naming the invalid option.
 * @example
 * execute: async (task) => {
 *   const ai = openAiAgents(task)
 *   const agent = new Agent({ name: 'Travel', model: ai.model(model), tools: ai.tools([weather, book]) })
 *   await ai.finish(run(agent, await ai.messages(), { stream: true, signal: task.signal }))
 * }
 */
export function openAiAgents(run: AgentRun, options: TurnOptions = {}): OpenAiAgents {
  const turn = newTurn(run, options, 'openAiAgents()')
  const unreadable = new Set<unknown>()
  return {
    model: (model, options = {}) => {
      if (!isRecord(model)) {
        throw new TypeError(
          'The model must be one of a provider, such as await new OpenAIProvider().getModel("gpt-5")',
        )
      }
      return durableModel(turn, model, readOptions(options, ['show', 'retry'], 'model()'), unreadable)
    },
    tools: (tools, options = {}) => {
      requireList(tools)
      const approval = readOptions(options, APPROVAL_OPTIONS, 'tools()')
      return tools.map((tool) => durableTool(turn, tool, approval, unreadable))
    },
    messages: async (options = {}) =>
      toOpenAiItems(await readMessages(run, readOptions(options, ['earlier'], 'messages()'))),
    // Code may return without awaiting it.
    finish: (result) => observed(endTurn(turn, () => read(turn, result, unreadable))),
  }
}

interface Request {
  readonly signal?: AbortSignal | undefined
  readonly input?: unknown
}

/** What the framework gets of an answer, and the journal keeps. */
interface Response {
  readonly output: unknown
  readonly usage: unknown
  readonly responseId?: unknown
}

/** @param unreadable - Gets the names of the tools that an answer calls with what is no JSON object. */
function durableModel<M extends OpenAiModelLike>(
  turn: Turn,
  model: M,
  options: ModelOptions,
  unreadable: Set<unknown>,
): M {
  const { make, complete } = modelCalls(turn, options)

  const call = async (request: Request, isStreamed: boolean): Promise<Response> => {
    const response = await make<Response>(
      { signal: request.signal, prompt: toolResultsIn(request.input) },
      async (signal, writer) => {
        // The framework passes the options of its own type.
        const given = { ...request, signal } as never
        let hasText = false
        let response: Unread | undefined
        if (isStreamed) {
          for await (const event of model.getStreamedResponse(given)) {
            const { type, delta, response: done }: Unread = { ...event }
            if (type === 'output_text_delta') {
              writer.write({ type: 'text-delta', delta })
              hasText = true
            } else if (type === 'response_done' && isRecord(done)) response = done
          }
        } else response = { ...(await model.getResponse(given)) }
        if (response === undefined) throw new Error('The answer of the model ended before it was complete')
        for (const part of fromOpenAi(response['output'])) {
          if (!hasText || part['type'] !== 'text') writer.write(part)
        }
        const { output, usage, responseId, id = responseId, providerData } = response
        complete(
          { usage: usageOf(usage), finishReason: 'stop' },
          writer,
          isRecord(providerData) ? providerData['model'] : undefined,
        )
        return dataOf({ output, usage, responseId: id })
      },
      ({ output }) => fromOpenAi(output),
    )
    unreadable.clear()
    for (const { name, arguments: input } of callsIn(response)) {
      if (typeof input === 'string' && !isRecord(jsonIn(input))) unreadable.add(name)
    }
    return response
  }

  const wrapper = {
    getResponse: async (request: Request): Promise<Response> => await call(request, false),
    async *getStreamedResponse(request: Request): AsyncGenerator<object> {
      const { output, usage, responseId } = await call(request, true)
      yield { type: 'response_started' }
      for (const { type, text } of fromOpenAi(output)) {
        if (type === 'text') yield { type: 'output_text_delta', delta: text }
      }
      yield { type: 'response_done', response: { id: responseId ?? 'response', output, usage } }
    },
  }
  // It has all that the framework uses of a model.
  return wrapper as unknown as M
}

/** The framework's classes, as their data. */
function dataOf(response: Response): Response {
  // The answer of a model is JSON.
  return JSON.parse(JSON.stringify(response)) as Response
}

function callsIn({ output }: Response): Unread[] {
  return (Array.isArray(output) ? output.filter(isRecord) : []).filter(({ type }) => type === 'function_call')
}

interface Details {
  readonly toolCall?: { readonly callId: string } | undefined
  readonly signal?: AbortSignal | undefined
}

type Invoke = (context: unknown, input: string, details: object) => Promise<unknown>
type NeedsApproval = (context: unknown, input: unknown, id: string) => Promise<boolean>

function durableTool<T extends object>(
  turn: Turn,
  tool: T,
  approval: ApprovalOptions,
  unreadable: ReadonlySet<unknown>,
): T {
  const { type, name, invoke, needsApproval } = tool as Unread
  if (type === 'hosted_tool') return tool
  if (type !== 'function' || typeof name !== 'string' || typeof invoke !== 'function') {
    throw new TypeError(
      `The tool "${String(name)}" is no function and none of the provider: leave it out of tools()`,
    )
  }
  refuseRecording(name, invoke)
  // Functions of the tool's own types, which the framework respects.
  const needs = needsApproval as NeedsApproval
  const work = invoke.bind(tool) as Invoke
  /** Why calls were not approved, by their ids. */
  const rejected = new Map<string, string>()
  const ask: NeedsApproval = async (context, input, id) => {
    if (!(await needs(context, input, id))) return false
    const reason = await askForApproval(turn, { toolCallId: id, toolName: name, input }, approval)
    if (reason !== undefined) {
      rejectCall(turn, { id, name, input })
      rejected.set(id, reason)
    }
    // The framework would end its loop.
    return false
  }
  return {
    ...tool,
    // The tool measures its time itself, within the step: a replay has the same outcome.
    timeoutMs: undefined,
    // The framework knows its functions for tools with a fixed policy. With any other one, it ends its loop to have arguments
    // approved that are no JSON object. With its own, the model learns what is wrong with them.
    get needsApproval(): NeedsApproval {
      return unreadable.has(name) ? needs : ask
    },
    async invoke(context: unknown, input: string, details: Details = {}): Promise<unknown> {
      const id = details.toolCall?.callId ?? ''
      const reason = rejected.get(id)
      if (reason !== undefined) return `Tool execution was not approved. ${reason}.`
      // Without its symbols: one of them says that the framework measures the time.
      const own = Object.fromEntries(Object.entries(details))
      return await callTool(
        turn,
        {
          name,
          work: (_, { abortSignal }) => work(context, input, { ...own, signal: abortSignal }),
          input: jsonIn(input),
        },
        { toolCallId: id, abortSignal: details.signal },
      )
    },
  }
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

async function read(
  turn: Turn,
  result: OpenAiResultLike | PromiseLike<OpenAiResultLike>,
  unreadable: ReadonlySet<unknown>,
): Promise<void> {
  const ended = await result
  const iterate = ended[Symbol.asyncIterator]
  if (iterate !== undefined) {
    const events = iterate.call(ended)
    while ((await events.next()).done !== true);
    await ended.completed
  }
  for (const { name = 'a tool' } of ended.interruptions) {
    throw unreadable.has(name)
      ? new Error(
          `The model has called "${name}" with arguments that are no JSON object, which need an approval`,
        )
      : new TypeError(`"${name}" waits for an approval: pass its tool through ai.tools()`)
  }
  requireModel(turn, '"model: ai.model(…)" to new Agent()')
}
