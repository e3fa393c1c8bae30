/**
 * A gateway to agents of any kind.
 *
 * @module
 */
import { ended, invalidParams, taskNotFound } from '../core/errors.js'
import { read } from '../core/validate.js'
import { isTerminal } from '../core/lifecycle.js'
import type { OwnerFilter } from '../core/queries.js'
import type { SubscribeOptions, TaskSubscription } from '../core/subscription.js'
import type { TaskManager } from '../core/task-manager.js'
import type { Task, TaskSnapshot } from '../core/task.js'
import { TaskLocations } from './turns/task-locations.js'
import { AgentSelector, type TaskNeeds } from './admission/agent-selection.js'
import type { RegisteredAgent } from './registry/agent.js'
import { aborted, type TurnStart, type Turn } from './turns/turn.js'
import { Turns } from './turns/turns.js'
import type { GatewayConfig } from './config/types.js'
import type { HealthMonitoring } from './registry/health.js'
import { HandleSeal, isHandle, type HandleContents } from './turns/handle.js'
import {
  requireInterrupted,
  SEND_KEYS,
  toMessage,
  toProviderTask,
  type SendTaskOptions,
  type TaskInput,
} from './turns/input.js'
import { requireConfig, toSettings, type A2AGatewayOptions, type Settings } from './options.js'
import type { TaskRef } from './provider.js'
import type { AgentRegistry } from './registry/registry.js'
import { closed } from './admission/refusals.js'
import { TaskResumer } from './turns/resume.js'

/** Work on a task that is in the gateway's `tasks` already. */
export interface WorkOptions {
  /** Makes the task, or tells which it is: called when the agent has been found to take it. */
  readonly open: () => string
  /** Who is counted for the rate limit. */
  readonly owner?: string | undefined
  /** Follows this task of the service instead of sending the message. */
  readonly handle?: HandleContents | undefined
  /** Aborts when the task is not wanted any more. */
  readonly signal: AbortSignal
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
   * The gateway of a configuration, with its agents, whose health it looks after until it is closed.
   *
   * @throws {A2AError} `PROVIDER_ERROR` when an agent has a provider that is not among `providers`; `INVALID_PARAMS` for settings
   *   that its provider does not take; what the constructor and `register` throw.
   */
  static fromConfig(config: GatewayConfig, options: Omit<A2AGatewayOptions, 'config'>): A2AGateway {
    const { healthCheckIntervalMs, ...settings } = requireConfig(config)
    const gateway = new A2AGateway({ ...options, config: settings })
    try {
      gateway.#selector.registerAll(config.agents)
    } catch (error) {
      // Nobody has it to close it.
      void gateway.close()
      throw error
    }
    gateway.#monitoring = gateway.registry.startHealthMonitoring(healthCheckIntervalMs)
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
    // Nobody waits for the answer whole: what comes of it is seen as it comes.
    const { taskId, turn } = this.#begin(agentId, input, options, returnImmediately ? 'stream' : 'send')
    this.#cancelOnAbort(signal, taskId, turn)
    if (!returnImmediately) await Promise.race([turn.done, turn.stopped])
    return this.#copy(taskId, 'TASK_EXPIRED')
  }

  /**
   * Sends a task as {@link sendTask} does, and gives what happens to it, from its creation on. Leaving the loop ends the stream,
   * not the task.
   */
  streamTask(agentId: string, input: TaskInput, options: SendTaskOptions = {}): TaskSubscription {
    const { signal } = options
    const { taskId, turn } = this.#begin(agentId, input, options, 'stream')
    this.#cancelOnAbort(signal, taskId, turn)
    const isAnswer = typeof input === 'object' && input.taskId !== undefined
    return this.tasks.subscribe(taskId, isAnswer ? {} : { after: 0 })
  }

