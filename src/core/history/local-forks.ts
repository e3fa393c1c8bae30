/**
 * Forks of tasks in memory.
 *
 * @module
 */
import { copyTask } from '../evolve.js'
import type { Settings } from '../options.js'
import type { UnfinishedTurns } from '../saved/saved-history.js'
import { entriesAfter } from '../subscription.js'
import type { TaskRecord } from '../task-record.js'
import type { TaskTable } from '../task-table.js'
import type { Task } from '../task.js'
import { toFork, type Fork, type ForkOptions } from './fork.js'

export interface LocalForksHost<S extends string> {
  readonly settings: Settings<S>
  readonly unfinished: UnfinishedTurns<S>
  readonly table: Pick<TaskTable<S>, 'require'>
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

  fork(taskId: string, options: ForkOptions): Task<S> {
    const { settings } = this.#host
    const record = this.#host.table.require(taskId)
    return this.#make(record, toFork(entriesAfter(record, 0, settings.eventLogSize), options, settings))
  }

  #make({ task }: TaskRecord<S>, { id, log, isWorking }: Fork<S>): Task<S> {
    const { unfinished } = this.#host
    if (isWorking) unfinished.requireRoom({ owner: task.owner ?? null })
    const copy = copyTask(this.#host.add(log).task)
    this.#host.deliver()
    if (isWorking) unfinished.begin(id)
    return copy
  }
}
