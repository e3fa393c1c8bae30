/**
 * The task of a run.
 *
 * @module
 */
import { terminal } from '../../core/decide.js'
import { A2AError, ended } from '../../core/errors.js'
import { isTerminal } from '../../core/lifecycle.js'
import type { TaskSnapshot } from '../../core/task.js'
import type { WorkedTasks } from '../tasks.js'

/** The task as it is while it is worked on here, and as it was when the run was over. */
export class RunTask {
  readonly id: string
  readonly #tasks: WorkedTasks
  #gone: Error | undefined
  #last: TaskSnapshot | undefined

  constructor(id: string, tasks: WorkedTasks) {
    this.id = id
    this.#tasks = tasks
  }

  /** `null` when it is gone, or not this process's any more. */
  peek(): TaskSnapshot | null {
    const task = this.#gone === undefined ? this.#tasks.peekTask(this.id) : null
    // Another may have its id by now.
    return this.#last === undefined || task?.createdAt === this.#last.createdAt ? task : null
  }

  /** @throws Why it is gone: default is `reason`. */
  show(reason: Error | undefined): TaskSnapshot {
    const task = this.peek() ?? this.#last
    if (task === undefined) throw this.#gone ?? reason ?? ended('TASK_EXPIRED', this.id)
    return task
  }

  /** Whether the task has ended, or is gone. */
  get hasEnded(): boolean {
    const task = this.peek()
    return task === null || isTerminal(task.state)
  }

  /** The task's own, while there is one. */
  get signal(): AbortSignal | undefined {
    return this.peek() === null ? undefined : this.#tasks.signalOf(this.id)
  }

  /** @throws Why nobody here changes it any more: `reason`, where the run was ended from outside. */
  requireOpen(reason: Error | undefined): void {
    if (this.#gone !== undefined) throw this.#gone
    if (this.#last !== undefined && this.peek() === null) throw reason ?? over(this.#last)
  }

  /** The run is over: what is shown from now on is what there was, unless there is more. */
  leave(): void {
    this.#last = this.peek() ?? undefined
  }

  /** Clients choose ids: there may be another one of this id at once. */
  detach(reason: Error): void {
    this.#gone = reason
  }
}

function over({ id, state }: TaskSnapshot): A2AError {
  if (isTerminal(state)) return terminal({ id, state }, 'update')
  return new A2AError('LEASE_LOST', `Task ${id} is not held by the run any more: it is over`, { taskId: id })
}