  /**
   * The task as it is now, by its id or its handle. One that waits is looked after at its service.
   *
   * @throws {A2AError} `TASK_NOT_FOUND`; with a handle, also what {@link resume} throws.
   */
  async getTask(taskIdOrHandle: string, filter: OwnerFilter = {}): Promise<Task> {
    const taskId = await this.#resolveTaskId(taskIdOrHandle, filter)
    await this.#resumer.refresh(taskId)
    return this.#copy(taskId, 'TASK_NOT_FOUND', filter)
  }

  /**
   * Cancels a task, by its id or its handle, and has its service stop. Resolves when the service has been told; one that
   * cannot stop is left alone, and one that fails is told of by `onError`.
   *
   * @throws {A2AError} `TASK_NOT_FOUND`; `TASK_NOT_CANCELABLE` when it has ended; with a handle, also what {@link resume} throws.
   */
  async cancelTask(taskIdOrHandle: string, filter: OwnerFilter = {}): Promise<Task> {
    const taskId = await this.#resolveTaskId(taskIdOrHandle, filter)
    const task = this.tasks.cancelTask(taskId)
    await this.#turns.whenCanceled(taskId)
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
    return this.tasks.subscribe(await this.#resolveTaskId(taskIdOrHandle, filter), others)
  }

  /**
   * What finds the task again in any process that has the same `handleSecret` and agents: sealed, so that whoever has it
   * can neither read nor change it. Waits until the service of a task that has just been sent has said where it keeps it;
   * `null` when it never says.
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
   * Takes up a task of another process, or of this one before it was restarted, under the id that it had, and follows it.
   * Where `tasks` holds it already, as after `restore`, only the following begins.
   *
   * @returns A copy of the task. What it was asked is not in a handle.
   * @throws {A2AError} `TASK_NOT_FOUND` also for a handle that is not ours; `AGENT_NOT_FOUND`; `UNSUPPORTED_OPERATION` when
   *   its service keeps no tasks; `PROVIDER_ERROR`; `WAIT_TIMED_OUT` when it does not answer within
   *   `cancelTimeoutMs`; `TASK_LIMIT_REACHED`.
   */
  async resume(handle: string, filter: OwnerFilter = {}): Promise<Task> {
    this.#turns.requireOpen()
    return this.#copy(await this.#resolveTaskId(handle, filter), 'TASK_NOT_FOUND')
  }

  /**
   * Of the agents that are online and have what the task needs, the one with least to do; of several such, the one chosen
   * longest ago. `null` when there is none. What an instruction needs, `extractCapabilities` says: an instruction that
   * mentions no capability finds nobody.
   */
  findAgentForTask(needs: string | TaskNeeds): RegisteredAgent | null {
    return this.#selector.find(needs)
  }

  /** How many tasks the agent works on. */
  loadOf(agentId: string): number {
    return this.#settings.admission.loadOf(agentId)
  }

  /** Which agent has the task, if any has. */
  agentOf(taskId: string): string | null {
    return this.#locations.agentOf(taskId) ?? null
  }

  /**
   * Takes no new tasks, lets those that are worked on end within `graceMs` (default 10 s), and lets go of the rest: their
   * services go on, and their handles find them. Tasks and manager stay as they are.
   */
  async close({ graceMs = 10_000 }: { readonly graceMs?: number } = {}): Promise<void> {
    await this.#turns.close(graceMs, closed())
    this.#locations.close()
    this.#selector.close()
    this.#monitoring?.stop()
  }

  /**
   * For executors: has an agent work on a task that is, or is about to be, in `tasks`. Resolves when the turn is over, also if
   * another has taken its place; once the gateway is closed, a turn that it let go of is over when `signal` aborts.
   *
   * @throws {A2AError} Before `open` is called, what {@link sendTask} throws before there is a task.
   */
  async workOn(
    agentId: string,
    message: TaskSnapshot['messages'][number],
    { open, owner, handle, onPlaced, signal }: WorkOptions,
  ): Promise<void> {
    // One turn after the other: a task that somebody else has sent may be worked on.
    if (message.taskId !== undefined) await this.#turns.whenIdle(message.taskId)
    this.#turns.requireOpen()
    const { agent, provider, release } = this.#selector.admit(agentId, owner)
    let taskId: string
    try {
      const task = this.#snapshot(open())
      taskId = task.id
      if (isTerminal(task.state)) {
        release()
        return
      }
      // A message to a task that waits is its answer, and not only a way to find it.
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
    // It goes on at its service, and here nobody follows it: it is not over as long as it is wanted.
    const state = this.tasks.stateOf(taskId)
    if (this.#turns.isClosed && (state === 'submitted' || state === 'working')) await aborted(signal)
  }

  /** For executors: what a handle holds, if its task is the caller's. @throws {A2AError} `TASK_NOT_FOUND`. */
  async openHandle(handle: string, filter: OwnerFilter = {}): Promise<HandleContents> {
    const contents = await this.#open(handle, filter)
    const agent = this.registry.get(contents.agentId)
    // Its place means nothing to another kind of service.
    if (agent !== null && agent.provider !== contents.provider) throw taskNotFound(contents.taskId)
    return contents
  }

  async #open(handle: string, filter: OwnerFilter): Promise<HandleContents> {
    const contents = await this.#seal.open(handle)
    const isTheirs = !Object.hasOwn(filter, 'owner') || (filter.owner ?? undefined) === contents.owner
    // What is in it is nothing to others.
    if (!isTheirs) throw taskNotFound(handle.slice(0, 40))
    return contents
  }

  #begin(
    agentId: string,
    input: TaskInput,
    options: SendTaskOptions,
    mode: 'send' | 'stream',
  ): { taskId: string; turn: Turn } {
    const { id, owner, signal } = read(options, SEND_KEYS, 'sendTask')
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
      // What was asked is answered.
      if (message.taskId !== undefined) this.tasks.patchTask(task.id, { state: 'working', message: null })
      if (signal?.aborted) this.tasks.cancelTask(task.id)
      const start = { mode, task: this.#toProviderTask(task, stored, agent) }
      return {
        taskId: task.id,
        turn: this.#turns.begin({ agent, provider, taskId: task.id, start, release }),
      }
    } catch (error) {
      release()
      // Nobody has been told of it, and nobody would end it.
      if (createdId !== undefined && this.tasks.can(createdId, 'rejected'))
        this.tasks.patchTask(createdId, { state: 'rejected' })
      throw error
    }
  }

  /**
   * For executors: whether the agent would take a task now. Nothing counts.
   *
   * @throws {A2AError} What {@link sendTask} throws before there is a task.
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

  /** Cancels the task when the signal aborts while it is worked on, whether anybody waits for it or not. */
  #cancelOnAbort(signal: AbortSignal | undefined, taskId: string, turn: Turn): void {
    const cancel = (): void => {
      const task = this.tasks.peekTask(taskId)
      if (task !== null && !isTerminal(task.state)) this.tasks.cancelTask(taskId)
    }
    signal?.addEventListener('abort', cancel, { once: true })
    void turn.done.then(() => signal?.removeEventListener('abort', cancel))
  }

  /** The id of a task that is there, whatever it is asked for by. */
  async #resolveTaskId(taskIdOrHandle: string, filter: OwnerFilter): Promise<string> {
    if (!isHandle(taskIdOrHandle)) {
      if (this.tasks.peekTask(taskIdOrHandle, filter) === null) throw taskNotFound(taskIdOrHandle)
      return taskIdOrHandle
    }
    return await this.#resumer.resume(await this.#open(taskIdOrHandle, filter))
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

  #copy(taskId: string, code: 'TASK_EXPIRED' | 'TASK_NOT_FOUND', filter: OwnerFilter = {}): Task {
    const isThere = this.tasks.peekTask(taskId, filter) !== null
    const task = isThere ? this.tasks.getTask(taskId) : null
    if (task === null) throw code === 'TASK_EXPIRED' ? ended(code, taskId) : taskNotFound(taskId)
    return task
  }
}
