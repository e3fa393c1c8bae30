/**
 * Which agent has which task, and where its service keeps it.
 *
 * @module
 */
import type { TaskManager } from '../../core/task-manager.js'
import type { TaskSnapshot } from '../../core/task.js'
import type { RegisteredAgent } from '../registry/agent.js'
import type { TaskRef } from '../provider.js'
import type { AgentRegistry } from '../registry/registry.js'

/** Of one task: another that has its id later has another place. */
export interface TaskLocation {
  agentId: string
  /** The kind of the agent's service when it got the task: what `ref` means to no other. */
  provider: string
  /** Absent as long as the service has not said. */
  ref: TaskRef | undefined
}

/** How many tasks of a context are looked through for the conversation to go on with. */
const MAX_SEARCHED = 20

/** Forgets a task when the manager does. */
export class TaskLocations {
  readonly #tasks: TaskManager
  readonly #locations = new Map<string, TaskLocation>()

  constructor(tasks: TaskManager) {
    this.#tasks = tasks
  }

  /** Forgets from now on. Whoever wants to know where a task was that has gone listens before. */
  listen(): void {
    this.#tasks.on('task:expired', this.#forget)
    this.#tasks.on('task:evicted', this.#forget)
  }

  /** The id of the agent that has the task. */
  agentOf(taskId: string): string | undefined {
    return this.#locations.get(taskId)?.agentId
  }

  /** The agent that has the task, and where its service keeps it, if both are known. */
  find(
    taskId: string,
    registry: AgentRegistry,
  ): { readonly agent: RegisteredAgent; readonly ref: TaskRef } | undefined {
    const agent = registry.get(this.agentOf(taskId) ?? '')
    const ref = agent === null ? undefined : this.refOf(agent, taskId)
    return agent === null || ref === undefined ? undefined : { agent, ref }
  }

  /** Where the agent's service keeps the task, if it has said. */
  refOf({ id, provider }: RegisteredAgent, taskId: string): TaskRef | undefined {
    const location = this.#locations.get(taskId)
    return location?.agentId === id && location.provider === provider ? location.ref : undefined
  }

  /** The place of the task, whoever has it. */
  get(taskId: string): TaskLocation | undefined {
    return this.#locations.get(taskId)
  }

  /** The agent has the task. Without a `ref`, what its service has said before is still good. */
  set(taskId: string, agent: RegisteredAgent, ref = this.refOf(agent, taskId)): TaskLocation {
    const location = Object.assign(this.#locations.get(taskId) ?? {}, {
      agentId: agent.id,
      provider: agent.provider,
      ref,
    })
    this.#locations.set(taskId, location)
    return location
  }

  /** Of a task without a place: that of the latest before it in its context, of the same agent and owner, to go on with. */
  previousOf({ contextId, owner }: TaskSnapshot, agent: RegisteredAgent): TaskRef | undefined {
    const { tasks } = this.#tasks.pageTasks({ contextId, owner: owner ?? null, pageSize: MAX_SEARCHED })
    return tasks.map(({ id }) => this.refOf(agent, id)).find((ref) => ref !== undefined)
  }

  /** What is known is still good: handles are made of it. */
  close(): void {
    this.#tasks.off('task:expired', this.#forget)
    this.#tasks.off('task:evicted', this.#forget)
  }

  readonly #forget = ({ id }: TaskSnapshot): void => {
    this.#locations.delete(id)
  }
}
