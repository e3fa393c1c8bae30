/**
 * Tasks that are taken up again: by a handle, or by a look at what waits.
 *
 * @module
 */
import { A2AError, taskNotFound } from '../../core/errors.js'
import { isTerminal } from '../../core/lifecycle.js'
import type { Affinity } from './task-locations.js'
import type { RegisteredAgent } from '../registry/agent.js'
import type { Reached } from '../admission/agent-selection.js'
import { requireUpdate } from './apply-update.js'
import { cancelAt, within } from './turn.js'
import type { Drives } from './turns.js'
import type { HandleContents } from './handle.js'
import type { Settings } from '../options.js'
import type { AgentProvider, TaskRef, TaskUpdate } from '../provider.js'
import { agentNotFound } from '../admission/refusals.js'

export class Resumption {
  readonly #settings: Settings
  readonly #affinity: Affinity
  readonly #drives: Drives
  readonly #providerOf: (agent: RegisteredAgent) => AgentProvider
  readonly #going = new Map<string, Promise<void>>()

  constructor(
    settings: Settings,
    affinity: Affinity,
    drives: Drives,
    providerOf: (agent: RegisteredAgent) => AgentProvider,
  ) {
    this.#settings = settings
    this.#affinity = affinity
    this.#drives = drives
    this.#providerOf = providerOf
  }

  /** Those who take up the same task at the same time get one. @throws {A2AError} as `A2AGateway.resume`. */
  async takeUp(contents: HandleContents): Promise<string> {
    const { taskId } = contents
    const going = this.#going.get(taskId) ?? this.#takeUp(contents)
    this.#going.set(taskId, going)
    try {
      await going
    } finally {
      this.#going.delete(taskId)
    }
    // One id may be in the handles of several owners: the others have gone along.
    if (this.#settings.tasks.peekTask(taskId)?.owner !== contents.owner) throw taskNotFound(taskId)
    return taskId
  }

  /** What waits may have been answered elsewhere. Whatever is wrong with the service, the task is what it is. */
  async look(taskId: string): Promise<void> {
    const { registry, onError, tasks } = this.#settings
    const place = this.#affinity.placeOf(taskId, registry)
    const own = this.#affinity.of(taskId)
    const before = tasks.peekTask(taskId)
    if (!before || isTerminal(before.state) || place === undefined) return
    // Somebody follows it, or nobody could.
    if (this.#drives.has(taskId) || this.#drives.isClosed) return
    const { agent, ref } = place
    try {
      const reached = { agent, provider: this.#providerOf(agent) }
      const update = await this.#ask(reached, taskId, ref)
      // Another task may have the id by now.
      if (this.#affinity.of(taskId) !== own || this.#drives.has(taskId)) return
      const hasChanged = tasks.peekTask(taskId)?.generation !== before.generation
      if (hasChanged || update.state === undefined || update.state === before.state) return
      this.#follow(reached, taskId, update, ref)
    } catch (error) {
      if (A2AError.is(error, 'UNSUPPORTED_OPERATION')) return
      onError(error, { during: 'getTask', taskId, agentId: agent.id })
    }
  }

  async #takeUp({ taskId, contextId, agentId, provider: name, ref, owner }: HandleContents): Promise<void> {
    const { tasks } = this.#settings
    const known = tasks.peekTask(taskId)
    if (known !== null) {
      if (known.owner !== owner) throw taskNotFound(taskId)
      if (this.#affinity.agentOf(taskId) !== undefined || isTerminal(known.state)) return
    }
    this.#drives.requireOpen()
    const reached = this.#reach(taskId, agentId, name)
    const { agent } = reached
    // What is forgotten with the task, and not known of another that gets its id.
    const own = known === null ? undefined : this.#affinity.set(taskId, agent)
    const update = await this.#ask(reached, taskId, ref)
    // It may have been closed meanwhile.
    this.#drives.requireOpen()
    if (known === null && tasks.stateOf(taskId) === null) {
      tasks.createTask({ skill: agentId, id: taskId, contextId, owner })
    } else if (known === null || this.#affinity.of(taskId) !== own) throw taskNotFound(taskId)
    const state = tasks.stateOf(taskId)
    if (state === null) throw taskNotFound(taskId)
    if (!isTerminal(state)) this.#follow(reached, taskId, update, ref)
    // It has ended here while its service was asked.
    else if (!hasEnded(update)) await cancelAt(this.#settings, agent, reached.provider, taskId, ref)
  }

  #reach(taskId: string, agentId: string, providerName: string): Reached {
    const agent = this.#settings.registry.get(agentId)
    if (agent === null) throw agentNotFound(agentId)
    // Its place means nothing to another kind of service.
    if (agent.provider !== providerName) throw taskNotFound(taskId)
    return { agent, provider: this.#providerOf(agent) }
  }

  /** Takes in what the service has said, and follows the task if it goes on. */
  #follow({ agent, provider }: Reached, taskId: string, seen: TaskUpdate, ref: TaskRef): void {
    this.#drives.begin({ agent, provider, taskId, beginning: { mode: 'follow', ref, seen } })
  }

  /** @throws {A2AError} `PROVIDER_ERROR` also for what is no answer. */
  async #ask({ agent, provider }: Reached, taskId: string, ref: TaskRef): Promise<TaskUpdate> {
    const update = await within(this.#settings, taskId, (signal) => provider.getTask(agent, ref, { signal }))
    requireUpdate(update, agent)
    return update
  }
}

function hasEnded({ state }: TaskUpdate): boolean {
  return state !== undefined && isTerminal(state)
}
