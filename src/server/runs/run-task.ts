/**
 * A run's view of its task, during the run and after it.
 *
 * @module
 */
import { terminal } from '../../core/decide.js'
import { A2AError, endError } from '../../core/errors.js'
import { isTerminal } from '../../core/lifecycle.js'
import type { TaskSnapshot } from '../../core/task.js'
import type { WorkedTasks } from '../tasks.js'

/** Shows the current task while the run works on it, and the last state it saw afterwards. */
export class RunTask {
  readonly id: string
  readonly #tasks: WorkedTasks
  #gone: Error | undefined
  #last: TaskSnapshot | undefined

  constructor(id: string, tasks: WorkedTasks) {
    this.id = id
    this.#tasks = tasks
  }

  /** `null` when the task is gone, or this process has lost its lease. */
  peek(): TaskSnapshot | null {
    const task = this.#gone === undefined ? this.#tasks.peekTask(this.id) : null
    // A newer task may have the same id.
    return this.#last === undefined || task?.createdAt === this.#last.createdAt ? task : null
  }

  /**
   * @throws The reason of {@link detach}, else `reason`, else `TASK_EXPIRED`, when there is no task to show.
   */
  show(reason: Error | undefined): TaskSnapshot {
    const task = this.peek() ?? this.#last
    if (task === undefined) throw this.#gone ?? reason ?? endError('TASK_EXPIRED', this.id)
    return task
  }

  /** Whether the task is terminal, or gone. */
  get isTerminal(): boolean {
    const task = this.peek()
    return task === null || isTerminal(task.state)
  }

  /** The task's signal; `undefined` when the task is gone. */
  get signal(): AbortSignal | undefined {
    return this.peek() === null ? undefined : this.#tasks.signalOf(this.id)
  }

  /**
   * Requires that the run may still change the task.
   *
   * @throws The reason of {@link detach}; after the run: `reason`, `TASK_TERMINAL` or `LEASE_LOST`.
   */
  requireOpen(reason: Error | undefined): void {
    if (this.#gone !== undefined) throw this.#gone
    if (this.#last !== undefined && this.peek() === null) throw reason ?? closedError(this.#last)
  }

  /** The executor has returned: keeps the last state, to show it once the task is gone. */
  keepLast(): void {
    this.#last = this.peek() ?? undefined
  }

  /** Cuts the run off from the task. Clients choose ids, so a new task may have this id at once. */
  detach(reason: Error): void {
    this.#gone = reason
  }
}

function closedError({ id, state }: TaskSnapshot): A2AError {
  if (isTerminal(state)) return terminal({ id, state }, 'update')
  return new A2AError('LEASE_LOST', `Task ${id} is not held by the run any more: it is over`, { taskId: id })
}
