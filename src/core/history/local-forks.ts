/**
 * Forks of tasks in memory. What makes them is loaded on demand, because most programs fork nothing.
 *
 * @module
 */
import { copyTask } from '../evolve.js'
import type { Settings } from '../options.js'
import type { RequireRoom } from '../queries.js'
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

  constructor(settings: Settings<S>, table: TaskTable<S>, unfinished: UnfinishedTurns<S>, host: Host<S>) {
    this.#settings = settings
    this.#table = table
    this.#unfinished = unfinished
    this.#host = host
  }

  async fork(taskId: string, options: ForkOptions, requireRoom: RequireRoom): Promise<Task<S>> {
    const { toFork } = await import('./fork.js')
    const record = this.#table.recordOf(taskId)
    const log = entriesAfter(record, {}, this.#settings.eventLogSize)
    return await this.#make(record, toFork(log, options, this.#settings), requireRoom)
  }

  /** Synchronous once the code is loaded: of calls at once, one makes a task. */
  async redrive(taskId: string, requireRoom: RequireRoom): Promise<Task<S>> {
    const { requireDeadLetter, toRedrive } = await import('./fork.js')
    const record = this.#table.recordOf(taskId)
    requireDeadLetter(record.task)
    if (record.redriven !== undefined) return copyTask(this.#table.recordOf(record.redriven).task)
    const log = entriesAfter(record, {}, this.#settings.eventLogSize)
    const made = toRedrive(log, this.#settings.generateId(), this.#settings)
    return await this.#make(record, made, requireRoom, () => (record.redriven = made.id))
  }

  redriven(tasks: readonly TaskKey[]): ReadonlySet<string> {
    const isRedriven = ({ id }: TaskKey): boolean => this.#table.get(id)?.redriven !== undefined
    return new Set(tasks.filter(isRedriven).map(({ id }) => id))
  }

  /** Awaits nothing before the task is made. `onMade` is called before listeners are. */
  async #make(
    { task }: TaskRecord<S>,
    { id, log, isWorking }: Fork<S>,
    requireRoom: RequireRoom,
    onMade = (): unknown => undefined,
  ): Promise<Task<S>> {
    const refusing = requireRoom({ owner: task.owner ?? null }, isWorking)
    if (refusing !== undefined) await refusing
    const copy = copyTask(this.#host.add(log).task)
    onMade()
    this.#host.deliver()
    if (isWorking) this.#unfinished.begin(id)
    return copy
  }
}
