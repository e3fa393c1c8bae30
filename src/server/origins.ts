/**
 * In which dialect a task was asked for.
 *
 * Some methods have one name, and parameters of one shape, in several versions: `tasks/get` is 0.3's, 0.1's and KAOS'.
 * A client that names no version is answered in that in which it made the task.
 *
 * @module
 */
import type { TaskManager } from '../core/task-manager.js'
import type { TaskSnapshot } from '../core/task.js'
import type { Dialect } from '../wire/index.js'
import type { Caller, Principal } from './visibility.js'

interface Origin {
  readonly dialect: Dialect
  readonly principalId: string | undefined
}

/** Holds what there is to remember for as long as the task is held. */
export class Origins {
  readonly #tasks: TaskManager
  readonly #preferred: Dialect
  readonly #byTask = new Map<string, Origin>()
  #isListening = false

  constructor(tasks: TaskManager, preferred: Dialect) {
    this.#tasks = tasks
    this.#preferred = preferred
  }

  /** Remembers who made a task, unless he has said which version he speaks: he will say it again. */
  note(taskId: string, { dialect, namesVersion, principal }: Caller): void {
    // Of one that had the id before, and has only just gone.
    this.#byTask.delete(taskId)
    if (namesVersion || dialect === this.#preferred) return
    if (!this.#isListening) this.#listen()
    this.#byTask.set(taskId, { dialect, principalId: principal?.id })
  }

  /** `undefined` also for what somebody else has made: nobody learns of it. */
  of(taskId: string, principal: Principal | undefined): Dialect | undefined {
    const origin = this.#byTask.get(taskId)
    return origin?.principalId === principal?.id ? origin?.dialect : undefined
  }

  close(): void {
    this.#byTask.clear()
    this.#tasks.off('task:expired', this.#forget)
    this.#tasks.off('task:evicted', this.#forget)
  }

  #listen(): void {
    this.#isListening = true
    this.#tasks.on('task:expired', this.#forget)
    this.#tasks.on('task:evicted', this.#forget)
  }

  /** Another may have the id by now: what a listener does comes before what the next one hears. */
  readonly #forget = ({ id }: TaskSnapshot): void => {
    if (this.#tasks.peekTask(id) === null) this.#byTask.delete(id)
  }
}
