/**
 * A client of A2A agents.
 *
 * @module
 */
import { A2AError, invalidParams } from '../core/errors.js'
import type { Message } from '../core/task.js'
import { AgentCard } from '../agent-card/agent-card.js'
import { parseAgentCard } from '../agent-card/parse.js'
import type { AgentInterface } from '../schemas/agent-card.js'
import type {
  ClientRequests,
  ClientResults,
  RemoteEvent,
  RemotePushConfig,
  RemoteTask,
  SendResult,
} from '../wire/client/dialect.js'
import type { Operation, PushConfig } from '../wire/dialect.js'
import { compact, Fields } from '../wire/client/fields.js'
import type { AgentCardCache } from './cards/card-cache.js'
import { loadCard } from './cards/cards.js'
import { Connection, pagesFrom } from './connection/connection.js'
import { DelegationManager, type ClientFactory } from './delegation/delegation.js'
import { withoutPlainHttp } from './connection/interfaces.js'
import { TaskReplicator } from './delegation/local-copy.js'
import {
  CALL_KEYS,
  QUERY_KEYS,
  requireFunctions,
  requireOptions,
  requirePositive,
  SEND_KEYS,
  toSettings,
  type ClientOptions,
  type Settings,
} from './options.js'
import { toMessage, type CallOptions, type MessageInput, type SendOptions } from './message.js'
import { Run, RUN_KEYS } from './run/run.js'
import type { RunHandle, RunOptions, RunResult, RunUpdate } from './run/run-types.js'
import type { StreamOptions } from './connection/transport.js'

export interface ConnectOptions extends ClientOptions {
  /** Keeps cards. Default is none: the card is fetched. */
  readonly cardCache?: AgentCardCache | undefined
  /** Ends the fetching of the card. */
  readonly signal?: AbortSignal | undefined
}

export interface A2AClientOptions extends ClientOptions {
  /** The agent's card, of any version. Without it the client is of no agent, and has `sendTask` only. */
  readonly card?: unknown
}

/** What {@link A2AClient.listTasks} is asked. */
export interface ListTasksQuery extends Omit<ClientRequests['ListTasks'], 'tenant'>, CallOptions {}

/** One page of an agent's tasks, latest change first. */
export type TaskPage = ClientResults['ListTasks']

/**
 * An agent, as a client uses it: every operation of A2A 1.0 and 0.3, over JSON-RPC or HTTP+JSON, as its card offers.
 *
 * Requests go to the card's first interface that is spoken, and to the next where that one fails. What is safe to
 * repeat is repeated. Every failure is an `A2AError`: the agent's own by their codes, with its answer as `cause`.
 *
 * @example
 * const agent = await A2AClient.connect('https://agent.example')
 * const result = await agent.run('Translate: Guten Tag')
 * if (result.ok) console.log(result.text)
 */
export class A2AClient {
  readonly #options: ClientOptions
  readonly #settings: Settings
  readonly #connection: Connection | undefined
  readonly #replicator: TaskReplicator | undefined
  #delegation: DelegationManager | undefined

  /** @throws {TypeError | RangeError | A2AError} naming the option that makes no sense, or the path in the card. */
  constructor({ card, ...options }: A2AClientOptions = {}) {
    if ('supportedInterfaces' in options) throw new TypeError('Pass a card as new A2AClient({ card })')
    if ('url' in options || '0' in options) throw new TypeError('Pass a URL to A2AClient.connect(url)')
    this.#options = options
    this.#settings = toSettings(options)
    if (card === undefined) return
    const parsed = parseAgentCard(card)
    this.#connection = new Connection(parsed, this.#settings)
    const { taskManager } = this.#settings
    this.#replicator = taskManager && new TaskReplicator(taskManager, parsed.name)
  }

  /**
   * Fetches the card at `url`, an agent's base URL or that of its card, and gives a client for the agent.
   *
   * @throws {A2AError} `EXTERNAL_SERVICE_ERROR` when there is none, `INVALID_PARAMS` with the path of what is wrong with
   *   it, `VERSION_NOT_SUPPORTED`; `URL_BLOCKED` when credentials would have to go by http to an agent found by https.
   */
  static async connect(at: string | URL, options: ConnectOptions = {}): Promise<A2AClient> {
    const { cardCache, signal, ...others } = options
    const url = requireId(at instanceof URL ? at.href : at, 'url')
    const card = await loadCard(toSettings(others), url, { cache: cardCache, signal })
    const isOpen = others.auth === undefined && others.headers === undefined
    return factory.of({ ...others, card: isOpen ? card : withoutPlainHttp(card, url) })
  }

