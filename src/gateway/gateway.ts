/**
 * Gateway that sends tasks to agents behind services of any kind.
 *
 * @module
 */
import { onAbort } from '../runtime/abort.js'
import { endError, taskNotFound } from '../core/errors.js'
import type { MaybePromise } from '../core/managers.js'
import { isSameOwner, type OwnerFilter } from '../core/queries.js'
import type { SubscribeOptions, TaskSubscription } from '../core/subscription.js'
import type { TaskManager } from '../core/task-manager.js'
import type { Task, TaskSnapshot } from '../core/task.js'
import { readParams } from '../core/validate.js'
import { requireKnown } from '../runtime/options.js'
import { AgentSelector, type TaskNeeds } from './admission/agent-selection.js'
import type { GatewayStats } from './admission/statistics.js'
import type { GatewayConfig } from './config/types.js'
import {
  FROM_CONFIG_KEYS,
  requireConfig,
  toSettings,
  type A2AGatewayOptions,
  type Settings,
} from './options.js'
import type { RegisteredAgent } from './registry/agent.js'
import type { HealthMonitoring } from './registry/health.js'
import type { AgentRegistry } from './registry/registry.js'
import { LateSubscription } from './shared/late-subscription.js'
import { SharedWork } from './shared/shared-work.js'
import { HandleSeal, isHandle, type HandleContents } from './turns/handle.js'
import {
  SEND_KEYS,
  marked,
  toMessage,
  type SendTaskOptions,
  type TaskInput,
  type WorkOptions,
} from './turns/input.js'
import { LocalWork } from './turns/local-work.js'
import { isShared } from '../remote/leases.js'
import type { CheckedTasks, GatewayTasks } from './turns/tasks.js'
import type { BegunTurn, Work } from './turns/work.js'

/**
 * Sends tasks to agents behind services of any kind, and follows each one until it ends.
 *
 * Tasks live in `tasks`, a `TaskManager` or a `DurableTaskManager`. Every update from a service becomes a change of state,
 * artifacts or messages there, even if no caller waits for it. When a stream breaks, the gateway polls the service
 * instead. When a task ends here first (it is canceled, times out or expires), the gateway cancels it at its service.
 * When a service fails, the task fails with a fixed text for clients, and `onError` receives the error. Over a
 * `DurableTaskManager`, another gateway follows the tasks of a process that dies; no message is sent twice.
 *
 * @throws {TypeError | RangeError} from the constructor, for an option with an invalid value. The error
 *   names the option.
 * @example
 * const registry = new AgentRegistry()
 * registry.register({ id: 'echo', provider: 'a2a', capabilities: ['echo'], endpoint: { url: 'https://example.com' } })
 * const gateway = new A2AGateway({ registry, providers: { a2a: a2a() } })
 * const task = await gateway.sendTask('echo', 'Hello')
 */
export class A2AGateway<T extends GatewayTasks = TaskManager> {
  /** The agents. */
  readonly registry: AgentRegistry
  /** The tasks of all agents. */
  readonly tasks: T
  readonly #settings: Settings
  readonly #seal: HandleSeal
  readonly #selector: AgentSelector
  readonly #work: Work
  #monitoring: HealthMonitoring | undefined

