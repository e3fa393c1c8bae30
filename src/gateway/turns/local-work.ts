/**
 * Work on tasks in memory.
 *
 * @module
 */
import { invalidParams } from '../../core/errors.js'
import { isTerminal } from '../../core/lifecycle.js'
import type { MessageInput } from '../../core/params.js'
import type { TaskManager } from '../../core/task-manager.js'
import type { Task, TaskSnapshot } from '../../core/task.js'
import type { AgentSelector } from '../admission/agent-selection.js'
import { closed } from '../admission/refusals.js'
import type { Settings } from '../options.js'
import type { ProviderTask, TaskRef } from '../provider.js'
import type { RegisteredAgent } from '../registry/agent.js'
import type { HandleContents } from './handle.js'
import {
  requireInterrupted,
  requireTask,
  toProviderTask,
  type SendTaskOptions,
  type WorkOptions,
} from './input.js'
import { TaskResumer } from './resume.js'
import { TaskLocations } from './task-locations.js'
import { cancelAt, type TurnStart } from './turn.js'
import { Turns } from './turns.js'
import type { BegunTurn, LocatedTask, Work } from './work.js'

export class LocalWork implements Work {
  readonly turns: Turns
  readonly #settings: Settings
  readonly #tasks: TaskManager
  readonly #selector: AgentSelector
  readonly #locations: TaskLocations
  readonly #resumer: TaskResumer

  constructor(settings: Settings, tasks: TaskManager, selector: AgentSelector) {
    this.#settings = settings
    this.#tasks = tasks
    this.#selector = selector
    this.#locations = new TaskLocations(tasks)
    this.turns = new Turns(settings, (taskId) => this.#cancelWaiting(taskId))
    this.#locations.listen()
    this.#resumer = new TaskResumer(settings, tasks, this.#locations, this.turns, selector.providerOf)
  }

  begin(
    agentId: string,
    message: MessageInput,
    { id, owner, signal }: SendTaskOptions,
    mode: 'send' | 'stream',
  ): BegunTurn {
    const { contextId, referenceTaskIds, taskId: known } = message
    const tasks = this.#tasks
    this.turns.requireOpen()
    const { agent, provider, release } = this.#selector.admit(agentId, owner)
    let createdId: string | undefined
    try {
      const task =
        known === undefined
          ? tasks.createTask({ skill: agent.id, id, owner, contextId, referenceTaskIds })
          : requireInterrupted(tasks.peekTask(known, owner === undefined ? {} : { owner }), known)
      if (known === undefined) createdId = task.id
      else requireAgent(agentId, this.agentOf(task.id))
      const metadata = { ...message.metadata, agent_id: agent.id, provider: agent.provider }
      const added = { ...message, metadata, taskId: task.id, contextId: task.contextId }
      const { message: stored } = tasks.addMessage(task.id, added)
      // The answer ends the interruption.
      if (known !== undefined) tasks.patchTask(task.id, { state: 'working', message: null })
      if (signal?.aborted) tasks.cancelTask(task.id)
      const start = { mode, task: this.#toProviderTask(task, stored, agent) }
      const place = this.#locations.placeOf(task.id, agent)
      const turn = this.turns.begin({ agent, provider, taskId: task.id, place, start, release })
      return { taskId: task.id, turn }
    } catch (error) {
      release()
      // The caller never receives this task's id, so the task has to end here.
      if (createdId !== undefined && tasks.can(createdId, 'rejected'))
        tasks.patchTask(createdId, { state: 'rejected' })
      throw error
    }
  }

  stored(): undefined {
    return undefined
  }

  async workOn(
    agentId: string,
    message: TaskSnapshot['messages'][number],
    { open, owner, handle, onPlaced, signal }: WorkOptions,
  ): Promise<void> {
    // Turns of a task run one after the other, and another caller may have sent one.
    if (message.taskId !== undefined) await this.turns.whenIdle(message.taskId)
    this.turns.requireOpen()
    const { agent, provider, release } = this.#selector.admit(agentId, owner)
    let taskId: string
    try {
      const task = requireTask(this.#tasks, open())
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
      const place = this.#locations.placeOf(taskId, agent)
      this.turns.begin({ agent, provider, taskId, place, start, release, onLocated: onPlaced })
    } catch (error) {
      release()
      throw error
    }
    await this.turns.whenOver(taskId, () => this.#tasks.stateOf(taskId), signal)
  }

  cancelLive(taskId: string): void {
    const task = this.#tasks.peekTask(taskId)
    if (task !== null && !isTerminal(task.state)) this.#tasks.cancelTask(taskId)
  }

  resume(contents: HandleContents): Promise<string> {
    return this.#resumer.resume(contents)
  }

  refresh(taskId: string): Promise<void> {
    return this.#resumer.refresh(taskId)
  }

  locate({ id }: TaskSnapshot): LocatedTask | undefined {
    return this.#locations.find(id, this.#settings.registry)
  }

  agentOf(taskId: string): string | undefined {
    return this.#locations.agentOf(taskId)
  }

  readAgentOf(taskId: string): string | undefined {
    return this.agentOf(taskId)
  }

  async close(graceMs: number): Promise<void> {
    await this.turns.close(graceMs, closed())
    this.#locations.close()
  }

  /** Cancels an interrupted task, which has no turn here. */
  #cancelWaiting(taskId: string): Promise<unknown> | undefined {
    const { registry, providers } = this.#settings
    const location = this.#locations.find(taskId, registry)
    const provider = providers.get(location?.agent.provider ?? '')
    if (location === undefined || provider === undefined) return undefined
    return cancelAt(this.#settings, location.agent, provider, taskId, location.ref)
  }

  #toProviderTask(
    task: TaskSnapshot | Task,
    message: TaskSnapshot['messages'][number],
    agent: RegisteredAgent,
    handleRef?: TaskRef,
  ): ProviderTask {
    const ref = this.#locations.refOf(agent, task.id) ?? handleRef
    const previous = ref === undefined ? this.#locations.previousOf(task, agent) : undefined
    return toProviderTask(task, message, ref, previous)
  }
}

/** @throws {A2AError} `INVALID_PARAMS` when the task is with another agent. */
export function requireAgent(agentId: string, known: string | undefined): void {
  if (known !== agentId) throw invalidParams('agentId', `must be that of the task: ${known ?? 'none'}`)
}
