/**
 * Resumption of tasks by handle, and refresh of interrupted ones from their service.
 *
 * @module
 */
import { A2AError, taskNotFound } from '../../core/errors.js'
import { isTerminal } from '../../core/lifecycle.js'
import type { TaskLocations } from './task-locations.js'
import type { RegisteredAgent } from '../registry/agent.js'
import type { AgentWithProvider } from '../admission/agent-selection.js'
import { requireUpdate } from './apply-update.js'
import { cancelAt, withCancelTimeout } from './turn.js'
import type { Turns } from './turns.js'
import type { HandleContents } from './handle.js'
import type { Settings } from '../options.js'
import type { AgentProvider, TaskRef, TaskUpdate } from '../provider.js'
import { agentNotFound } from '../admission/refusals.js'

export class TaskResumer {
  readonly #settings: Settings
  readonly #locations: TaskLocations
  readonly #turns: Turns
  readonly #providerOf: (agent: RegisteredAgent) => AgentProvider
  readonly #resuming = new Map<string, Promise<void>>()

  constructor(
    settings: Settings,
    locations: TaskLocations,
    turns: Turns,
    providerOf: (agent: RegisteredAgent) => AgentProvider,
  ) {
    this.#settings = settings
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
    const resumed = this.#resuming.get(taskId) ?? this.#resume(contents)
    this.#resuming.set(taskId, resumed)
    try {
      await resumed
    } finally {
      this.#resuming.delete(taskId)
    }
    // Handles of several owners may have the same task id, and their calls share the attempt.
    if (this.#settings.tasks.peekTask(taskId)?.owner !== contents.owner) throw taskNotFound(taskId)
    return taskId
  }

  /**
   * Polls the service of an interrupted task, which may have been answered elsewhere. Failures of the service leave the
   * task unchanged.
   */
  async refresh(taskId: string): Promise<void> {
    const { registry, onError, tasks } = this.#settings
    const found = this.#locations.find(taskId, registry)
    const location = this.#locations.get(taskId)
    const before = tasks.peekTask(taskId)
    if (!before || isTerminal(before.state) || found === undefined) return
    // A running turn follows the task already; a closed gateway follows none.
    if (this.#turns.has(taskId) || this.#turns.isClosed) return
    const { agent, ref } = found
    try {
      const target = { agent, provider: this.#providerOf(agent) }
      const update = await this.#fetch(target, taskId, ref)
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
    const { tasks } = this.#settings
    const known = tasks.peekTask(taskId)
    if (known !== null) {
      if (known.owner !== owner) throw taskNotFound(taskId)
      if (this.#locations.agentOf(taskId) !== undefined || isTerminal(known.state)) return
    }
    this.#turns.requireOpen()
    const target = this.#resolve(taskId, agentId, name)
    const { agent } = target
    // The location is removed together with the task, so it identifies this task even if another gets the id.
    const location = known === null ? undefined : this.#locations.set(taskId, agent)
    const update = await this.#fetch(target, taskId, ref)
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

  #resolve(taskId: string, agentId: string, providerName: string): AgentWithProvider {
    const agent = this.#settings.registry.get(agentId)
    if (agent === null) throw agentNotFound(agentId)
    // A `ref` is meaningless to a different kind of service.
    if (agent.provider !== providerName) throw taskNotFound(taskId)
    return { agent, provider: this.#providerOf(agent) }
  }

  /** Applies the service's answer, and follows the task if it continues. */
  #follow({ agent, provider }: AgentWithProvider, taskId: string, known: TaskUpdate, ref: TaskRef): void {
    this.#turns.begin({ agent, provider, taskId, start: { mode: 'follow', ref, known } })
  }

  /** @throws {A2AError} `PROVIDER_ERROR`, also for an answer that is not an update. */
  async #fetch({ agent, provider }: AgentWithProvider, taskId: string, ref: TaskRef): Promise<TaskUpdate> {
    const update = await withCancelTimeout(this.#settings, taskId, (signal) =>
      provider.getTask(agent, ref, { signal }),
    )
    requireUpdate(update, agent)
    return update
  }
}

function isTerminalUpdate({ state }: TaskUpdate): boolean {
  return state !== undefined && isTerminal(state)
}
