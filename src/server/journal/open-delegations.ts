/**
 * The delegations of a run that are not over: while there are any, the task is marked.
 *
 * @module
 */
import type { TaskKey } from '../../core/task.js'
import type { TaskMarks, TurnPort } from './turn-port.js'

export interface OpenDelegation {
  /** Resolves when the task is stored and marked. */
  readonly mark: () => Promise<void> | undefined
  /** The delegation is over. */
  readonly close: () => void
}

export class OpenDelegations {
  readonly #port: TurnPort
  readonly #open = new Set<OpenDelegation>()
  /** Marks are put and removed one after the other. */
  #latest: Promise<void> = Promise.resolve()
  #key: TaskKey | undefined

  constructor(port: TurnPort) {
    this.#port = port
  }

  get openCount(): number {
    return this.#open.size
  }

  open(): OpenDelegation {
    const { marks } = this.#port
    const delegation: OpenDelegation = {
      mark: () => marks && this.#mark(marks),
      close: () => {
        this.#open.delete(delegation)
        if (marks !== undefined && this.#open.size === 0) this.#unmark(marks)
      },
    }
    this.#open.add(delegation)
    return delegation
  }

  #mark(marks: TaskMarks): Promise<void> {
    const marked = this.#latest.then(async () => {
      if (this.#key !== undefined) return
      const { stored, tasks, task: taskOf } = this.#port
      await stored()
      const task = tasks.peekTask(taskOf().id)
      if (task === null) return
      await marks.put(task)
      this.#key = task
    })
    this.#latest = marked.catch(() => undefined)
    return marked
  }

  #unmark(marks: TaskMarks): void {
    this.#latest = this.#latest.then(async () => {
      const key = this.#key
      if (key === undefined || this.#open.size > 0) return
      this.#key = undefined
      await marks.remove(key)
    })
  }
}
