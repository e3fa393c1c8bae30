/**
 * Gateway that sends tasks to agents behind services of any kind.
 *
 * @module
 */
import { raceAbort } from '../runtime/abort.js'
import { endError, invalidParams, taskNotFound } from '../core/errors.js'
import { readParams } from '../core/validate.js'
import { isTerminal } from '../core/lifecycle.js'
import { isSameOwner, type OwnerFilter } from '../core/queries.js'
import type { SubscribeOptions, TaskSubscription } from '../core/subscription.js'
import type { TaskManager } from '../core/task-manager.js'
import type { Task, TaskSnapshot } from '../core/task.js'
import { TaskLocations } from './turns/task-locations.js'
import { AgentSelector, type TaskNeeds } from './admission/agent-selection.js'
import type { RegisteredAgent } from './registry/agent.js'
import type { TurnStart, Turn } from './turns/turn.js'
import { Turns } from './turns/turns.js'
import type { GatewayConfig } from './config/types.js'
import type { HealthMonitoring } from './registry/health.js'
import { HandleSeal, isHandle, type HandleContents } from './turns/handle.js'
import {
  requireInterrupted,
  requireTask,
  SEND_KEYS,
  toMessage,
  toProviderTask,
  type SendTaskOptions,
  type TaskInput,
  type WorkOptions,
} from './turns/input.js'
import { requireConfig, toSettings, type A2AGatewayOptions, type Settings } from './options.js'
import type { TaskRef } from './provider.js'
import type { AgentRegistry } from './registry/registry.js'
import { closed } from './admission/refusals.js'
import { TaskResumer } from './turns/resume.js'

/**
 * Sends tasks to agents behind services of any kind, and follows each one until it ends.
 *
 * Tasks live in `tasks`, a `TaskManager`. Every update from a service becomes a change of state, artifacts or messages
 * there, even if no caller waits for it. When a stream breaks, the gateway polls the service instead. When a task ends
 * here first (it is canceled, times out or expires), the gateway cancels it at its service. When a service fails, the
 * task fails with a fixed text for clients, and `onError` receives the error.
 *
 * @throws {TypeError | RangeError} from the constructor, for an option with an invalid value. The error
 *   names the option.
 * @example
 * const registry = new AgentRegistry()
 * registry.register({ id: 'echo', provider: 'a2a', capabilities: ['echo'], endpoint: { url: 'https://example.com' } })
 * const gateway = new A2AGateway({ registry, providers: { a2a: a2a() } })
 * const task = await gateway.sendTask('echo', 'Hello')
 */
export class A2AGateway {
  readonly registry: AgentRegistry
  readonly tasks: TaskManager
  readonly #settings: Settings
  readonly #seal: HandleSeal
  readonly #locations: TaskLocations
  readonly #selector: AgentSelector
  readonly #turns: Turns
  readonly #resumer: TaskResumer
  #monitoring: HealthMonitoring | undefined

  constructor(options: A2AGatewayOptions) {
    this.#settings = toSettings(options)
    const { registry, tasks, secrets } = this.#settings
    this.registry = registry
    this.tasks = tasks
    this.#seal = new HandleSeal(secrets)
    this.#locations = new TaskLocations(tasks)
    this.#turns = new Turns(this.#settings, this.#locations)
    this.#locations.listen()
    this.#selector = new AgentSelector(this.#settings)
    const { providerOf } = this.#selector
    this.#resumer = new TaskResumer(this.#settings, this.#locations, this.#turns, providerOf)
    registry.setHealthCheck((agent, call) => providerOf(agent).healthCheck(agent, call))
  }

  /**
   * Creates a gateway from the result of `loadGatewayConfig`, registers its agents, and monitors their health every
   * `healthCheckIntervalMs` until the gateway is closed.
   *
   * @throws {A2AError} `PROVIDER_ERROR` when an agent's provider is not among `providers`; `INVALID_PARAMS` for
   *   settings that its provider rejects; and what the constructor and `AgentRegistry.register` throw.
   */
  static fromConfig(config: GatewayConfig, options: Omit<A2AGatewayOptions, 'config'>): A2AGateway {
    const { healthCheckIntervalMs, ...settings } = requireConfig(config)
    const gateway = new A2AGateway({ ...options, config: settings })
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
    const { taskId, turn } = this.#begin(agentId, input, options, returnImmediately ? 'stream' : 'send')
    this.#cancelOnAbort(signal, taskId, turn)
    if (!returnImmediately) await Promise.race([turn.done, turn.stopped])
    return this.#copy(taskId, 'TASK_EXPIRED')
  }

  /**
   * Sends a message as {@link sendTask} does, and returns the task's events in order. For a new task they begin with
   * its creation; for an answer, with the change that follows it. Leaving the loop ends the subscription, not the task.
   */
  streamTask(agentId: string, input: TaskInput, options: SendTaskOptions = {}): TaskSubscription {
    const { signal } = options
    const { taskId, turn } = this.#begin(agentId, input, options, 'stream')
    this.#cancelOnAbort(signal, taskId, turn)
    const isAnswer = typeof input === 'object' && input.taskId !== undefined
    return this.tasks.subscribe(taskId, isAnswer ? {} : { after: 0 })
  }

