/**
 * A gateway to agents of any kind.
 *
 * @module
 */
import { A2AError, ended, invalidParams, taskNotFound } from '../core/errors.js'
import { read } from '../core/intake.js'
import { isInterrupted, isTerminal } from '../core/lifecycle.js'
import type { OwnerFilter } from '../core/queries.js'
import type { SubscribeOptions, TaskSubscription } from '../core/subscription.js'
import type { TaskManager } from '../core/task-manager.js'
import type { Task, TaskSnapshot } from '../core/task.js'
import { Affinity } from './affinity.js'
import type { RegisteredAgent } from './agent.js'
import type { Beginning, Drive } from './drive.js'
import { Drives } from './drives.js'
import type { GatewayConfig } from './config.js'
import type { HealthMonitoring } from './health.js'
import { HandleSeal, isHandle, type HandleContents } from './handle.js'
import { SEND_KEYS, toMessage, toProviderTask, type SendTaskOptions, type TaskInput } from './input.js'
import { toSettings, type A2AGatewayOptions, type Settings } from './options.js'
import type { AgentProvider } from './provider.js'
import { providerError } from './service.js'
import { agentBusy, agentNotFound } from './refusals.js'
import type { AgentRegistry } from './registry.js'
import { Resumption } from './resumption.js'
import { LeastLoaded } from './selection.js'

/** What a task needs of its agent. */
export interface TaskNeeds {
  readonly capabilities?: readonly string[] | undefined
  readonly tags?: readonly string[] | undefined
}

/** Work on a task that is in the gateway's `tasks` already. */
export interface WorkOptions {
  /** Makes the task, or tells which it is: called when the agent has been found to take it. */
  readonly open: () => string
  /** Who is counted for the rate limit. */
  readonly owner?: string | undefined
  /** Follows this task of the service instead of sending the message. */
  readonly handle?: HandleContents | undefined
  /** Is called as soon as the task can be found again. */
  readonly onPlaced?: ((taskId: string) => void) | undefined
}

/**
 * Sends tasks to agents behind services of any kind, and follows each to its end.
 *
 * A task lives in `tasks`: what its service tells becomes its state, artifacts and messages, whoever waits for it or not. A
 * stream that breaks is followed by asking; a task that ends here before it ended there is canceled at its service. What
 * goes wrong there fails the task, with a text for clients and the error for `onError`.
 *
 * @throws {TypeError | RangeError | A2AError} from the constructor, naming the option that makes no sense.
 */
export class A2AGateway {
  readonly registry: AgentRegistry
  readonly tasks: TaskManager
  readonly #settings: Settings
  readonly #seal: HandleSeal
  readonly #affinity: Affinity
  readonly #turns = new LeastLoaded()
  readonly #drives: Drives
  readonly #resumption: Resumption
  readonly #stopForgetting: () => void
  #monitoring: HealthMonitoring | undefined
  #isClosed = false

