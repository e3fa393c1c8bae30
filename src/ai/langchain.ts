/**
 * An agent with LangGraph: the models and tools of LangChain, and the interrupts of a graph, as parts of a durable function.
 *
 * @module
 */
import { observed } from '../runtime/abort.js'
import { randomId } from '../runtime/ids.js'
import { readOptions } from '../runtime/options.js'
import { isRecord, type Unread } from '../runtime/unread.js'
import { refuseRecording } from '../runtime/recording-tools.js'
import {
  callsOf,
  contentOf,
  endOf,
  toLangChainMessages,
  toolResultsIn,
  type LangChainMessage,
} from './langchain-messages.js'
import { readMessages, type MessagesOptions } from './messages.js'
import { modelCalls, type ModelCalls, type ModelOptions } from './model.js'
import { callTool, requireList } from './tools.js'
import { endTurn, jsonOf, newTurn, requireModel, type AgentRun, type Turn, type TurnOptions } from './turn.js'

/** Options of `finish`. */
export interface GraphOptions {
  /** The configuration of the graph's `invoke`. Its thread and its signal are set. */
  readonly config?: object | undefined
  /**
   * Asks the user what an interrupt wants to know, and resolves to the value with which the graph continues. Default is
   * `run.requireInput` with the value of the interrupt, as a text or as JSON; the answer is the text of the user, or their data.
   */
  readonly ask?: ((value: unknown) => PromiseLike<unknown>) | undefined
}

interface GraphLike<S> {
  readonly checkpointer?: unknown
  /** The graph of an agent of the package `langchain`. */
  readonly graph?: unknown
  invoke(input: never, config: never): PromiseLike<S>
}

/** What {@link langChain} returns: the arguments of LangGraph's functions. The methods do not use `this`. */
export interface LangChain {
  /**
   * A chat model each of whose calls is a step with the name `model`. Within the step its text goes to one artifact of the turn, as
   * it comes, its files become parts of it, and what it used goes into `run.spend`. The graph receives the answer as soon as it is
   * stored, so a replay takes the same way.
   *
   * When a call fails, {@link finish} rejects with the error, and the task fails.
   *
   * @throws {TypeError} for what is no chat model, and for an unknown option.
   */
  readonly model: <M extends object>(model: M, options?: ModelOptions) => M
  /**
   * Tools each of whose calls is a step with the name of the tool and the id of the call. A call that has ended is never made
   * again; `config.toolCall.id` is the same in each attempt: with the id of the task before it, it is an idempotency key for
   * services. A tool may call `interrupt()`: it begins again with the answer, as in LangGraph. Other calls of its node keep their
   * results. A node that its `retryPolicy` executes again makes its calls again.
   *
   * The code of a tool must return data, and not call methods of the run that record something, such as `requireInput`: leave
   * others out. Tools that the provider executes stay as they are.
   *
   * @throws {TypeError} for what is no list, and for a tool of another framework.
   */
  readonly tools: <T extends object>(tools: readonly T[]) => T[]
  /**
   * The conversation as messages for the graph: those of this task, with the answers and the calls of tools of its earlier turns,
   * and, if asked for, what came before the task.
   *
   * @throws {TypeError | RangeError} As a rejection, naming the invalid option.
   */
  readonly messages: (options?: MessagesOptions) => Promise<LangChainMessage[]>
  /**
   * Runs a compiled graph, asks the user where it is interrupted, and resolves to its last state. The graph needs a checkpointer for
   * interrupts; `new MemorySaver()` will do, as the journal of the task is what lasts.
   *
   * @throws As a rejection, why the model, a tool's step or a question has failed, what the graph has thrown, or the reason of the
   *   signal that aborted it. A `TypeError` for what is no graph, for an unknown option, and when the last message of the state is
   *   the answer of a model and no model of {@link model} was called.
   */
  readonly finish: <S>(graph: GraphLike<S>, input: object, options?: GraphOptions) => Promise<S>
}

