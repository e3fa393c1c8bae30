/**
 * Forks of tasks in memory. What makes them is loaded on demand, because most programs fork nothing.
 *
 * @module
 */
import { copyTask } from '../evolve.js'
import type { Settings } from '../options.js'
import type { UnfinishedTurns } from '../saved/unfinished.js'
import { entriesAfter } from '../subscription.js'
import type { TaskRecord } from '../task-record.js'
import type { TaskTable } from '../task-table.js'
import type { Task, TaskKey } from '../task.js'
import type { Fork, ForkOptions } from './fork.js'

/** The manager, which adds the tasks. */
interface Host<S extends string> {
  /**
   * Adds a task, of which listeners learn with the next call of `deliver`.
   *
   * @throws {A2AError} `TASK_LIMIT_REACHED`.
   */
  add(log: Fork<S>['log']): TaskRecord<S>
  deliver(): void
}

export class LocalForks<S extends string> {
  readonly #settings: Settings<S>
  readonly #table: TaskTable<S>
  readonly #unfinished: UnfinishedTurns<S>
  readonly #host: Host<S>
  /** The ids of the tasks that continue dead letters. */
  readonly #redriven = new WeakMap<TaskRecord<S>, string>()

  constructor(settings: Settings<S>, table: TaskTable<S>, unfinished: UnfinishedTurns<S>, host: Host<S>) {
    this.#settings = settings
    this.#table = table
    this.#unfinished = unfinished
    this.#host = host
  }

  async fork(taskId: string, options: ForkOptions): Promise<Task<S>> {
    const { toFork } = await import('./fork.js')
    const record = this.#table.recordOf(taskId)
    const log = entriesAfter(record, {}, this.#settings.eventLogSize)
    return this.#make(record, toFork(log, options, this.#settings))
  }

  /** Synchronous once the code is loaded: of calls at once, one makes a task. */
  async redrive(taskId: string): Promise<Task<S>> {
    const { requireDeadLetter, toRedrive } = await import('./fork.js')
    const record = this.#table.recordOf(taskId)
    requireDeadLetter(record.task)
    const known = this.#redriven.get(record)
    if (known !== undefined) return copyTask(this.#table.recordOf(known).task)
    const log = entriesAfter(record, {}, this.#settings.eventLogSize)
    const made = toRedrive(log, this.#settings.generateId(), this.#settings)
    return this.#make(record, made, () => this.#redriven.set(record, made.id))
  }

  redriven(tasks: readonly TaskKey[]): ReadonlySet<string> {
    const isRedriven = ({ id }: TaskKey): boolean => {
      const record = this.#table.get(id)
      return record !== undefined && this.#redriven.has(record)
    }
    return new Set(tasks.filter(isRedriven).map(({ id }) => id))
  }

  /** `onMade` is called before listeners are. */
  #make({ task }: TaskRecord<S>, { id, log, isWorking }: Fork<S>, onMade = (): void => {}): Task<S> {
    if (isWorking) this.#unfinished.requireRoom({ owner: task.owner ?? null })
    const copy = copyTask(this.#host.add(log).task)
    onMade()
    this.#host.deliver()
    if (isWorking) this.#unfinished.begin(id)
    return copy
  }
}
