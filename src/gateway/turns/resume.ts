/**
 * Resumption of tasks by handle, and refresh of interrupted ones from their service.
 *
 * @module
 */
import { A2AError, taskNotFound } from '../../core/errors.js'
import { isTerminal } from '../../core/lifecycle.js'
import type { TaskManager } from '../../core/task-manager.js'
import type { TaskLocations } from './task-locations.js'
import type { RegisteredAgent } from '../registry/agent.js'
import type { AgentWithProvider } from '../admission/agent-selection.js'
import { requireUpdate } from './apply-update.js'
import { SharedAttempts } from './shared-attempts.js'
import { cancelAt, withCancelTimeout } from './turn.js'
import type { Turns } from './turns.js'
import type { HandleContents } from './handle.js'
import type { Settings } from '../options.js'
import type { AgentRegistry } from '../registry/registry.js'
import type { AgentProvider, TaskRef, TaskUpdate } from '../provider.js'
import { agentNotFound } from '../admission/refusals.js'

export class TaskResumer {
  readonly #settings: Settings
  readonly #tasks: TaskManager
  readonly #locations: TaskLocations
  readonly #turns: Turns
  readonly #providerOf: (agent: RegisteredAgent) => AgentProvider
  readonly #attempts = new SharedAttempts()

  constructor(
    settings: Settings,
    tasks: TaskManager,
    locations: TaskLocations,
    turns: Turns,
    providerOf: (agent: RegisteredAgent) => AgentProvider,
  ) {
    this.#settings = settings
    this.#tasks = tasks
    this.#locations = locations
    this.#turns = turns
    this.#providerOf = providerOf
  }

  /**
   * Resumes a task and returns its id. Concurrent calls for one task share one attempt.
   *
   * @throws {A2AError} as `A2AGateway.resume`.
   */
  async resume(contents: HandleContents): Promise<string> {
    const { taskId } = contents
    await this.#attempts.run(taskId, () => this.#resume(contents))
    // Handles of several owners may have the same task id, and their calls share the attempt.
    if (this.#tasks.peekTask(taskId)?.owner !== contents.owner) throw taskNotFound(taskId)
    return taskId
  }

  /**
   * Polls the service of an interrupted task, which may have been answered elsewhere. Failures of the service leave the
   * task unchanged.
   */
  async refresh(taskId: string): Promise<void> {
    const { registry, onError } = this.#settings
    const tasks = this.#tasks
    const found = this.#locations.find(taskId, registry)
    const location = this.#locations.get(taskId)
    const before = tasks.peekTask(taskId)
    if (!before || isTerminal(before.state) || found === undefined) return
    // A running turn follows the task already; a closed gateway follows none.
    if (this.#turns.has(taskId) || this.#turns.isClosed) return
    const { agent, ref } = found
    try {
      const target = { agent, provider: this.#providerOf(agent) }
      const update = await fetchUpdate(this.#settings, target, taskId, ref)
      // During the request, another task may have got the id.
      if (this.#locations.get(taskId) !== location || this.#turns.has(taskId)) return
      const hasChanged = tasks.peekTask(taskId)?.generation !== before.generation
      if (hasChanged || update.state === undefined || update.state === before.state) return
      this.#follow(target, taskId, update, ref)
    } catch (error) {
      if (A2AError.is(error, 'UNSUPPORTED_OPERATION')) return
      onError(error, { during: 'getTask', taskId, agentId: agent.id })
    }
  }

  async #resume({ taskId, contextId, agentId, provider: name, ref, owner }: HandleContents): Promise<void> {
    const tasks = this.#tasks
    const known = tasks.peekTask(taskId)
    if (known !== null) {
      if (known.owner !== owner) throw taskNotFound(taskId)
      if (this.#locations.agentOf(taskId) !== undefined || isTerminal(known.state)) return
    }
    this.#turns.requireOpen()
    const target = resolveTarget(this.#settings.registry, this.#providerOf, taskId, agentId, name)
    const { agent } = target
    // The location is removed together with the task, so it identifies this task even if another gets the id.
    const location = known === null ? undefined : this.#locations.set(taskId, agent)
    const update = await fetchUpdate(this.#settings, target, taskId, ref)
    // The gateway may have been closed during the request.
    this.#turns.requireOpen()
    if (known === null && tasks.stateOf(taskId) === null) {
      tasks.createTask({ skill: agentId, id: taskId, contextId, owner })
    } else if (known === null || this.#locations.get(taskId) !== location) throw taskNotFound(taskId)
    const state = tasks.stateOf(taskId)
    if (state === null) throw taskNotFound(taskId)
    if (!isTerminal(state)) this.#follow(target, taskId, update, ref)
    // The task ended here during the request.
    else if (!isTerminalUpdate(update)) await cancelAt(this.#settings, agent, target.provider, taskId, ref)
  }

  /** Applies the service's answer, and follows the task if it continues. */
  #follow({ agent, provider }: AgentWithProvider, taskId: string, known: TaskUpdate, ref: TaskRef): void {
    const place = this.#locations.placeOf(taskId, agent)
    this.#turns.begin({ agent, provider, taskId, place, start: { mode: 'follow', ref, known } })
  }
}

/** @throws {A2AError} `AGENT_NOT_FOUND`; `TASK_NOT_FOUND`; `PROVIDER_ERROR` when the gateway does not have the provider. */
export function resolveTarget(
  registry: AgentRegistry,
  providerOf: (agent: RegisteredAgent) => AgentProvider,
  taskId: string,
  agentId: string,
  providerName: string,
): AgentWithProvider {
  const agent = registry.get(agentId)
  if (agent === null) throw agentNotFound(agentId)
  // A `ref` is meaningless to a different kind of service.
  if (agent.provider !== providerName) throw taskNotFound(taskId)
  return { agent, provider: providerOf(agent) }
}

/** @throws {A2AError} `PROVIDER_ERROR`, also for an answer that is not an update; `WAIT_TIMED_OUT`. */
export async function fetchUpdate(
  settings: Settings,
  { agent, provider }: AgentWithProvider,
  taskId: string,
  ref: TaskRef,
): Promise<TaskUpdate> {
  const update = await withCancelTimeout(settings, taskId, (signal) =>
    provider.getTask(agent, ref, { signal }),
  )
  requireUpdate(update, agent)
  return update
}

export function isTerminalUpdate({ state }: TaskUpdate): boolean {
  return state !== undefined && isTerminal(state)
}
