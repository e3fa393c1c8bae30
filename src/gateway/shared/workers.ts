/**
 * Leases of the tasks that a gateway follows: one worker for each agent, so that a process which has the agent recovers them.
 *
 * @module
 */
import { isTerminal } from '../../core/lifecycle.js'
import type { LeasedTasks, SharedTasks } from '../../core/managers.js'
import type { JsonValue } from '../../core/json-types.js'
import type { TaskSnapshot } from '../../core/task.js'
import type { AgentRegistry } from '../registry/registry.js'

interface WorkersListener {
  /** Whether the gateway can follow one more task of the agent, whose process has died. */
  readonly hasRoom: (agentId: string) => boolean
  /** The process that followed the task has died, and its lease is held here. */
  readonly onOrphan: (agentId: string, task: TaskSnapshot, note: JsonValue | undefined) => void
  /** Another process has ended a task that is held here. */
  readonly onEnded: (taskId: string) => void
}

export class Workers {
  readonly #tasks: SharedTasks
  readonly #listener: WorkersListener
  readonly #leases = new Map<string, LeasedTasks>()
  readonly #stopListening: () => void

  constructor(tasks: SharedTasks, registry: AgentRegistry, listener: WorkersListener) {
    this.#tasks = tasks
    this.#listener = listener
    for (const { id } of registry.list()) this.of(id)
    this.#stopListening = registry.onRegister((agentId) => this.of(agentId))
  }

  /** The leases of the tasks of an agent. */
  of(agentId: string): LeasedTasks {
    const known = this.#leases.get(agentId)
    if (known !== undefined) return known
    const { hasRoom, onOrphan, onEnded } = this.#listener
    const leased = this.#tasks.lease({
      worker: `gateway/${agentId}`,
      onNews: (task) => {
        if (isTerminal(task.state)) onEnded(task.id)
      },
      // The signal of the task reports the loss.
      onLost: () => undefined,
      onOrphan: (task, note) => onOrphan(agentId, task, note),
      hasRoom: () => hasRoom(agentId),
    })
    this.#leases.set(agentId, leased)
    return leased
  }

  /** Hands the tasks that are still held here over to other processes. */
  async close(): Promise<void> {
    this.#stopListening()
    await Promise.all(Array.from(this.#leases.values(), (leased) => leased.close()))
  }
}