  /**
   * Returns the current task, by its id or its handle. The service of an interrupted task is polled first, since the
   * task may have been answered elsewhere.
   *
   * @throws {A2AError} `TASK_NOT_FOUND`; with a handle, also what {@link resume} throws.
   */
  async getTask(taskIdOrHandle: string, filter: OwnerFilter = {}): Promise<Task> {
    const taskId = await this.#resolveTaskId(taskIdOrHandle, filter)
    await this.#resumer.refresh(taskId)
    return this.#copy(taskId, 'TASK_NOT_FOUND', filter)
  }

  /**
   * Cancels a task, by its id or its handle, here and at its service. Resolves when the service has answered; the wait
   * is limited by `cancelTimeoutMs`. A service that cannot cancel is left alone; `onError` receives the error of one
   * that fails.
   *
   * @throws {A2AError} `TASK_NOT_FOUND`; `TASK_NOT_CANCELABLE` when the task has ended; with a handle, also what
   *   {@link resume} throws.
   */
  async cancelTask(taskIdOrHandle: string, filter: OwnerFilter = {}): Promise<Task> {
    const taskId = await this.#resolveTaskId(taskIdOrHandle, filter)
    const task = this.tasks.cancelTask(taskId)
    await this.#turns.whenCanceled(taskId)
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
    const { owner, ...others } = options
    // An `owner` of undefined is passed on and refused: as no filter, it would open every task to every caller.
    const filter = Object.hasOwn(options, 'owner') ? { owner: owner as string | null } : {}
    return this.tasks.subscribe(await this.#resolveTaskId(taskIdOrHandle, filter), others)
  }

  /**
   * Returns a sealed handle: any process with the same `handleSecret` and agents can find the task by it. The holder
   * can neither read nor change it. Waits until the service of a task that is being sent reports its ids; `null` when
   * it never does.
   *
   * @throws {A2AError} `TASK_NOT_FOUND`.
   */
  async handleOf(taskId: string): Promise<string | null> {
    if (this.tasks.peekTask(taskId) === null) throw taskNotFound(taskId)
    await this.#turns.whenLocated(taskId)
    const task = this.tasks.peekTask(taskId)
    if (task === null) throw taskNotFound(taskId)
    const location = this.#locations.find(taskId, this.registry)
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
   * Takes over a task of another process, or of this one before a restart, by its handle, and follows it under the id
   * it had. When `tasks` has the task already, as after `restore`, the gateway only starts to follow it. Concurrent
   * calls for one task share one attempt.
   *
   * @returns A copy of the task. The original messages are not part of a handle.
   * @throws {A2AError} `TASK_NOT_FOUND`, also for a handle that this gateway's secrets did not seal; `AGENT_NOT_FOUND`;
   *   `UNSUPPORTED_OPERATION` when the service keeps no tasks; `PROVIDER_ERROR`; `WAIT_TIMED_OUT` when the service does
   *   not answer within `cancelTimeoutMs`; `TASK_LIMIT_REACHED`; `UNAVAILABLE` after {@link close}.
   */
  async resume(handle: string, filter: OwnerFilter = {}): Promise<Task> {
    this.#turns.requireOpen()
    return this.#copy(await this.#resolveTaskId(handle, filter), 'TASK_NOT_FOUND')
  }

  /**
   * Returns the agent for a task: of the agents that are online and match, the least loaded; of equally loaded ones,
   * the least recently selected. `null` when none matches. For a text, `extractCapabilities` decides which capabilities
   * are needed; a text that needs none matches no agent.
   */
  findAgentForTask(needs: string | TaskNeeds): RegisteredAgent | null {
    return this.#selector.find(needs)
  }

  /** Returns the number of tasks that the agent works on now. */
  loadOf(agentId: string): number {
    return this.#settings.admission.loadOf(agentId)
  }

  /** Returns the id of the agent that has the task, or `null`. */
  agentOf(taskId: string): string | null {
    return this.#locations.agentOf(taskId) ?? null
  }

  /**
   * Refuses new tasks, lets running turns finish within `graceMs` (default 10,000 ms), and abandons the rest: their
   * services continue, and handles still find them. The tasks and the manager stay as they are.
   */
  async close({ graceMs = 10_000 }: { readonly graceMs?: number } = {}): Promise<void> {
    await this.#turns.close(graceMs, closed())
    this.#locations.close()
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
    { open, owner, handle, onPlaced, signal }: WorkOptions,
  ): Promise<void> {
    // Turns of a task run one after the other, and another caller may have sent one.
    if (message.taskId !== undefined) await this.#turns.whenIdle(message.taskId)
    this.#turns.requireOpen()
    const { agent, provider, release } = this.#selector.admit(agentId, owner)
    let taskId: string
    try {
      const task = requireTask(this.tasks, open())
      taskId = task.id
      if (isTerminal(task.state)) {
        release()
        return
      }
      // A message to an interrupted task is its answer, even when a handle was used to find the task.
      const start: TurnStart =
        handle === undefined || message.taskId !== undefined
          ? { mode: 'stream', task: this.#toProviderTask(task, message, agent, handle?.ref) }
          : { mode: 'follow', ref: handle.ref }
      this.#turns.begin({ agent, provider, taskId, start, release, onLocated: onPlaced })
    } catch (error) {
      release()
      throw error
    }
    await this.#turns.whenIdle(taskId)
    // The abandoned task continues at its service. For the caller it is running as long as it is wanted.
    const state = this.tasks.stateOf(taskId)
    if (this.#turns.isClosed && (state === 'submitted' || state === 'working'))
      await raceAbort(signal, new Promise(() => undefined))
  }

  /**
   * For executors: opens a handle, provided that its task belongs to the caller.
   *
   * @throws {A2AError} `TASK_NOT_FOUND`.
   */
  async openHandle(handle: string, filter: OwnerFilter = {}): Promise<HandleContents> {
    const contents = await this.#open(handle, filter)
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

  #begin(
    agentId: string,
    input: TaskInput,
    options: SendTaskOptions,
    mode: 'send' | 'stream',
  ): { taskId: string; turn: Turn } {
    const { id, owner, signal } = readParams(options, SEND_KEYS, 'sendTask')
    const message = toMessage(input)
    const { contextId, referenceTaskIds } = message
    this.#turns.requireOpen()
    const { agent, provider, release } = this.#selector.admit(agentId, owner)
    let createdId: string | undefined
    try {
      const task =
        message.taskId === undefined
          ? this.tasks.createTask({ skill: agent.id, id, owner, contextId, referenceTaskIds })
          : requireInterrupted(this.tasks, message.taskId, owner)
      const known = message.taskId === undefined ? agentId : this.agentOf(task.id)
      if (known !== agentId) throw invalidParams('agentId', `must be that of the task: ${known ?? 'none'}`)
      if (message.taskId === undefined) createdId = task.id
      const metadata = { ...message.metadata, agent_id: agent.id, provider: agent.provider }
      const added = { ...message, metadata, taskId: task.id, contextId: task.contextId }
      const { message: stored } = this.tasks.addMessage(task.id, added)
      // The answer ends the interruption.
      if (message.taskId !== undefined) this.tasks.patchTask(task.id, { state: 'working', message: null })
      if (signal?.aborted) this.tasks.cancelTask(task.id)
      const start = { mode, task: this.#toProviderTask(task, stored, agent) }
      return {
        taskId: task.id,
        turn: this.#turns.begin({ agent, provider, taskId: task.id, start, release }),
      }
    } catch (error) {
      release()
      // The caller never receives this task's id, so the task has to end here.
      if (createdId !== undefined && this.tasks.can(createdId, 'rejected'))
        this.tasks.patchTask(createdId, { state: 'rejected' })
      throw error
    }
  }

  /**
   * For executors: throws unless the agent would accept a task now. Counts nothing.
   *
   * @throws {A2AError} What {@link sendTask} throws before a task is created.
   */
  requireRoom(agentId: string, owner?: string): void {
    this.#turns.requireOpen()
    this.#selector.check(agentId, owner)
  }

  #toProviderTask(
    task: TaskSnapshot | Task,
    message: TaskSnapshot['messages'][number],
    agent: RegisteredAgent,
    handleRef?: TaskRef,
  ) {
    const ref = this.#locations.refOf(agent, task.id) ?? handleRef
    const previous = ref === undefined ? this.#locations.previousOf(task, agent) : undefined
    return toProviderTask(task, message, ref, previous)
  }

  /** Cancels the task if the signal aborts during the turn, with `returnImmediately` too. */
  #cancelOnAbort(signal: AbortSignal | undefined, taskId: string, turn: Turn): void {
    const cancel = (): void => {
      const task = this.tasks.peekTask(taskId)
      if (task !== null && !isTerminal(task.state)) this.tasks.cancelTask(taskId)
    }
    signal?.addEventListener('abort', cancel, { once: true })
    void turn.done.then(() => signal?.removeEventListener('abort', cancel))
  }

  /** Returns the id of an existing task, from its id or its handle. */
  async #resolveTaskId(taskIdOrHandle: string, filter: OwnerFilter): Promise<string> {
    if (!isHandle(taskIdOrHandle)) {
      if (this.tasks.peekTask(taskIdOrHandle, filter) === null) throw taskNotFound(taskIdOrHandle)
      return taskIdOrHandle
    }
    return await this.#resumer.resume(await this.#open(taskIdOrHandle, filter))
  }

  #copy(taskId: string, code: 'TASK_EXPIRED' | 'TASK_NOT_FOUND', filter: OwnerFilter = {}): Task {
    const isThere = this.tasks.peekTask(taskId, filter) !== null
    const task = isThere ? this.tasks.getTask(taskId) : null
    if (task === null) throw code === 'TASK_EXPIRED' ? endError(code, taskId) : taskNotFound(taskId)
    return task
  }
}
