/**
 * Tasks in memory whose turn has not ended, although no code works on them.
 *
 * @module
 */
import type { TaskRecord } from '../task-record.js'
import type { Artifact, DeepReadonly } from '../task.js'

/** Tasks whose turn has not ended, although no code works on them: restored ones, and forks. */
export interface UnfinishedTasks {
  /**
   * Registers what continues turns, and hands it those that wait. The first listener continues all.
   *
   * @returns A function that removes the listener.
   */
  listen(listener: UnfinishedListener): () => void
  /**
   * The artifacts that the turn of the task has written since the latest entry of its journal, by id: what they held then;
   * `null` for those that it created.
   */
  rewritten(taskId: string): ReadonlyMap<string, DeepReadonly<Artifact> | null>
}

/** Continues turns whose code is not in memory. */
export type UnfinishedListener = (taskId: string) => void

/** Unfinished turns of the tasks of a manager in memory, for request handlers that continue them. */
export class UnfinishedTurns<S extends string> implements UnfinishedTasks {
  readonly #find: (taskId: string) => TaskRecord<S>
  readonly #waiting = new Set<string>()
  readonly #listeners = new Set<UnfinishedListener>()

  constructor(find: (taskId: string) => TaskRecord<S>) {
    this.#find = find
  }

  /** Restored tasks, which the next listener continues. */
  add(records: readonly TaskRecord<S>[]): void {
    for (const { task } of records) if (task.turn !== undefined) this.#waiting.add(task.id)
  }

  /** Continues the turn of a new task: at once where there is a listener. */
  begin(taskId: string): void {
    const [listener] = this.#listeners
    if (listener === undefined) this.#waiting.add(taskId)
    else listener(taskId)
  }

  listen(listener: UnfinishedListener): () => void {
    this.#listeners.add(listener)
    const ids = [...this.#waiting]
    this.#waiting.clear()
    for (const taskId of ids) listener(taskId)
    return () => void this.#listeners.delete(listener)
  }

  rewritten(taskId: string): ReadonlyMap<string, DeepReadonly<Artifact> | null> {
    return this.#find(taskId).rewritten
  }
}