  /** The agent's card as one of A2A 1.0, whatever version it is of. */
  get card(): AgentCard {
    return new AgentCard(this.#agent.card)
  }

  /** The interface in use. */
  get interface(): AgentInterface {
    return { ...this.#agent.current.selected.agentInterface }
  }

  /** Sends a message, and waits for the end of the task, or for the agent to wait for somebody. See {@link run}. */
  async send(message: MessageInput, options: SendOptions = {}): Promise<SendResult> {
    const { request, call, asked } = this.#toSend(message, options)
    const sent = await this.#agent.call('SendMessage', request, call)
    if (sent.type === 'task') this.#replicator?.startCall(asked, {}).applyTask(sent.task)
    return sent
  }

  /**
   * Sends a message, and gives what the agent tells as it comes. Leaving the loop ends the stream, not the task.
   *
   * @throws {A2AError} `UNSUPPORTED_OPERATION` when the card declares no streams.
   */
  async *stream(
    message: MessageInput,
    options: SendOptions & StreamOptions = {},
  ): AsyncGenerator<RemoteEvent, undefined> {
    const { idleTimeoutMs, ...others } = options
    if (idleTimeoutMs !== undefined) requirePositive('idleTimeoutMs', idleTimeoutMs)
    const { request, call, asked } = this.#toSend(message, others)
    const replica = this.#replicator?.startCall(asked, { isRun: false })
    this.#requireStreams('SendStreamingMessage')
    for await (const { event } of this.#agent.stream('SendStreamingMessage', request, {
      ...call,
      idleTimeoutMs,
    })) {
      replica?.applyEvent(event)
      yield event
    }
  }

  /** The task as it is now. @throws {A2AError} `TASK_NOT_FOUND`. */
  async getTask(id: string, options: CallOptions & { historyLength?: number } = {}): Promise<RemoteTask> {
    const { historyLength, ...call } = requireCall(options, ['historyLength'], 'getTask')
    const task = await this.#agent.call('GetTask', compact({ id: requireId(id), historyLength }), call)
    this.#replicator?.applyTask(task)
    return task
  }

  /**
   * The agent's tasks that we may see, a page of them; or all, page by page, where it is iterated. A2A 1.0, and
   * HTTP+JSON of 0.3.
   */
  listTasks(query: ListTasksQuery = {}): Promise<TaskPage> & AsyncIterable<TaskPage> {
    const { signal, timeoutMs, headers, ...request } = query
    const call = { signal, timeoutMs, headers }
    const load = async (page: object): Promise<TaskPage> => {
      requireOptions(query, QUERY_KEYS, 'listTasks')
      return await this.#agent.call('ListTasks', { ...request, ...page }, call)
    }
    const first = load({})
    first.catch(() => undefined)
    return Object.assign(first, {
      [Symbol.asyncIterator]: () => pagesFrom(first, (pageToken) => load({ pageToken })),
    })
  }

  /** @throws {A2AError} `TASK_NOT_CANCELABLE`, `TASK_NOT_FOUND`. */
  async cancelTask(id: string, options: CallOptions = {}): Promise<RemoteTask> {
    const call = requireCall(options, [], 'cancelTask')
    const task = await this.#agent.call('CancelTask', { id: requireId(id) }, call)
    this.#replicator?.applyTask(task)
    return task
  }

  /**
   * What the agent tells of a task from now on; the task as it is comes first. `lastEventId` resumes a stream where
   * the agent's streams have ids.
   *
   * @throws {A2AError} `UNSUPPORTED_OPERATION` when the task has ended, or the card declares no streams.
   */
  async *subscribe(id: string, options: StreamOptions = {}): AsyncGenerator<RemoteEvent, undefined> {
    const call = requireCall(options, ['idleTimeoutMs', 'lastEventId'], 'subscribe')
    this.#requireStreams('SubscribeToTask')
    for await (const { event } of this.#agent.stream('SubscribeToTask', { id: requireId(id) }, call)) {
      this.#replicator?.applyEvent(event)
      yield event
    }
  }

