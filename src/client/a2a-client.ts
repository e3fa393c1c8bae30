/**
 * The client of one A2A agent.
 *
 * @module
 */
import { requireMethods, requireObject, requirePositive } from '../runtime/options.js'
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
import { compact } from '../runtime/compact.js'
import { loadCard } from './cards/cards.js'
import { Connection, pagesFrom } from './connection/connection.js'
import { DelegationManager, type ClientFactory } from './delegation/delegation.js'
import { withoutPlainHttp } from './connection/interfaces.js'
import { replicateRun, TaskReplicator } from './delegation/local-copy.js'
import {
  QUERY_KEYS,
  requireCallOptions,
  requireClientOptions,
  requireHandle,
  requireId,
  requireOptions,
  requireRunOptions,
  SEND_KEYS,
  toSettings,
  type A2AClientOptions,
  type ClientOptions,
  type ConnectOptions,
  type Settings,
} from './options.js'
import {
  toMessage,
  type CallOptions,
  type ListTasksQuery,
  type MessageInput,
  type SendOptions,
  type TaskPage,
} from './message.js'
import { Run } from './run/run.js'
import type { RunHandle, RunOptions, RunResult } from './run/run-types.js'
import type { StreamOptions } from './connection/transport.js'

/**
 * A client for one agent: all operations of A2A 1.0 and 0.3, over JSON-RPC or HTTP+JSON, as the agent's card offers.
 *
 * Requests go to the first interface of the card that the client supports, and fail over to the next. Requests that are
 * safe to repeat are retried. Every failure is an `A2AError`; an error that the agent reports has its code, and the
 * agent's error object as `cause`. A client holds no connection and needs no closing.
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

  /**
   * Creates a client from a card at hand. Sends no request.
   *
   * @throws {TypeError | RangeError} for an invalid option, by its name.
   * @throws {A2AError} `INVALID_PARAMS` with the path of the invalid field of the card; `VERSION_NOT_SUPPORTED` if the
   *   client supports none of its interfaces.
   */
  constructor(options: A2AClientOptions = {}) {
    requireClientOptions(options)
    const { card, ...others } = options
    this.#options = others
    this.#settings = toSettings(others)
    if (card === undefined) return
    const parsed = parseAgentCard(card)
    this.#connection = new Connection(parsed, this.#settings)
    const { taskManager } = this.#settings
    this.#replicator = taskManager && new TaskReplicator(taskManager, parsed.name)
  }

  /**
   * Fetches an agent's card and creates a client for it. `at` is the agent's base URL, or the URL of a card (ending in
   * `.json`).
   *
   * With `auth` or `headers`, a card fetched by https is only used with its https interfaces.
   *
   * @throws {A2AError} `EXTERNAL_SERVICE_ERROR` if there is no card, `INVALID_PARAMS` with the path of its invalid field,
   *   `VERSION_NOT_SUPPORTED`, `REQUEST_TIMED_OUT`, `REQUEST_ABORTED`; `URL_BLOCKED` if credentials would have to be sent
   *   by http to an agent found by https.
   */
  static async connect(at: string | URL, options: ConnectOptions = {}): Promise<A2AClient> {
    requireObject(undefined, options, 'A2AClient.connect')
    const { cardCache, signal, ...others } = options
    if (cardCache !== undefined)
      requireMethods('cardCache', cardCache, ['get', 'clear'], 'be an AgentCardCache')
    const url = requireId(at instanceof URL ? at.href : at, 'url')
    const card = await loadCard(toSettings(others), url, { cache: cardCache, signal })
    const isOpen = others.auth === undefined && others.headers === undefined
    return factory.of({ ...others, card: isOpen ? card : withoutPlainHttp(card, url) })
  }

  /** A copy of the agent's card, in the form of A2A 1.0 whatever version it was written in. */
  get card(): AgentCard {
    return new AgentCard(this.#agent.card)
  }

  /** A copy of the interface of the card that is in use. It changes on failover. */
  get interface(): AgentInterface {
    return { ...this.#agent.current.selected.agentInterface }
  }

  /**
   * Sends a message once and waits until its task ends or waits for the user (A2A 1.0 §3.1.1). A lost connection loses
   * the answer; {@link run} recovers from that.
   */
  async send(message: MessageInput, options: SendOptions = {}): Promise<SendResult> {
    const { request, call } = this.#toSend(message, options)
    const result = await this.#agent.call('SendMessage', request, call)
    if (result.type === 'task') this.#replicator?.startCall(request.message, {}).applyTask(result.task)
    return result
  }

  /**
   * Sends a message once and yields the agent's events in order (A2A 1.0 §3.1.2). Leaving the loop closes the stream;
   * the task continues.
   *
   * @throws {A2AError} `UNSUPPORTED_OPERATION` if the card declares no streams.
   */
  async *stream(
    message: MessageInput,
    options: SendOptions & StreamOptions = {},
  ): AsyncGenerator<RemoteEvent, undefined> {
    const { idleTimeoutMs, ...others } = options
    if (idleTimeoutMs !== undefined) requirePositive('idleTimeoutMs', idleTimeoutMs)
    const { request, call } = this.#toSend(message, others)
    const replica = this.#replicator?.startCall(request.message, { isRun: false })
    this.#requireStreams('SendStreamingMessage')
    for await (const { event } of this.#agent.stream('SendStreamingMessage', request, {
      ...call,
      idleTimeoutMs,
    })) {
      replica?.applyEvent(event)
      yield event
    }
  }

  /**
   * Fetches the current state of a task. Retried.
   *
   * @throws {A2AError} `TASK_NOT_FOUND`.
   */
  async getTask(id: string, options: CallOptions & { historyLength?: number } = {}): Promise<RemoteTask> {
    const { historyLength, ...call } = requireCallOptions(options, ['historyLength'], 'getTask')
    const task = await this.#agent.call('GetTask', compact({ id: requireId(id), historyLength }), call)
    this.#replicator?.applyTask(task)
    return task
  }

  /**
   * Lists the agent's tasks that the caller may see. Await the result for one page, or iterate it for all pages. Retried.
   * Requires A2A 1.0, or 0.3 over HTTP+JSON.
   *
   * @throws {A2AError} `UNSUPPORTED_OPERATION` over other interfaces.
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

  /**
   * Cancels a task and returns it as it is then. Retried.
   *
   * @throws {A2AError} `TASK_NOT_CANCELABLE`, `TASK_NOT_FOUND`.
   */
  async cancelTask(id: string, options: CallOptions = {}): Promise<RemoteTask> {
    const call = requireCallOptions(options, [], 'cancelTask')
    const task = await this.#agent.call('CancelTask', { id: requireId(id) }, call)
    this.#replicator?.applyTask(task)
    return task
  }

  /**
   * Yields the current state of a task, then its events in order, until the stream ends. Leaving the loop closes the
   * stream. With `lastEventId`, agents whose events have ids continue after that event instead. Retried until the first
   * event.
   *
   * @throws {A2AError} `UNSUPPORTED_OPERATION` if the task has ended or the card declares no streams.
   */
  async *subscribe(id: string, options: StreamOptions = {}): AsyncGenerator<RemoteEvent, undefined> {
    const call = requireCallOptions(options, ['idleTimeoutMs', 'lastEventId'], 'subscribe')
    this.#requireStreams('SubscribeToTask')
    for await (const { event } of this.#agent.stream('SubscribeToTask', { id: requireId(id) }, call)) {
      this.#replicator?.applyEvent(event)
      yield event
    }
  }

  /**
   * Registers a webhook for the changes of a task. A configuration whose `id` exists is replaced.
   *
   * @throws {A2AError} `PUSH_NOTIFICATION_NOT_SUPPORTED` if the card declares none; likewise for the three methods below.
   */
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

  /** Fetches one webhook of a task. */
  async getPushConfig(taskId: string, id: string, options: CallOptions = {}): Promise<RemotePushConfig> {
    const call = this.#requirePush(options)
    const request = { taskId: requireId(taskId), id: requireId(id) }
    return await this.#agent.call('GetTaskPushNotificationConfig', request, call)
  }

  /** Lists all webhooks of a task, from all pages. */
  async listPushConfigs(taskId: string, options: CallOptions = {}): Promise<RemotePushConfig[]> {
    const call = this.#requirePush(options)
    const load = (page: object): Promise<ClientResults['ListTaskPushNotificationConfigs']> =>
      this.#agent.call('ListTaskPushNotificationConfigs', { taskId: requireId(taskId), ...page }, call)
    const all: RemotePushConfig[] = []
    for await (const { configs } of pagesFrom(load({}), (pageToken) => load({ pageToken })))
      all.push(...configs)
    return all
  }

  /** Removes a webhook. Idempotent: succeeds if none has that id. */
  async deletePushConfig(taskId: string, id: string, options: CallOptions = {}): Promise<void> {
    const call = this.#requirePush(options)
    const request = { taskId: requireId(taskId), id: requireId(id) }
    await this.#agent.call('DeleteTaskPushNotificationConfig', request, call)
  }

  /**
   * Fetches the card that the agent shows to authenticated clients. It replaces this client's {@link card}
   * (A2A 1.0 §3.1.11).
   *
   * @throws {A2AError} `UNSUPPORTED_OPERATION` if the card declares none.
   */
  async getExtendedAgentCard(options: CallOptions = {}): Promise<AgentCard> {
    const agent = this.#agent
    if (agent.card.capabilities.extendedAgentCard !== true) {
      throw unsupported('GetExtendedAgentCard', `${agent.card.name} has no extended card`)
    }
    const call = requireCallOptions(options, [], 'getExtendedAgentCard')
    agent.card = parseAgentCard(await agent.call('GetExtendedAgentCard', {}, call))
    return this.card
  }

  /**
   * Sends a message and follows its task until it ends or waits for the user: by stream, by new streams where one
   * breaks, and by polling. A message is sent again only if the agent has certainly not received it.
   *
   * Failures are results of type `error`, `timed-out` or `aborted`. Aborting `signal` cancels the task. The promise
   * rejects only for invalid arguments, and with what a callback throws.
   *
   * @example
   * const result = await agent.run('Book a table', { onInputRequired: (task) => askUser(task) })
   * if (!result.ok && result.type === 'error') await store(result.handle)
   */
  async run(message: MessageInput, options: RunOptions = {}): Promise<RunResult> {
    const { generateId } = this.#settings
    const given = toMessage(message, requireRunOptions(options), generateId)
    const isNew = given.taskId === undefined && given.contextId === undefined
    // A context id that no other client knows finds the task if the response is lost.
    const isOwnContext = isNew && this.#agent.current.supports('ListTasks')
    const sent = isOwnContext ? { ...given, contextId: generateId() } : given
    const { messageId, taskId, contextId } = sent
    const handle = compact({ messageId, taskId, contextId })
    return await this.#run(sent, handle, options, isOwnContext)
  }

  /**
   * Continues a run from its handle: one of another process, or one that ended with `error` or `timed-out`. Reports the
   * task as it is, then its events. The options of the original run are not part of the handle.
   *
   * @throws {A2AError} `INVALID_PARAMS` if the handle has neither a task nor a context. Otherwise as {@link run}.
   */
  async resume(handle: RunHandle, options: RunOptions = {}): Promise<RunResult> {
    requireHandle(handle)
    return await this.#run(undefined, handle, requireRunOptions(options), false)
  }

  /**
   * Delegates a task of `taskManager` to an agent: sends its input and copies the state, messages and artifacts of the
   * agent's task to it. Canceling the local task cancels the agent's.
   *
   * A question of the agent makes the local task `input-required`. Add the user's answer to its messages and call
   * `sendTask` again. `agent` is a name in the option `agents`, a URL, a card, or a client. Clients made for URLs and
   * cards have neither the `auth` nor the `headers` of this one.
   *
   * @throws {A2AError} `TASK_NOT_FOUND`; `TASK_TERMINAL`; `UNSUPPORTED_OPERATION` while an agent works on the task;
   *   `INVALID_PARAMS`; whatever {@link connect} throws, and then the local task has failed.
   */
  async sendTask(
    agent: string | object,
    task: string | { readonly id: string },
    options: RunOptions = {},
  ): Promise<RunResult> {
    const { taskManager, agents } = this.#settings
    requireRunOptions(options)
    if (taskManager === undefined)
      throw invalidParams('taskManager', 'is missing in the options of A2AClient')
    this.#delegation ??= new DelegationManager(taskManager, this.#clientFactory, agents)
    const named = typeof agent === 'string' && Object.hasOwn(agents, agent) ? agents[agent] : undefined
    const url = typeof named === 'string' ? named : undefined
    return await this.#delegation.send(agent, url, typeof task === 'string' ? task : task.id, options)
  }

  /** Makes clients without this one's credentials, which are for its own agent, and without a second local copy. */
  get #clientFactory(): ClientFactory {
    const ours = { auth: undefined, headers: undefined, taskManager: undefined, agents: undefined }
    const options = { ...this.#options, ...ours }
    return {
      connect: (url) => factory.connect(url, options),
      of: (card) => factory.of({ ...options, card }),
    }
  }

  async #run(
    message: Message | undefined,
    handle: RunHandle,
    options: RunOptions,
    isOwnContext: boolean,
  ): Promise<RunResult> {
    const start = (runOptions: RunOptions): Promise<RunResult> =>
      new Run(this.#agent, handle, runOptions, isOwnContext).drive(message)
    const replica = this.#replicator?.startCall(message, {})
    return await (replica === undefined ? start(options) : replicateRun(replica, options, start))
  }

  /** @throws {A2AError} `INVALID_PARAMS` for a client without a card. */
  get #agent(): Connection {
    if (this.#connection !== undefined) return this.#connection
    throw invalidParams('card', 'is missing: this client is of no agent. Use A2AClient.connect(url)')
  }

  #toSend(
    input: MessageInput,
    options: SendOptions,
  ): { request: ClientRequests['SendMessage']; call: CallOptions } {
    requireOptions(options, SEND_KEYS, 'send')
    const { signal, timeoutMs, headers, acceptedOutputModes = [], returnImmediately = false } = options
    const { historyLength, metadata, pushConfig } = options
    const message = toMessage(input, options, this.#settings.generateId)
    const optional = compact({ historyLength, metadata, pushConfig })
    const request = { message, returnImmediately, acceptedOutputModes, ...optional }
    return { request, call: { signal, timeoutMs, headers } }
  }

  #requireStreams(operation: Operation): void {
    const { name, capabilities } = this.#agent.card
    if (capabilities.streaming !== true)
      throw unsupported(operation, `${name} has no streams, as its card says`)
  }

  #requirePush(options: CallOptions): CallOptions {
    this.#agent.requirePush()
    return requireCallOptions(options, [], 'push configurations')
  }
}

// Outside the class: bundlers rename a class that refers to itself, also in stack traces.
const factory = {
  connect: (url: string, options: ConnectOptions): Promise<A2AClient> => A2AClient.connect(url, options),
  of: (options: A2AClientOptions): A2AClient => new A2AClient(options),
}

function unsupported(operation: Operation, text: string): A2AError<'UNSUPPORTED_OPERATION'> {
  return new A2AError('UNSUPPORTED_OPERATION', text, { operation })
}
