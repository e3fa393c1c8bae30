/**
 * Forks of tasks in memory, loaded on demand.
 *
 * @module
 */
import { copyTask } from '../evolve.js'
import type { Settings } from '../options.js'
import type { OwnerFilter, RequireRoom } from '../queries.js'
import type { UnfinishedTurns } from '../saved/unfinished.js'
import { entriesAfter } from '../subscription.js'
import type { TaskRecord } from '../task-record.js'
import type { TaskTable } from '../task-table.js'
import type { Task, TaskKey } from '../task.js'
import { requireDeadLetter, toFork, toRedrive, type Fork, type ForkOptions } from './fork.js'

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
    const record = this.#table.recordOf(taskId)
    const log = entriesAfter(record, {}, this.#settings.eventLogSize)
    const made = toFork(log, options, this.#settings)
    await requireRoom(ownerOf(record), made.isWorking)
    const copy = this.#add(made)
    this.#announce(made)
    return copy
  }

  async redrive(taskId: string, requireRoom: RequireRoom): Promise<Task<S>> {
    const record = this.#table.recordOf(taskId)
    requireDeadLetter(record.task)
    const known = this.#continuationOf(record)
    if (known !== undefined) return known
    const log = entriesAfter(record, {}, this.#settings.eventLogSize)
    const made = toRedrive(log, this.#settings.generateId(), this.#settings)
    await requireRoom(ownerOf(record), made.isWorking)
    // Another call may have made the task in between.
    const other = this.#continuationOf(record)
    if (other !== undefined) return other
    const copy = this.#add(made)
    record.redriven = made.id
    this.#announce(made)
    return copy
  }

  redriven(tasks: readonly TaskKey[]): ReadonlySet<string> {
    const isRedriven = ({ id }: TaskKey): boolean => this.#table.get(id)?.redriven !== undefined
    return new Set(tasks.filter(isRedriven).map(({ id }) => id))
  }

  #continuationOf({ redriven }: TaskRecord<S>): Task<S> | undefined {
    return redriven === undefined ? undefined : copyTask(this.#table.recordOf(redriven).task)
  }

  #add({ log }: Fork<S>): Task<S> {
    return copyTask(this.#host.add(log).task)
  }

  #announce({ id, isWorking }: Fork<S>): void {
    this.#host.deliver()
    if (isWorking) this.#unfinished.begin(id)
  }
}

function ownerOf<S extends string>({ task }: TaskRecord<S>): OwnerFilter {
  return { owner: task.owner ?? null }
}