  constructor(options: A2AGatewayOptions) {
    this.#settings = toSettings(options)
    const { registry, tasks, secrets } = this.#settings
    this.registry = registry
    this.tasks = tasks
    this.#seal = new HandleSeal(secrets)
    this.#affinity = new Affinity(tasks)
    this.#drives = new Drives(this.#settings, this.#affinity)
    this.#affinity.listen()
    const providerOf = (agent: RegisteredAgent): AgentProvider => this.#providerOf(agent)
    this.#resumption = new Resumption(this.#settings, this.#affinity, this.#drives, providerOf)
    registry.setHealthCheck((agent, call) => this.#providerOf(agent).healthCheck(agent, call))
    this.#stopForgetting = registry.onUnregister((agentId) => {
      this.#settings.admission.forget(agentId)
      this.#turns.forget(agentId)
    })
  }

  /**
   * The gateway of a configuration, with its agents, whose health it looks after until it is closed.
   *
   * @throws {A2AError} `INVALID_PARAMS` when an agent has a provider that is not among `providers`; what the constructor and
   *   `register` throw.
   */
  static fromConfig(config: GatewayConfig, options: Omit<A2AGatewayOptions, 'config'>): A2AGateway {
    const gateway = new A2AGateway({ ...options, config: config.gateway })
    for (const [index, input] of config.agents.entries()) {
      const { id, provider } = gateway.registry.register(input)
      if (gateway.#settings.providers.has(provider)) continue
      throw invalidParams(
        `agents[${index}].provider`,
        `of ${id} is missing: pass providers: { ${provider}: … }`,
      )
    }
    gateway.#monitoring = gateway.registry.startHealthMonitoring(config.gateway.healthCheckIntervalMs)
    return gateway
  }

  /**
   * Sends a task, and waits until it has ended, or asks something: then its state is `input-required`, and a message with its
   * `taskId` answers.
   *
   * @returns A copy of the task. One that failed says why in its `message`, with `metadata.retryable`.
   * @throws {A2AError} Before there is a task: `AGENT_NOT_FOUND`, `AGENT_BUSY`, `RATE_LIMITED`, `INVALID_PARAMS`,
   *   `TASK_LIMIT_REACHED`, `PROVIDER_ERROR` when nobody speaks to such agents. Of a `taskId`: `TASK_NOT_FOUND`,
   *   `TASK_TERMINAL`, `UNSUPPORTED_OPERATION` while it is worked on. `TASK_EXPIRED` when it is gone before it has ended.
   */
  async sendTask(agentId: string, input: TaskInput, options: SendTaskOptions = {}): Promise<Task> {
    const { returnImmediately = false, signal } = options
    const { taskId, drive } = this.#send(agentId, input, options, 'send')
    this.#heed(signal, taskId, drive)
    if (!returnImmediately) await Promise.race([drive.done, drive.stopped])
    return this.#copy(taskId, 'TASK_EXPIRED')
  }

  /**
   * Sends a task as {@link sendTask} does, and gives what happens to it, from its creation on. Leaving the loop ends the stream,
   * not the task.
   */
  streamTask(agentId: string, input: TaskInput, options: SendTaskOptions = {}): TaskSubscription {
    const { signal } = options
    const { taskId, drive } = this.#send(agentId, input, options, 'stream')
    this.#heed(signal, taskId, drive)
    const isAnswer = typeof input === 'object' && input.taskId !== undefined
    return this.tasks.subscribe(taskId, isAnswer ? {} : { after: 0 })
  }

  /**
   * The task as it is now, by its id or its handle. One that waits is looked after at its service.
   *
   * @throws {A2AError} `TASK_NOT_FOUND`; with a handle, also what {@link resume} throws.
   */
  async getTask(taskIdOrHandle: string, filter: OwnerFilter = {}): Promise<Task> {
    const taskId = await this.#find(taskIdOrHandle, filter)
    await this.#resumption.look(taskId)
    return this.#copy(taskId, 'TASK_NOT_FOUND')
  }

  /**
   * Cancels a task, by its id or its handle, and has its service stop. Resolves when the service has been told; one that
   * cannot stop is left alone, and one that fails is told of by `onError`.
   *
   * @throws {A2AError} `TASK_NOT_FOUND`; `TASK_NOT_CANCELABLE` when it has ended; with a handle, also what {@link resume} throws.
   */
  async cancelTask(taskIdOrHandle: string, filter: OwnerFilter = {}): Promise<Task> {
    const taskId = await this.#find(taskIdOrHandle, filter)
    const task = this.tasks.cancelTask(taskId)
    await this.#drives.canceled(taskId)
    return task
  }

  /**
   * What happens to a task from now on, or after the cursor `after`: as `subscribe` of its manager, but also by a handle.
   */
  async subscribe(
    taskIdOrHandle: string,
    options: SubscribeOptions & OwnerFilter = {},
  ): Promise<TaskSubscription> {
    const { owner, ...others } = options
    // One that is there but undefined is refused: it would let everybody's tasks through.
    const filter = Object.hasOwn(options, 'owner') ? { owner: owner as string | null } : {}
    return this.tasks.subscribe(await this.#find(taskIdOrHandle, filter), others)
  }

  /**
   * What finds the task again in any process that has the same `handleSecret` and agents: sealed, so that whoever has it
   * can neither read nor change it. `null` as long as its service has not said where it keeps the task.
   *
   * @throws {A2AError} `TASK_NOT_FOUND`.
   */
  async handleOf(taskId: string): Promise<string | null> {
    const task = this.tasks.peekTask(taskId)
    if (task === null) throw taskNotFound(taskId)
    const place = this.#affinity.placeOf(taskId, this.registry)
    if (place === undefined) return null
    const { contextId, owner } = task
    const { id: agentId, provider } = place.agent
    return await this.#seal.seal({
      taskId,
      contextId,
      agentId,
      provider,
      ref: place.ref,
      ...(owner !== undefined && { owner }),
    })
  }

  /**
   * Takes up a task of another process, or of this one before it was restarted, under the id that it had, and follows it.
   * Where `tasks` holds it already, as after `restore`, only the following begins.
   *
   * @returns A copy of the task. What it was asked is not in a handle.
   * @throws {A2AError} `TASK_NOT_FOUND` also for a handle that is not ours; `AGENT_NOT_FOUND`; `UNSUPPORTED_OPERATION` when
   *   its service keeps no tasks; `PROVIDER_ERROR`; `WAIT_TIMED_OUT` when it does not answer within
   *   `cancelTimeoutMs`; `TASK_LIMIT_REACHED`.
   */
  async resume(handle: string, filter: OwnerFilter = {}): Promise<Task> {
    return this.#copy(await this.#find(handle, filter), 'TASK_NOT_FOUND')
  }

  /**
   * Of the agents that are online and have what the task needs, the one with least to do; of several such, the one chosen
   * longest ago. `null` when there is none. What an instruction needs, `extractCapabilities` says.
   */
  findAgentForTask(needs: string | TaskNeeds): RegisteredAgent | null {
    const { extractCapabilities, admission } = this.#settings
    const { capabilities, tags } =
      typeof needs === 'string'
        ? { capabilities: extractCapabilities(needs, this.registry.listOnline()), tags: [] }
        : needs
    const able = this.registry.find({ capabilities, tags, status: 'online' })
    return this.#turns.select(able, (agentId) => admission.loadOf(agentId))
  }

  /** How many tasks the agent works on. */
  loadOf(agentId: string): number {
    return this.#settings.admission.loadOf(agentId)
  }

  /** Which agent has the task, if any has. */
  agentOf(taskId: string): string | null {
    return this.#affinity.agentOf(taskId) ?? null
  }

  /**
   * Takes no new tasks, lets those that are worked on end within `graceMs` (default 10 s), and lets go of the rest: their
   * services go on, and their handles find them. Tasks and manager stay as they are.
   */
  async close({ graceMs = 10_000 }: { readonly graceMs?: number } = {}): Promise<void> {
    this.#isClosed = true
    await this.#drives.close(graceMs, closed())
    this.#affinity.close()
    this.#stopForgetting()
    this.#monitoring?.stop()
  }

  /**
   * For executors: has an agent work on a task that is, or is about to be, in `tasks`. Resolves when the turn is over.
   *
   * @throws {A2AError} At once, and before `open` is called, what {@link sendTask} throws before there is a task.
   */
  workOn(agentId: string, message: TaskSnapshot['messages'][number], options: WorkOptions): Promise<void> {
    const { open, owner, handle, onPlaced } = options
    const { agent, provider, leave } = this.#enter(agentId, owner)
    try {
      const task = this.#snapshot(open())
      const beginning: Beginning =
        handle === undefined
          ? { mode: 'stream', task: this.#ask(task, message, agent) }
          : { mode: 'follow', ref: handle.ref }
      return this.#drives.begin({ agent, provider, taskId: task.id, beginning, leave, onPlaced }).done
    } catch (error) {
      leave()
      throw error
    }
  }

  /** What a handle holds, if its task is the caller's. @throws {A2AError} `TASK_NOT_FOUND`. */
  async openHandle(handle: string, filter: OwnerFilter = {}): Promise<HandleContents> {
    const contents = await this.#seal.open(handle)
    const isTheirs = !Object.hasOwn(filter, 'owner') || (filter.owner ?? undefined) === contents.owner
    // What is in it is nothing to others.
    if (!isTheirs) throw taskNotFound(handle)
    return contents
  }

  #send(
    agentId: string,
    input: TaskInput,
    options: SendTaskOptions,
    mode: 'send' | 'stream',
  ): { taskId: string; drive: Drive } {
    const { id, owner, signal } = read(options, SEND_KEYS, 'sendTask')
    const message = toMessage(input)
    const { contextId, referenceTaskIds } = message
    const { agent, provider, leave } = this.#enter(agentId, owner)
    try {
      const task =
        message.taskId === undefined
          ? this.tasks.createTask({ skill: agent.id, id, owner, contextId, referenceTaskIds })
          : this.#requireWaiting(message.taskId, agentId, owner)
      const metadata = { ...message.metadata, agent_id: agent.id, provider: agent.provider }
      const added = { ...message, metadata, taskId: task.id, contextId: task.contextId }
      const { message: stored } = this.tasks.addMessage(task.id, added)
      // What was asked is answered.
      if (message.taskId !== undefined) this.tasks.patchTask(task.id, { state: 'working', message: null })
      if (signal?.aborted) this.tasks.cancelTask(task.id)
      const beginning = { mode, task: this.#ask(task, stored, agent) }
      return {
        taskId: task.id,
        drive: this.#drives.begin({ agent, provider, taskId: task.id, beginning, leave }),
      }
    } catch (error) {
      leave()
      throw error
    }
  }

  /** @throws {A2AError} `TASK_NOT_FOUND`, `TASK_TERMINAL`, `UNSUPPORTED_OPERATION`, `INVALID_PARAMS`. */
  #requireWaiting(taskId: string, agentId: string, owner: string | undefined): TaskSnapshot {
    const task = this.tasks.peekTask(taskId, owner === undefined ? {} : { owner })
    if (task === null) throw taskNotFound(taskId)
    const { state } = task
    if (isTerminal(state)) {
      const text = `Cannot send a message to a task in terminal state: ${state}`
      throw new A2AError('TASK_TERMINAL', text, { taskId, state })
    }
    const known = this.agentOf(taskId)
    if (known !== agentId) throw invalidParams('agentId', `must be that of the task: ${known ?? 'none'}`)
    if (!isInterrupted(state)) {
      throw new A2AError('UNSUPPORTED_OPERATION', 'The task is being worked on and takes no message now', {
        operation: 'sendTask',
      })
    }
    return task
  }

  /**
   * For executors: whether the agent would take a task now. Nothing counts.
   *
   * @throws {A2AError} What {@link sendTask} throws before there is a task.
   */
  requireRoom(agentId: string, owner?: string): void {
    this.#settings.admission.check({ agent: this.#require(agentId).agent, owner })
  }

  /** @throws {A2AError} why the agent gets no task now. Who is let in leaves. */
  #enter(agentId: string, owner: string | undefined) {
    const { agent, provider } = this.#require(agentId)
    return { agent, provider, leave: this.#settings.admission.enter({ agent, owner }) }
  }

  #require(agentId: string): { readonly agent: RegisteredAgent; readonly provider: AgentProvider } {
    if (this.#isClosed) throw closed()
    const agent = this.registry.get(agentId)
    if (agent === null) throw agentNotFound(agentId)
    if (agent.status !== 'online') throw agentBusy(agentId, `it is not online but ${agent.status}`)
    return { agent, provider: this.#providerOf(agent) }
  }

  #providerOf(agent: RegisteredAgent): AgentProvider {
    const provider = this.#settings.providers.get(agent.provider)
    if (provider !== undefined) return provider
    throw providerError(agent.provider, agent, `No provider for ${agent.provider}: pass it in "providers"`)
  }

  #ask(task: TaskSnapshot | Task, message: TaskSnapshot['messages'][number], agent: RegisteredAgent) {
    const ref = this.#affinity.refAt(agent, task.id)
    const previous = ref === undefined ? this.#affinity.previousOf(task, agent) : undefined
    return toProviderTask(task, message, ref, previous)
  }

  /** Cancels the task when the signal aborts while it is worked on, whether anybody waits for it or not. */
  #heed(signal: AbortSignal | undefined, taskId: string, drive: Drive): void {
    const cancel = (): void => {
      const task = this.tasks.peekTask(taskId)
      if (task !== null && !isTerminal(task.state)) this.tasks.cancelTask(taskId)
    }
    signal?.addEventListener('abort', cancel, { once: true })
    void drive.done.then(() => signal?.removeEventListener('abort', cancel))
  }

  /** The id of a task that is there, whatever it is asked for by. */
  async #find(taskIdOrHandle: string, filter: OwnerFilter): Promise<string> {
    if (!isHandle(taskIdOrHandle)) {
      if (this.tasks.peekTask(taskIdOrHandle, filter) === null) throw taskNotFound(taskIdOrHandle)
      return taskIdOrHandle
    }
    return await this.#resumption.takeUp(await this.openHandle(taskIdOrHandle, filter))
  }

  #snapshot(taskId: string): TaskSnapshot {
    const task = this.tasks.peekTask(taskId)
    if (task === null) {
      throw new TypeError(
        "The task is not in the gateway's tasks: pass createRequestHandler({ tasks: gateway.tasks })",
      )
    }
    return task
  }

  #copy(taskId: string, code: 'TASK_EXPIRED' | 'TASK_NOT_FOUND'): Task {
    const task = this.tasks.getTask(taskId)
    if (task === null) throw code === 'TASK_EXPIRED' ? ended(code, taskId) : taskNotFound(taskId)
    return task
  }
}

function closed(): A2AError<'UNAVAILABLE'> {
  return new A2AError('UNAVAILABLE', 'The gateway is closing down', { reason: 'it is closing down' })
}
