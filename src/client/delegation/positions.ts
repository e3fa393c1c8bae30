/**
 * Positions of delegated tasks, and the tasks that are delegated in memory.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import { isTerminal } from '../../core/lifecycle.js'
import type { JsonObject } from '../../core/json-types.js'
import type { LocalTasks, MaybePromise, SharedTasks, SyncTasks } from '../../core/managers.js'
import type { RunHandle } from '../../remote/runner.js'

/** A manager that clients keep tasks in. */
export type ClientTasks = LocalTasks | SharedTasks

/** An agent, by its name in `agents`, its URL, its card, or the name of its client. */
export type AgentReference = string | { readonly card: JsonObject } | { readonly client: string }

/** How far a delegation has come. */
export interface Position {
  readonly agent: AgentReference
  /** The run at the agent. Its `messageId` is that of the first message. */
  readonly handle: RunHandle
  /** The id of the last answer of the user that was given to the agent. */
  readonly answerId?: string | undefined
  /** Whether the agent has yet to show that it has the last message. */
  readonly isUnconfirmed?: boolean | undefined
}

/** A task that this process delegates now. */
export interface DelegatedTask {
  readonly id: string
  /** For changes of the task. */
  readonly tasks: SyncTasks
  /** How far the delegation has come, in an earlier process too. */
  readonly position: Position | undefined
  /** Aborts when the task ends for others, or with a `RunAbandoned` when this process no longer has it. */
  readonly signal: AbortSignal
  save(position: Position): Promise<void>
  forget(): Promise<void>
  /** Resolves when the changes of the task are stored, or another process continues with it. Never rejects. */
  release(): Promise<void>
}

export interface Delegations {
  /** @throws {A2AError} `UNSUPPORTED_OPERATION` if another process works on the task; `TASK_NOT_FOUND`; `TASK_TERMINAL`. */
  begin(taskId: string, agent: AgentReference): MaybePromise<DelegatedTask>
}

/** Delegations of tasks in memory. Positions live as long as their client. */
export class LocalDelegations implements Delegations {
  readonly #tasks: LocalTasks
  readonly #positions = new Map<string, Position>()

  constructor(tasks: LocalTasks) {
    this.#tasks = tasks
  }

  begin(id: string): DelegatedTask {
    const positions = this.#positions
    return {
      id,
      tasks: this.#tasks,
      get position() {
        return positions.get(id)
      },
      signal: this.#tasks.signalOf(id),
      save: (position) => Promise.resolve(void positions.set(id, position)),
      forget: () => Promise.resolve(void positions.delete(id)),
      release: () => {
        this.#forgetEnded()
        return Promise.resolve()
      },
    }
  }

  /** Forgets tasks that have ended or were deleted. */
  #forgetEnded(): void {
    for (const id of this.#positions.keys()) {
      const task = this.#tasks.peekTask(id)
      if (task === null || isTerminal(task.state)) this.#positions.delete(id)
    }
  }
}

export function inProgress(taskId: string, by = 'with an agent already'): A2AError<'UNSUPPORTED_OPERATION'> {
  return new A2AError('UNSUPPORTED_OPERATION', `Task ${taskId} is ${by}`, { operation: 'sendTask' })
}