/**
 * Joins a run and LangGraph: a graph with models and tools from here becomes a durable function. LangGraph keeps its loop. Over a
 * store, the agent continues after the last answer and the last call when its process dies, and pays for no token twice.
 *
 * @param run - The run of `execute`. Call this function once for each call of `execute`.
 * @throws {TypeError} naming the invalid option.
 * @example
 * execute: async (run) => {
 *   const ai = langChain(run)
 *   const agent = createReactAgent({
 *     llm: ai.model(model),
 *     tools: ai.tools([weather, book]),
 *     checkpointer: new MemorySaver(),
 *   })
 *   await ai.finish(agent, { messages: await ai.messages() })
 * }
 */
export function langChain(run: AgentRun, options: TurnOptions = {}): LangChain {
  const turn = newTurn(run, options, 'langChain()')
  return {
    model: (model, options = {}) =>
      durableModel(modelCalls(turn, readOptions(options, ['show', 'retry'], 'model()')), model),
    tools: (tools) => {
      requireList(tools)
      return tools.map((tool) => durableTool(turn, tool))
    },
    messages: async (options = {}) =>
      toLangChainMessages(await readMessages(run, readOptions(options, ['earlier'], 'messages()'))),
    // Code may return without awaiting it.
    finish: (graph, input, options = {}) => observed(finish(turn, graph, input, options)),
  }
}

type CallOptions = { readonly signal?: AbortSignal | undefined }

/** What is used of a chat model. */
interface ChatModel {
  readonly constructor: {
    _convertInputToPromptValue(input: readonly unknown[]): { toChatMessages(): readonly object[] }
  }
  stream(messages: readonly object[], options: CallOptions): Promise<AsyncIterable<Chunk>>
  bindTools?(...args: readonly unknown[]): object
}

interface Chunk {
  readonly content: unknown
  concat?(chunk: Chunk): Chunk
}

/** A message as data, which LangChain can read: the kind of message that it makes of itself. */
interface Stored {
  readonly kwargs: Unread
}

/** A model, or a model with bound arguments, that makes its calls by `calls`. */
function durableModel<M extends object>(calls: ModelCalls, given: M): M {
  if (!isObject(given)) throw noModel()
  const { bound, stream } = given as Unread
  // `Object.create` keeps its class, which LangChain asks for.
  if (isObject(bound)) return Object.create(given, { bound: { value: durableModel(calls, bound) } }) as M
  if (!('_generate' in given) || typeof stream !== 'function') throw noModel()
  // It has what each chat model has.
  const model = given as unknown as ChatModel
  const generate = async (messages: readonly object[], options: CallOptions): Promise<object> => {
    const { kwargs, ...message } = await calls.make<Stored>(
      { signal: options.signal, prompt: toolResultsIn(messages) },
      async (signal, writer) => {
        let whole: Chunk | undefined
        for await (const chunk of await model.stream(messages, { ...options, signal })) {
          for (const part of contentOf({ content: chunk.content })) writer.write(part)
          whole = whole?.concat?.(chunk) ?? chunk
        }
        // A message is JSON: its class says how.
        const stored = JSON.parse(JSON.stringify(whole ?? {})) as Partial<Stored>
        if (stored.kwargs === undefined) throw new Error('The model has not answered')
        for (const part of callsOf(stored.kwargs)) writer.write(part)
        calls.complete(endOf(stored.kwargs), writer, nameOf(stored.kwargs, given))
        return { ...stored, kwargs: stored.kwargs }
      },
      ({ kwargs }) => [...contentOf(kwargs), ...callsOf(kwargs)],
    )
    const [revived] = model.constructor._convertInputToPromptValue([{ ...message, kwargs }]).toChatMessages()
    return { generations: [{ text: '', message: revived }] }
  }
  const bindTools = (...args: readonly unknown[]): unknown => {
    const withTools = model.bindTools?.(...args)
    return withTools === undefined ? undefined : durableModel(calls, withTools)
  }
  return Object.create(given, {
    _generate: { value: generate },
    ...(model.bindTools !== undefined && { bindTools: { value: bindTools } }),
    // It would go around `_generate`. The text has gone to the client.
    disableStreaming: { value: true },
  }) as M
}

