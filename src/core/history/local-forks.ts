/**
 * Forks of tasks in memory. What makes them is loaded on demand, because most programs fork nothing.
 *
 * @module
 */
import { copyTask } from '../evolve.js'
import type { Settings } from '../options.js'
import type { RequireRoom } from '../queries.js'
import type { UnfinishedTurns } from '../saved/saved-history.js'
import { entriesAfter } from '../subscription.js'
import type { TaskRecord } from '../task-record.js'
import type { TaskTable } from '../task-table.js'
import type { Task, TaskKey } from '../task.js'
import type { Fork, ForkOptions } from './fork.js'

export interface LocalForksHost<S extends string> {
  readonly settings: Settings<S>
  readonly unfinished: UnfinishedTurns<S>
  readonly table: Pick<TaskTable<S>, 'get' | 'recordOf'>
  /**
   * Adds a task, of which listeners learn with the next call of `deliver`.
   *
   * @throws {A2AError} `TASK_LIMIT_REACHED`.
   */
  add(log: Fork<S>['log']): TaskRecord<S>
  deliver(): void
}

export class LocalForks<S extends string> {
  readonly #host: LocalForksHost<S>

  constructor(host: LocalForksHost<S>) {
    this.#host = host
  }

  async fork(taskId: string, options: ForkOptions, requireRoom: RequireRoom): Promise<Task<S>> {
    const { toFork } = await import('./fork.js')
    const { settings } = this.#host
    const record = this.#host.table.recordOf(taskId)
    const made = toFork(entriesAfter(record, {}, settings.eventLogSize), options, settings)
    return await this.#make(record, made, requireRoom)
  }

  /** Synchronous once the code is loaded: of calls at once, one makes a task. */
  async redrive(taskId: string, requireRoom: RequireRoom): Promise<Task<S>> {
    const { requireDeadLetter, toRedrive } = await import('./fork.js')
    const { settings, table } = this.#host
    const record = table.recordOf(taskId)
    requireDeadLetter(record.task)
    if (record.redriven !== undefined) return copyTask(table.recordOf(record.redriven).task)
    const log = entriesAfter(record, {}, settings.eventLogSize)
    const made = toRedrive(log, settings.generateId(), settings)
    return await this.#make(record, made, requireRoom, () => (record.redriven = made.id))
  }

  redriven(tasks: readonly TaskKey[]): ReadonlySet<string> {
    const isRedriven = ({ id }: TaskKey): boolean => this.#host.table.get(id)?.redriven !== undefined
    return new Set(tasks.filter(isRedriven).map(({ id }) => id))
  }

  /** Awaits nothing before the task is made. `onMade` is called before listeners are. */
  async #make(
    { task }: TaskRecord<S>,
    { id, log, isWorking }: Fork<S>,
    requireRoom: RequireRoom,
    onMade = (): unknown => undefined,
  ): Promise<Task<S>> {
    const { unfinished } = this.#host
    const refusing = requireRoom({ owner: task.owner ?? null }, isWorking)
    if (refusing !== undefined) await refusing
    const copy = copyTask(this.#host.add(log).task)
    onMade()
    this.#host.deliver()
    if (isWorking) unfinished.begin(id)
    return copy
  }
}