  /** Where the agent shall tell of the task's changes. A configuration with a known `id` takes the place of that one. */
  async createPushConfig(
    taskId: string,
    config: PushConfig,
    options: CallOptions = {},
  ): Promise<RemotePushConfig> {
    const call = this.#requirePush(options)
    return await this.#agent.call(
      'CreateTaskPushNotificationConfig',
      { taskId: requireId(taskId), config },
      call,
    )
  }

  async getPushConfig(taskId: string, id: string, options: CallOptions = {}): Promise<RemotePushConfig> {
    const call = this.#requirePush(options)
    const request = { taskId: requireId(taskId), id: requireId(id) }
    return await this.#agent.call('GetTaskPushNotificationConfig', request, call)
  }

  /** All of the task's, from all pages. */
  async listPushConfigs(taskId: string, options: CallOptions = {}): Promise<RemotePushConfig[]> {
    const call = this.#requirePush(options)
    const load = (page: object): Promise<ClientResults['ListTaskPushNotificationConfigs']> =>
      this.#agent.call('ListTaskPushNotificationConfigs', { taskId: requireId(taskId), ...page }, call)
    const all: RemotePushConfig[] = []
    for await (const { configs } of pagesFrom(load({}), (pageToken) => load({ pageToken })))
      all.push(...configs)
    return all
  }

  /** Succeeds as well where there is none of that id. */
  async deletePushConfig(taskId: string, id: string, options: CallOptions = {}): Promise<void> {
    const call = this.#requirePush(options)
    const request = { taskId: requireId(taskId), id: requireId(id) }
    await this.#agent.call('DeleteTaskPushNotificationConfig', request, call)
  }

  /**
   * The card that the agent shows to those whom it knows. From then on it is this client's {@link card} (§3.1.11).
   *
   * @throws {A2AError} `UNSUPPORTED_OPERATION` when the card declares none.
   */
  async getExtendedAgentCard(options: CallOptions = {}): Promise<AgentCard> {
    const agent = this.#agent
    if (agent.card.capabilities.extendedAgentCard !== true) {
      throw unsupported('GetExtendedAgentCard', `${agent.card.name} has no extended card`)
    }
    const call = requireCall(options, [], 'getExtendedAgentCard')
    agent.card = parseAgentCard(await agent.call('GetExtendedAgentCard', {}, call))
    return this.card
  }

  /**
   * Sends a message once and follows its task to the end, by stream, by a new stream, or by asking, whatever breaks. An
   * abort of `signal` cancels the task. What goes wrong is a result; rejects only with what a callback throws, and
   * with what is wrong with the arguments.
   */
  async run(message: MessageInput, options: RunOptions = {}): Promise<RunResult> {
    const { generateId } = this.#settings
    const given = toMessage(message, requireRun(options), generateId)
    const isNew = given.taskId === undefined && given.contextId === undefined
    // An id of our own making: it finds the task if the answer is lost.
    const asked =
      isNew && this.#agent.current.supports('ListTasks') ? { ...given, contextId: generateId() } : given
    const { messageId, taskId, contextId } = asked
    const handle = compact({ messageId, taskId, contextId })
    return await this.#run(asked, handle, options, asked !== given)
  }

  /** Takes up a run that another process began, or this one could not end. */
  async resume(handle: RunHandle, options: RunOptions = {}): Promise<RunResult> {
    const fields = new Fields(handle, 'handle')
    if (!fields.text('taskId') && !fields.text('contextId')) {
      throw invalidParams('handle', 'must have a taskId or a contextId')
    }
    return await this.#run(undefined, handle, requireRun(options), false)
  }

  /**
   * Has another agent do a task of the `taskManager`: sends its input, and keeps it what the agent says of its own.
   * Canceling the task cancels the agent's. Where the agent asks, the task is `input-required`: add the user's answer
   * to its messages, and send it again. `agent` is a name in `agents`, a URL, a card, or a client; of URLs and cards the
   * clients have neither the `auth` nor the `headers` of this one.
   *
   * @throws {A2AError} `TASK_NOT_FOUND`, `TASK_TERMINAL`; what `connect` throws, and then the task has failed.
   */
  async sendTask(
    agent: string | object,
    task: string | { readonly id: string },
    options: RunOptions = {},
  ): Promise<RunResult> {
    const { taskManager, agents } = this.#settings
    requireRun(options)
    if (taskManager === undefined)
      throw invalidParams('taskManager', 'is missing in the options of A2AClient')
    this.#delegation ??= new DelegationManager(taskManager, this.#clientFactory, agents)
    const named = typeof agent === 'string' && Object.hasOwn(agents, agent) ? agents[agent] : undefined
    const url = typeof named === 'string' ? named : undefined
    return await this.#delegation.send(agent, url, typeof task === 'string' ? task : task.id, options)
  }

  /** Their tasks are mirrored by whoever delegates them, and our credentials are for our agent. */
  get #clientFactory(): ClientFactory {
    const ours = { auth: undefined, headers: undefined, taskManager: undefined, agents: undefined }
    const options = { ...this.#options, ...ours }
    return {
      connect: (url) => factory.connect(url, options),
      of: (card) => factory.of({ ...options, card }),
    }
  }

  async #run(
    asked: Message | undefined,
    handle: RunHandle,
    options: RunOptions,
    isOurs: boolean,
  ): Promise<RunResult> {
    const replica = this.#replicator?.startCall(asked, {})
    if (replica === undefined) return await new Run(this.#agent, handle, options, isOurs).drive(asked)
    const onUpdate = (update: RunUpdate): void => {
      replica.applyEvent(update.event)
      return options.onUpdate?.(update)
    }
    try {
      const result = await new Run(this.#agent, handle, { ...options, onUpdate }, isOurs).drive(asked)
      replica.conclude(result)
      return result
    } catch (error) {
      replica.conclude()
      throw error
    }
  }

  get #agent(): Connection {
    if (this.#connection !== undefined) return this.#connection
    throw invalidParams('card', 'is missing: this client is of no agent. Use A2AClient.connect(url)')
  }

  #toSend(
    message: MessageInput,
    options: SendOptions,
  ): { request: ClientRequests['SendMessage']; call: CallOptions; asked: Message } {
    requireOptions(options, SEND_KEYS, 'send')
    const { signal, timeoutMs, headers, acceptedOutputModes = [], returnImmediately = false } = options
    const { historyLength, metadata, pushConfig } = options
    const asked = toMessage(message, options, this.#settings.generateId)
    const about = compact({ historyLength, metadata, pushConfig })
    const request = { message: asked, returnImmediately, acceptedOutputModes, ...about }
    return { request, call: { signal, timeoutMs, headers }, asked }
  }

  #requireStreams(operation: Operation): void {
    const { name, capabilities } = this.#agent.card
    if (capabilities.streaming !== true)
      throw unsupported(operation, `${name} has no streams, as its card says`)
  }

  #requirePush(options: CallOptions): CallOptions {
    this.#agent.requirePush()
    return requireCall(options, [], 'push configurations')
  }
}

// A class that names itself within is called otherwise by bundlers: in stacks, and where it is printed.
const factory = {
  connect: (url: string, options: ConnectOptions): Promise<A2AClient> => A2AClient.connect(url, options),
  of: (options: A2AClientOptions): A2AClient => new A2AClient(options),
}

function unsupported(operation: Operation, text: string): A2AError<'UNSUPPORTED_OPERATION'> {
  return new A2AError('UNSUPPORTED_OPERATION', text, { operation })
}

function requireCall<T extends CallOptions>(options: T, keys: readonly string[], where: string): T {
  return requireOptions(options, [...CALL_KEYS, ...keys], where)
}

function requireRun(options: RunOptions): RunOptions {
  requireOptions(options, RUN_KEYS, 'run')
  requireFunctions(options, ['onUpdate', 'onInputRequired', 'onAuthRequired'])
  return options
}

function requireId(id: string, name = 'id'): string {
  if (typeof id === 'string' && id !== '') return id
  throw invalidParams(name, 'must be a text that is not empty')
}
