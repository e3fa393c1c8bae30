/**
 * Locations of tasks: the agent of each task, and the service's ids for it.
 *
 * @module
 */
import type { TaskManager } from '../../core/task-manager.js'
import type { TaskSnapshot } from '../../core/task.js'
import type { RegisteredAgent } from '../registry/agent.js'
import type { TaskRef } from '../provider.js'
import type { AgentRegistry } from '../registry/registry.js'
import type { TurnPlace } from './turns.js'

/** The location of one task. A later task with the same id has a different object. */
export interface TaskLocation {
  agentId: string
  /** The agent's provider when it got the task. The `ref` is meaningless to any other. */
  provider: string
  /** Absent until the service reports it. */
  ref: TaskRef | undefined
}

/** Number of tasks of a context that are searched for the conversation to continue. */
const MAX_SEARCHED = 20

/** Locations by task id. A location is removed when the manager removes its task. */
export class TaskLocations {
  readonly #tasks: TaskManager
  readonly #locations = new Map<string, TaskLocation>()

  constructor(tasks: TaskManager) {
    this.#tasks = tasks
  }

  /** Starts to remove locations. Listeners that need the location of a removed task subscribe before this call. */
  listen(): void {
    this.#tasks.on('task:expired', this.#forget)
    this.#tasks.on('task:evicted', this.#forget)
  }

  /** Returns the id of the task's agent. */
  agentOf(taskId: string): string | undefined {
    return this.#locations.get(taskId)?.agentId
  }

  /** Returns the task's agent and its `ref`, if both are known. */
  find(
    taskId: string,
    registry: AgentRegistry,
  ): { readonly agent: RegisteredAgent; readonly ref: TaskRef } | undefined {
    const agent = registry.get(this.agentOf(taskId) ?? '')
    const ref = agent === null ? undefined : this.refOf(agent, taskId)
    return agent === null || ref === undefined ? undefined : { agent, ref }
  }

  /** Returns the task's `ref` at this agent's service, if the service has reported it. */
  refOf({ id, provider }: RegisteredAgent, taskId: string): TaskRef | undefined {
    const location = this.#locations.get(taskId)
    return location?.agentId === id && location.provider === provider ? location.ref : undefined
  }

  /** Returns the location of the task, at whichever agent. */
  get(taskId: string): TaskLocation | undefined {
    return this.#locations.get(taskId)
  }

  /** Assigns the task to the agent. Without a `ref`, the one that the same agent reported before stays. */
  set(taskId: string, agent: RegisteredAgent, ref = this.refOf(agent, taskId)): TaskLocation {
    const location = Object.assign(this.#locations.get(taskId) ?? {}, {
      agentId: agent.id,
      provider: agent.provider,
      ref,
    })
    this.#locations.set(taskId, location)
    return location
  }

  /** Assigns the task to the agent for a turn. */
  placeOf(taskId: string, agent: RegisteredAgent): TurnPlace {
    const tasks = this.#tasks
    const location = this.set(taskId, agent)
    return {
      tasks,
      signals: tasks.stateOf(taskId) === null ? [] : [tasks.signalOf(taskId)],
      locate: (ref) => {
        // The task may be gone, and another task may have its id.
        if (tasks.stateOf(taskId) === null || this.#locations.get(taskId) !== location) return false
        this.set(taskId, agent, ref)
        return true
      },
    }
  }

  /**
   * Returns the `ref` of the latest task in the same context, of the same agent and owner: the conversation to
   * continue.
   */
  previousOf({ contextId, owner }: TaskSnapshot, agent: RegisteredAgent): TaskRef | undefined {
    const { tasks } = this.#tasks.pageTasks({ contextId, owner: owner ?? null, pageSize: MAX_SEARCHED })
    return tasks.map(({ id }) => this.refOf(agent, id)).find((ref) => ref !== undefined)
  }

  /** Stops removing locations. The known ones stay, since handles are built from them. */
  close(): void {
    this.#tasks.off('task:expired', this.#forget)
    this.#tasks.off('task:evicted', this.#forget)
  }

  readonly #forget = ({ id }: TaskSnapshot): void => {
    this.#locations.delete(id)
  }
}
