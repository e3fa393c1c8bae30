/**
 * The client of one A2A agent.
 *
 * @module
 */
import { requireBoolean, requireObject } from '../runtime/options.js'
import { A2AError, invalidParams } from '../core/errors.js'
import type { Message } from '../core/task.js'
import { AgentCard } from '../agent-card/agent-card.js'
import { parseAgentCard } from '../agent-card/parse.js'
import type { AgentCard as Card, AgentInterface } from '../schemas/agent-card.js'
import type {
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
import type { ClientFactory } from './delegation/delegation.js'
import { atOriginOf, withoutPlainHttp } from './connection/interfaces.js'
import type { KeptTasks } from './delegation/kept-tasks.js'
import type { ClientTasks } from './delegation/positions.js'
import {
  QUERY_KEYS,
  requireCallOptions,
  requireClientOptions,
  requireDelegationOptions,
  requireHandle,
  requireId,
  requireOptions,
  requirePushConfig,
  requireRunOptions,
  toSettings,
  type A2AClientOptions,
  type ClientOptions,
  type ConnectOptions,
  type Settings,
} from './options.js'
import {
  contextOf,
  toMessage,
  type CallOptions,
  type ListTasksQuery,
  type MessageInput,
  type SendOptions,
  type TaskPage,
} from './message.js'
import { Run } from './run/run.js'
import { toSend } from './send-request.js'
import type { DelegationOptions, RunOptions, RunResult } from './run/run-types.js'
import type { RunHandle } from '../remote/runner.js'
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
 * if (!result.ok) throw new Error(result.text)
 * const translation = result.text
 */
export class A2AClient {
  readonly #options: ClientOptions
  readonly #settings: Settings
  readonly #connection: Connection | undefined
  readonly #kept: Promise<KeptTasks> | undefined

  /**
   * Creates a client from a card at hand. Sends no request.
   *
   * @throws {TypeError | RangeError} for an invalid option; the message names it.
   * @throws {A2AError} `INVALID_PARAMS` with the path of the invalid field of the card; `VERSION_NOT_SUPPORTED` if the
   *   client supports none of its interfaces.
   */
  constructor(options: A2AClientOptions = {}) {
    requireClientOptions(options)
    const { card, ...others } = options
    this.#options = others
    this.#settings = toSettings(others, 'A2AClient', ['card'])
    const { taskManager } = this.#settings
    if (card !== undefined) this.#connection = new Connection(cardOf(card), this.#settings)
    this.#kept = taskManager && this.#keep(taskManager)
  }

  /**
   * Fetches an agent's card and creates a client for it. `at` is the agent's base URL, or the URL of a card (ending in
   * `.json`). In a browser it may be relative to the page: `/agent`. Without a card below the base URL, that of its origin is
   * used (A2A 1.0 §8.2).
   *
   * With `auth` or `headers`, a card fetched by https is only used with its https interfaces. With `sameOrigin`, the agent is
   * called at the origin of its card.
   *
   * @throws {A2AError} `EXTERNAL_SERVICE_ERROR` if there is no card; `INVALID_PARAMS` with the path of its invalid field,
   *   or `url`; `VERSION_NOT_SUPPORTED` if the client supports none of its interfaces; `REQUEST_TIMED_OUT`;
   *   `REQUEST_ABORTED`; `URL_BLOCKED` if the card came by https, has only http interfaces, and `auth` or `headers` is set.
   */
  static async connect(at: string | URL, options: ConnectOptions = {}): Promise<A2AClient> {
    requireObject(undefined, options, 'A2AClient.connect')
    const { cardCache, sameOrigin = false, signal, ...others } = options
    const settings = toSettings(others, 'A2AClient.connect', ['cardCache', 'sameOrigin', 'signal'])
    requireBoolean('sameOrigin', sameOrigin)
    const { card: served, cardUrl } = await loadCard(settings, at, { cardCache, signal })
    const card = sameOrigin ? atOriginOf(cardUrl, served) : served
    const isOpen = others.auth === undefined && others.headers === undefined
    const client = factory.of({ ...others, card: isOpen ? card : withoutPlainHttp(card, cardUrl) })
    client.#agent.cardUrl = cardUrl
    return client
  }

  /** The agent's card, frozen, in the form of A2A 1.0 whatever version it was written in. A client made with it reads it no more. */
  get card(): AgentCard {
    const agent = this.#agent
    const card = agent.card instanceof AgentCard ? agent.card : new AgentCard(agent.card)
    agent.card = card
    return card
  }

  /** Where {@link connect} fetched the card. Absent for a client that was created from a card. */
  get cardUrl(): string | undefined {
    return this.#connection?.cardUrl
  }

  /** A copy of the interface of the card that is in use. It changes on failover. */
  get interface(): AgentInterface {
    return { ...this.#agent.current.selected.agentInterface }
  }

  /**
   * Sends a message and waits until its task ends or waits for the user (A2A 1.0 §3.1.1). The message is sent again only if
   * the agent has certainly not processed it. If the connection breaks, the response is lost: use {@link run} to recover.
   */
  async send(message: MessageInput, options: SendOptions = {}): Promise<SendResult> {
    const { request, call } = toSend(message, options, 'send', this.#settings.generateId, this.#agent.card)
    const result = await this.#agent.call('SendMessage', request, call)
    if (result.type === 'task')
      (await this.#kept)?.replicator?.startCall(request.message, {}).applyTask(result.task)
    return result
  }

  /**
   * Sends a message once and yields the agent's events in order (A2A 1.0 §3.1.2). Leaving the loop ends the stream only.
   *
   * @throws {A2AError} `UNSUPPORTED_OPERATION` if the card declares no streams.
   */
  async *stream(
    message: MessageInput,
    options: SendOptions & Pick<StreamOptions, 'idleTimeoutMs'> = {},
  ): AsyncGenerator<RemoteEvent, undefined> {
    const { generateId } = this.#settings
    const { request, call } = toSend(message, options, 'stream', generateId, this.#agent.card)
    const replica = (await this.#kept)?.replicator?.startCall(request.message, { isRun: false })
    this.#requireStreams('SendStreamingMessage')
    const { idleTimeoutMs } = options
    const events = this.#agent.events('SendStreamingMessage', request, { ...call, idleTimeoutMs })
    for await (const event of events) {
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
    ;(await this.#kept)?.replicator?.applyTask(task)
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
      return await this.#agent.call('ListTasks', compact({ ...request, ...page }), call)
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
    ;(await this.#kept)?.replicator?.applyTask(task)
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
    const kept = await this.#kept
    for await (const event of this.#agent.events('SubscribeToTask', { id: requireId(id) }, call)) {
      kept?.replicator?.applyEvent(event)
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
    const call = this.#requirePush(options, 'createPushConfig')
    requirePushConfig(config, 'createPushConfig')
    const request = { taskId: requireId(taskId), config }
    return await this.#agent.call('CreateTaskPushNotificationConfig', request, call)
  }

  /** Fetches one webhook of a task. */
  async getPushConfig(taskId: string, id: string, options: CallOptions = {}): Promise<RemotePushConfig> {
    const call = this.#requirePush(options, 'getPushConfig')
    const request = { taskId: requireId(taskId), id: requireId(id) }
    return await this.#agent.call('GetTaskPushNotificationConfig', request, call)
  }

  /** Lists all webhooks of a task, from all pages. */
  async listPushConfigs(taskId: string, options: CallOptions = {}): Promise<RemotePushConfig[]> {
    const call = this.#requirePush(options, 'listPushConfigs')
    const load = (page: object): Promise<ClientResults['ListTaskPushNotificationConfigs']> =>
      this.#agent.call('ListTaskPushNotificationConfigs', { taskId: requireId(taskId), ...page }, call)
    const all: RemotePushConfig[] = []
    for await (const { configs } of pagesFrom(load({}), (pageToken) => load({ pageToken })))
      all.push(...configs)
    return all
  }

  /** Removes a webhook. Idempotent: succeeds if none has that id. */
  async deletePushConfig(taskId: string, id: string, options: CallOptions = {}): Promise<void> {
    const call = this.#requirePush(options, 'deletePushConfig')
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
   * Sends a message and follows its task until it ends or waits for the user. Opens a new stream when one breaks, and polls
   * when there is none. The message is sent again only if the agent has certainly not received it.
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
    const { repeats } = options
    if (repeats !== undefined)
      return await this.#run({ ...given, ...contextOf(repeats) }, repeats, options, false)
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
    requireDelegationOptions(options, 'resume')
    return await this.#run(undefined, handle, options, false)
  }

  /**
   * Delegates a task of `taskManager` to an agent: sends its input and copies the state, messages and artifacts of the
   * agent's task to it. Canceling the local task cancels the agent's.
   *
   * A question of the agent makes the local task `input-required`. Add the user's answer to its messages and call
   * `sendTask` again. `agent` is a name in the option `agents`, a URL, a card, or a client. Clients made for URLs and
   * cards have neither the `auth` nor the `headers` of this one.
   *
   * Over a `DurableTaskManager` with `recover: 'resume'`, another process continues when this one dies: a client there that
   * has the agent's name in `agents`, or for a URL or card, any client with a `taskManager`. Nothing is sent twice.
   *
   * @throws {A2AError} `TASK_NOT_FOUND`; `TASK_TERMINAL`; `UNSUPPORTED_OPERATION` while an agent works on the task;
   *   `INVALID_PARAMS`; whatever {@link connect} throws, and then the local task has failed.
   */
  async sendTask(
    agent: string | object,
    task: string | { readonly id: string },
    options: DelegationOptions = {},
  ): Promise<RunResult> {
    requireDelegationOptions(options, 'sendTask')
    if (!this.#kept) throw invalidParams('taskManager', 'is missing in the options of A2AClient')
    const { delegation } = await this.#kept
    return await delegation.send(agent, typeof task === 'string' ? task : task.id, options)
  }

  /** Makes clients without this one's credentials, which are for its own agent, and without a second local copy. */
  get #clientFactory(): ClientFactory {
    const ours = { auth: undefined, headers: undefined, taskManager: undefined, agents: undefined }
    const options = { ...this.#options, ...ours }
    return { connect: (url) => factory.connect(url, options), of: (card) => factory.of({ ...options, card }) }
  }

  async #run(
    message: Message | undefined,
    handle: RunHandle,
    options: RunOptions,
    isOwnContext: boolean,
  ): Promise<RunResult> {
    const start = (given: RunOptions): Promise<RunResult> =>
      new Run(this.#agent, handle, given, isOwnContext).drive(message)
    const kept = await this.#kept
    return await (kept === undefined ? start(options) : kept.run(message, options, start))
  }

  /** Loads the code for local tasks, which clients without a `taskManager` do not need. */
  #keep(tasks: ClientTasks): Promise<KeptTasks> {
    const loading = import('./delegation/kept-tasks.js').then(
      ({ KeptTasks }) => new KeptTasks(tasks, this.#connection, this.#clientFactory, this.#options),
    )
    // Each call that needs the tasks reports a failure.
    loading.catch(() => undefined)
    return loading
  }

  /** @throws {A2AError} `INVALID_PARAMS` for a client without a card. */
  get #agent(): Connection {
    if (this.#connection !== undefined) return this.#connection
    throw invalidParams('card', 'is missing: this client has no agent. Create it with A2AClient.connect(url)')
  }

  #requireStreams(operation: Operation): void {
    const { name, capabilities } = this.#agent.card
    if (capabilities.streaming !== true)
      throw unsupported(operation, `${name} has no streams, as its card says`)
  }

  #requirePush(options: CallOptions, where: string): CallOptions {
    this.#agent.requirePush()
    return requireCallOptions(options, [], where)
  }
}

/** A card that was read, and is frozen, serves any number of clients: a client for each request reads it once. */
function cardOf(given: unknown): Card {
  const isRead = given instanceof AgentCard && Object.isFrozen(given) && given.supportedInterfaces.length > 0
  return isRead ? given : parseAgentCard(given)
}

// Outside the class: bundlers rename a class that refers to itself, also in stack traces.
const factory = {
  connect: (url: string, options: ConnectOptions): Promise<A2AClient> => A2AClient.connect(url, options),
  of: (options: A2AClientOptions): A2AClient => new A2AClient(options),
}

function unsupported(operation: Operation, text: string): A2AError<'UNSUPPORTED_OPERATION'> {
  return new A2AError('UNSUPPORTED_OPERATION', text, { operation })
}