function noModel(): TypeError {
  return new TypeError('The model must be a chat model, such as new ChatOpenAI({ model: "gpt-5" })')
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** What the provider calls the model, or how the model calls itself. */
function nameOf({ response_metadata: response }: Unread, model: object): unknown {
  const { model_name, model: named = model_name }: Unread = isRecord(response) ? response : {}
  return named ?? ('model' in model ? model.model : undefined)
}

type Call = (
  input: unknown,
  manager: unknown,
  config: CallOptions & { readonly toolCall?: { readonly id?: string }; readonly configurable?: Unread },
) => unknown

/** The key of the results in the configuration of a graph, which its nodes and their tools get. */
const RESULTS = 'a2a-tasks/results'

/**
 * The results of tools while a graph runs. After an interrupt, a node is executed again and makes its calls again: it gets the
 * results that it had, one for each call, so that calls that are alike stay as many as they are.
 */
class Results {
  /** Of the execution before the interrupt. */
  #before = new Map<string, Promise<unknown>[]>()
  #now = new Map<string, Promise<unknown>[]>()

  /** The graph continues after an interrupt. Nodes that are not executed again then lose their results. */
  resume(): void {
    this.#before = this.#now
    this.#now = new Map()
  }

  /** @param key - The execution of a node, which is the same after an interrupt, and the call. */
  async of(key: string, call: () => Promise<unknown>): Promise<unknown> {
    const made = this.#before.get(key)?.shift() ?? call()
    const all = this.#now.get(key) ?? []
    this.#now.set(key, [...all, made])
    try {
      return await made
    } catch (error) {
      // It is made again, with the answer.
      if (isInterrupt(error))
        this.#now.set(
          key,
          (this.#now.get(key) ?? []).filter((each) => each !== made),
        )
      throw error
    }
  }
}

function durableTool<T extends object>(turn: Turn, tool: T): T {
  const { name, _call, execute } = tool as Unread
  // A tool that the provider executes is data.
  if (!('invoke' in tool) && typeof execute !== 'function') return tool
  if (typeof _call !== 'function' || typeof name !== 'string') {
    const named = typeof name === 'string' ? `"${name}"` : 'A tool'
    throw new TypeError(`${named} is no tool of LangChain: leave it out of tools()`)
  }
  refuseRecording(name, (tool as Unread)['schema'])
  // A method of the tool's own types, which LangChain respects.
  const work = _call.bind(tool) as Call
  const call = async (...[input, manager, config]: Parameters<Call>): Promise<unknown> =>
    await callTool(
      turn,
      {
        ...{ name, input, isInterrupt },
        work: (_, { abortSignal }) => work(input, manager, { ...config, signal: abortSignal }),
      },
      { toolCallId: config.toolCall?.id ?? '', abortSignal: config.signal },
    )
  const callOnce: Call = async (input, manager, config) => {
    const { checkpoint_ns: node, [RESULTS]: results } = config.configurable ?? {}
    // Only a graph executes a node again.
    if (!(results instanceof Results) || node === undefined) return await call(input, manager, config)
    const key = jsonOf([node, name, config.toolCall?.id, input]) ?? ''
    return await results.of(key, () => call(input, manager, config))
  }
  return Object.create(tool, { _call: { value: callOnce } }) as T
}

/** `interrupt()` throws it. */
function isInterrupt(error: unknown): boolean {
  return error instanceof Error && (error.name === 'GraphInterrupt' || error.name === 'NodeInterrupt')
}

/** LangGraph's `Command`, as it recognizes it. */
class Resume {
  readonly lg_name = 'Command'

  readonly resume: object

  /** @param resume - The answers, by the ids of the interrupts. */
  constructor(resume: object) {
    this.resume = resume
  }
}

async function finish<S>(turn: Turn, graph: GraphLike<S>, input: object, options: GraphOptions): Promise<S> {
  const { run } = turn
  if (!isRunnable(graph)) {
    // Nothing else waits for what `invoke` has returned: its failure would end the process.
    await Promise.resolve(graph)
    throw new TypeError('finish() takes a compiled graph, and not its result: ai.finish(graph, input)')
  }
  const { config = {}, ask = (value: unknown) => askUser(run, value) } = readOptions(
    options,
    ['config', 'ask'],
    'finish()',
  )
  // A replay begins the graph again: another thread than that of an attempt before, in the memory of this process.
  const thread = randomId()
  const results = new Results()
  const { configurable, callbacks = [] }: Unread = { ...config }
  let callsModels = false
  const watch = { awaitHandlers: true, handleChatModelStart: (): void => void (callsModels = true) }
  const settings = {
    ...config,
    // What is no list is LangChain's own manager of them.
    callbacks: Array.isArray(callbacks) ? [...(callbacks as unknown[]), watch] : callbacks,
    signal: run.signal,
    configurable: { ...(isRecord(configurable) && configurable), thread_id: thread, [RESULTS]: results },
  }
  // The graph respects its types.
  const invoke = async (on: GraphLike<S>, given: object): Promise<S> =>
    await on.invoke(given as never, settings as never)
  let state: S | undefined
  try {
    await endTurn(turn, async () => {
      state = await invoke(graph, input)
      for (;;) {
        const interrupts = interruptsIn(state)
        if (interrupts.length === 0) {
          if (callsModels && endsWithAnswer(state)) requireModel(turn, 'ai.model(…) to the graph')
          return
        }
        const answers: Record<string, unknown> = {}
        for (const { id, value } of interrupts) answers[String(id)] = await ask(value)
        results.resume()
        state = await invoke(resumableOf(graph), new Resume(answers))
      }
    })
  } finally {
    await forget(graph.checkpointer, thread)
  }
  // The turn has ended without an error.
  return state as S
}

/**
 * What takes a {@link Resume}. An agent of `langchain` with middleware takes only LangGraph's own class for a command, and anything
 * else for a new state. Its graph has the configuration of the agent.
 */
function resumableOf<S>(agent: GraphLike<S>): GraphLike<S> {
  const { graph } = agent
  // Its states are those of the agent.
  return isRunnable(graph) ? (graph as GraphLike<S>) : agent
}

function isRunnable(value: unknown): value is GraphLike<unknown> {
  return isObject(value) && 'invoke' in value && typeof value.invoke === 'function'
}

/** Whether the state ends with an answer. */
function endsWithAnswer(state: unknown): boolean {
  const messages = isRecord(state) ? state['messages'] : undefined
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined
  return isObject(last) && 'type' in last && last.type === 'ai'
}

/** Parallel nodes interrupt in any order, and in the next attempt in another one: what they ask decides who comes first. */
function interruptsIn(state: unknown): Unread[] {
  const interrupts = isRecord(state) ? state['__interrupt__'] : undefined
  const all = Array.isArray(interrupts) ? interrupts.filter(isRecord) : []
  const keyed = all.map((interrupt) => ({ interrupt, key: jsonOf(interrupt['value']) ?? '' }))
  return keyed.sort((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key))).map(({ interrupt }) => interrupt)
}

async function askUser(run: AgentRun, value: unknown): Promise<unknown> {
  const { parts } = await run.requireInput(typeof value === 'string' ? value : (jsonOf(value) ?? ''))
  const data = parts.find((part) => part.data !== undefined)
  return data === undefined ? parts.map(({ text = '' }) => text).join('') : data.data
}

/** Deletes the thread: no attempt continues it. */
async function forget(checkpointer: unknown, thread: string): Promise<void> {
  const remove =
    isObject(checkpointer) && 'deleteThread' in checkpointer ? checkpointer.deleteThread : undefined
  if (typeof remove === 'function') await (remove.call(checkpointer, thread) as Promise<void>)
}