  constructor(options: A2AGatewayOptions<T>) {
    this.#settings = toSettings(options)
    const { registry, tasks, secrets } = this.#settings
    this.registry = registry
    // `toSettings` has returned the manager of the options, or made a \`TaskManager\` where there is none.
    this.tasks = tasks as CheckedTasks & T
    this.#seal = new HandleSeal(secrets)
    this.#selector = new AgentSelector(this.#settings)
    const { providerOf } = this.#selector
    this.#work = isShared(tasks)
      ? new SharedWork(this.#settings, tasks, this.#selector)
      : new LocalWork(this.#settings, tasks, this.#selector)
    registry.setHealthCheck((agent, call) => providerOf(agent).healthCheck(agent, call))
  }

  /**
   * Creates a gateway from the result of `loadGatewayConfig`, registers its agents, and monitors their health every
   * `healthCheckIntervalMs` until the gateway is closed.
   *
   * @throws {A2AError} `PROVIDER_ERROR` when an agent's provider is not among `providers`; `INVALID_PARAMS` for
   *   settings that its provider rejects; and what the constructor and `AgentRegistry.register` throw.
   */
  static fromConfig<T extends GatewayTasks = TaskManager>(
    config: GatewayConfig,
    options: Omit<A2AGatewayOptions<T>, 'config'>,
  ): A2AGateway<T> {
    const { healthCheckIntervalMs, ...settings } = requireConfig(config)
    requireKnown(options, FROM_CONFIG_KEYS, 'A2AGateway.fromConfig')
    const gateway = new A2AGateway<T>({ ...options, config: settings })
    try {
      gateway.#selector.registerAll(config.agents)
    } catch (error) {
      // The caller never receives this gateway, so it has to be closed here.
      void gateway.close()
      throw error
    }
    gateway.#monitoring = gateway.registry.startHealthMonitoring(healthCheckIntervalMs)
    return gateway
  }

  /**
   * Sends a message to an agent, and waits until the task ends or needs an answer. In the second case its state is
   * `input-required` or `auth-required`; a message with its `taskId` answers.
   *
   * The input is a text, or parts. With `returnImmediately` the promise resolves as soon as the message is stored. When
   * `signal` aborts, the task is canceled.
   *
   * @returns A copy of the task. A failed task has the reason in `message`, with `metadata.code` and
   *   `metadata.retryable`.
   * @throws {A2AError} Before a task is created: `AGENT_NOT_FOUND`, `AGENT_BUSY`, `RATE_LIMITED`, `INVALID_PARAMS`,
   *   `TASK_LIMIT_REACHED`, `UNAVAILABLE` after {@link close}, and `PROVIDER_ERROR` when the agent has no provider or
   *   its settings are rejected. For a `taskId`: `TASK_NOT_FOUND`, `TASK_TERMINAL`, and `UNSUPPORTED_OPERATION` while
   *   the task is being worked on. `TASK_EXPIRED` when the task was removed before it ended.
   */
  async sendTask(agentId: string, input: TaskInput, options: SendTaskOptions = {}): Promise<Task> {
    const { returnImmediately = false, signal } = options
    // No caller waits for one complete answer, so the service may as well stream.
    const begun = await this.#begin(
      agentId,
      input,
      options,
      'sendTask',
      returnImmediately ? 'stream' : 'send',
    )
    const { taskId, turn } = begun
    this.#cancelOnAbort(signal, begun)
    if (!returnImmediately) await Promise.race([turn.done, turn.stopped])
    await this.#work.stored(taskId)
    return await this.#copy(taskId, 'TASK_EXPIRED')
  }

  /**
   * Sends a message as {@link sendTask} does, and returns the task's events in order. For a new task they begin with
   * its creation; for an answer, with the change that follows it. Leaving the loop ends the subscription, not the task.
   */
  streamTask(agentId: string, input: TaskInput, options: SendTaskOptions = {}): TaskSubscription {
    const subscribe = (begun: BegunTurn): TaskSubscription => {
      this.#cancelOnAbort(options.signal, begun)
      const isAnswer = typeof input === 'object' && input.taskId !== undefined
      return this.#settings.tasks.subscribe(begun.taskId, isAnswer ? {} : { after: 0 })
    }
    const begun = this.#begin(agentId, input, options, 'streamTask', 'stream')
    return begun instanceof Promise ? new LateSubscription(begun.then(subscribe)) : subscribe(begun)
  }

  /**
   * Returns the current task, by its id or its handle. The service of an interrupted task is polled first, since the
   * task may have been answered elsewhere.
   *
   * @throws {A2AError} `TASK_NOT_FOUND`; with a handle, also what {@link resume} throws.
   */
  async getTask(taskIdOrHandle: string, filter: OwnerFilter = {}): Promise<Task> {
    const given = readFilter(filter, 'getTask')
    const taskId = await this.#resolveTaskId(taskIdOrHandle, given)
    await this.#work.refresh(taskId)
    return await this.#copy(taskId, 'TASK_NOT_FOUND', given)
  }

  /**
   * Cancels a task, by its id or its handle, in the gateway and then at its service. Waits for the service up to
   * `cancelTimeoutMs`. If the service cannot cancel, its task continues; `onError` receives any other error of the service.
   *
   * @throws {A2AError} `TASK_NOT_FOUND`; `TASK_NOT_CANCELABLE` when the task has ended; with a handle, also what
   *   {@link resume} throws.
   */
  async cancelTask(taskIdOrHandle: string, filter: OwnerFilter = {}): Promise<Task> {
    const taskId = await this.#resolveTaskId(taskIdOrHandle, readFilter(filter, 'cancelTask'))
    const task = await this.#settings.tasks.cancelTask(taskId)
    await this.#work.turns.whenCanceled(taskId)
    return task
  }

  /**
   * Subscribes to the events of a task, by its id or its handle: those from now on, or those after the generation
   * `after`. See `TaskManager.subscribe`.
   */
  async subscribe(
    taskIdOrHandle: string,
    options: SubscribeOptions & OwnerFilter = {},
  ): Promise<TaskSubscription> {
    const given = readParams(options, ['after', 'signal', 'owner'], 'subscribe')
    const { owner, ...others } = given
    // An `owner` of undefined is passed on and refused: as no filter, it would open every task to every caller.
    const filter = Object.hasOwn(given, 'owner') ? { owner: owner as string | null } : {}
    return this.#settings.tasks.subscribe(await this.#resolveTaskId(taskIdOrHandle, filter), others)
  }

  /**
   * Returns a sealed handle: any process with the same `handleSecret` and agents can find the task by it. The holder
   * can neither read nor change it. Waits until the service of a task that is being sent reports its ids; `null` when
   * it never does.
   *
   * @throws {A2AError} `TASK_NOT_FOUND`.
   */
  async handleOf(taskId: string): Promise<string | null> {
    if ((await this.#peek(taskId)) === null) throw taskNotFound(taskId)
    await this.#work.turns.whenLocated(taskId)
    const task = await this.#peek(taskId)
    if (task === null) throw taskNotFound(taskId)
    const location = await this.#work.locate(task)
    if (location === undefined) return null
    const { contextId, owner } = task
    const { id: agentId, provider } = location.agent
    return await this.#seal.seal({
      taskId,
      contextId,
      agentId,
      provider,
      ref: location.ref,
      ...(owner !== undefined && { owner }),
    })
  }

  /**
   * Continues a task of another process, or of this one before a restart, by its handle, and keeps its id. When `tasks`
   * has the task already, as after `restore`, the gateway only starts to follow it. Concurrent calls for one task share
   * one attempt.
   *
   * @returns A copy of the task. The original messages are not part of a handle.
   * @throws {A2AError} `TASK_NOT_FOUND`, also for a handle that this gateway's secrets did not seal; `AGENT_NOT_FOUND`;
   *   `UNSUPPORTED_OPERATION` when the service keeps no tasks; `PROVIDER_ERROR`; `WAIT_TIMED_OUT` when the service does
   *   not answer within `cancelTimeoutMs`; `TASK_LIMIT_REACHED`; `UNAVAILABLE` after {@link close}.
   */
  async resume(handle: string, filter: OwnerFilter = {}): Promise<Task> {
    const given = readFilter(filter, 'resume')
    this.#work.turns.requireOpen()
    return await this.#copy(await this.#resolveTaskId(handle, given), 'TASK_NOT_FOUND')
  }

  /**
   * Returns the agent for a task: of the agents that are online and match, the least loaded; of equally loaded ones,
   * the least recently selected. `null` when none matches. For a text, `extractCapabilities` decides which capabilities
   * are needed, by default from its first 65,536 characters; a text that needs none matches no agent.
   *
   * @throws {TypeError} for an unknown property of `needs`.
   */
  findAgentForTask(needs: string | TaskNeeds): RegisteredAgent | null {
    if (typeof needs !== 'string') requireKnown(needs, ['capabilities', 'tags'], 'findAgentForTask')
    return this.#selector.find(needs)
  }

  /**
   * Returns what agents have done for this gateway in this process: of all agents, or of one; `null` for an unknown one.
   * Unregistering an agent removes its own statistics.
   */
  stats(): GatewayStats
  stats(agentId: string): GatewayStats | null
  stats(agentId?: string): GatewayStats | null {
    const { admission, statistics, registry } = this.#settings
    if (agentId === undefined) return statistics.total(admission.load)
    return registry.get(agentId) === null ? null : statistics.of(agentId, admission.loadOf(agentId))
  }

  /** Returns the number of tasks that the agent works on now. */
  loadOf(agentId: string): number {
    return this.#settings.admission.loadOf(agentId)
  }

  /**
   * Returns the time for which the circuit breaker of the agent refuses further tasks, in ms; `0` when it admits the next one.
   * Other limits may refuse it all the same.
   */
  waitMsOf(agentId: string): number {
    return this.#settings.admission.waitMsOf(agentId)
  }

  /**
   * Returns the id of the agent that has the task, or `null`. Over a `DurableTaskManager`, `null` also for tasks that this
   * gateway does not follow now: see {@link readAgentOf}.
   */
  agentOf(taskId: string): string | null {
    return this.#work.agentOf(taskId) ?? null
  }

  /** Returns the id of the agent that has the task, or `null`. Reads the store, if the gateway has one. */
  async readAgentOf(taskId: string): Promise<string | null> {
    return (await this.#work.readAgentOf(taskId)) ?? null
  }

  /**
   * Refuses new tasks, lets running turns finish within `graceMs` (default 10,000 ms), and abandons the rest: their
   * services continue, and handles still find them. The tasks and the manager stay as they are.
   */
  async close(options: { readonly graceMs?: number } = {}): Promise<void> {
    const { graceMs = 10_000 } = readParams(options, ['graceMs'], 'close')
    await this.#work.close(graceMs)
    this.#selector.close()
    this.#monitoring?.stop()
  }

  /**
   * For executors: runs a turn of an agent on a task that is in `tasks`, or that `open` creates there. Resolves when no
   * turn of the task is running, even if a later turn has replaced this one. If {@link close} abandons the turn, the
   * promise stays pending until `signal` aborts, and then rejects with its reason.
   *
   * @throws {A2AError} Before `open` is called: what {@link sendTask} throws before a task is created.
   */
  async workOn(
    agentId: string,
    message: TaskSnapshot['messages'][number],
    options: WorkOptions,
  ): Promise<void> {
    requireKnown(options, ['open', 'owner', 'handle', 'signal', 'onPlaced'], 'workOn')
    await this.#work.workOn(agentId, message, options)
  }

  /**
   * For executors: opens a handle, provided that its task belongs to the caller.
   *
   * @throws {A2AError} `TASK_NOT_FOUND`.
   */
  async openHandle(handle: string, filter: OwnerFilter = {}): Promise<HandleContents> {
    const contents = await this.#open(handle, readFilter(filter, 'openHandle'))
    const agent = this.registry.get(contents.agentId)
    // A `ref` is meaningless to a different kind of service.
    if (agent !== null && agent.provider !== contents.provider) throw taskNotFound(contents.taskId)
    return contents
  }

  async #open(handle: string, filter: OwnerFilter): Promise<HandleContents> {
    const contents = await this.#seal.open(handle)
    const isOwned = !Object.hasOwn(filter, 'owner') || isSameOwner(filter.owner, contents.owner)
    // The error does not reveal to other owners what the handle contains.
    if (!isOwned) throw taskNotFound(handle.slice(0, 40))
    return contents
  }

  /**
   * For executors: throws unless the agent would accept a task now. Counts nothing.
   *
   * @throws {A2AError} What {@link sendTask} throws before a task is created.
   */
  requireRoom(agentId: string, owner?: string): void {
    this.#work.turns.requireOpen()
    this.#selector.check(agentId, owner)
  }

  /** Cancels the task if the signal aborts during the turn, with `returnImmediately` too. */
  #cancelOnAbort(signal: AbortSignal | undefined, { taskId, turn }: BegunTurn): void {
    void turn.done.then(onAbort(signal, () => void this.#work.cancelLive(taskId)))
  }

  /** Returns the id of an existing task, from its id or its handle. */
  async #resolveTaskId(taskIdOrHandle: string, filter: OwnerFilter): Promise<string> {
    if (!isHandle(taskIdOrHandle)) {
      if ((await this.#peek(taskIdOrHandle, filter)) === null) throw taskNotFound(taskIdOrHandle)
      return taskIdOrHandle
    }
    return await this.#work.resume(await this.#open(taskIdOrHandle, filter))
  }

  async #copy(
    taskId: string,
    code: 'TASK_EXPIRED' | 'TASK_NOT_FOUND',
    filter: OwnerFilter = {},
  ): Promise<Task> {
    const isThere = (await this.#peek(taskId, filter)) !== null
    const task = isThere ? await this.#settings.tasks.getTask(taskId) : null
    if (task === null) throw code === 'TASK_EXPIRED' ? endError(code, taskId) : taskNotFound(taskId)
    return task
  }

  #peek(taskId: string, filter: OwnerFilter = {}): MaybePromise<TaskSnapshot | null> {
    return this.#settings.tasks.peekTask(taskId, filter)
  }

  #begin(
    agentId: string,
    input: TaskInput,
    options: SendTaskOptions,
    method: 'sendTask' | 'streamTask',
    mode: 'send' | 'stream',
  ): MaybePromise<BegunTurn> {
    const { lineage, ...others } = readParams(options, SEND_KEYS, method)
    const { url = agentId } = this.registry.get(agentId)?.endpoint ?? {}
    return this.#work.begin(agentId, marked(toMessage(input, method), lineage, url), others, mode)
  }
}

/** Refuses a misspelt `owner`: without one, every caller gets every task. */
function readFilter(filter: OwnerFilter, method: string): OwnerFilter {
  return readParams(filter, ['owner'], method)
}
