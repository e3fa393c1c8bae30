/**
 * Changes of a stored task that are decided and not stored yet.
 *
 * @module
 */
import type { TaskEvent } from '../../core/events.js'
import type { Announce, MaybePromise } from '../../core/managers.js'
import { copyTask, thawTask } from '../../core/evolve.js'
import { TaskRecord } from '../../core/task-record.js'
import type { Task } from '../../core/task.js'
import { sizeOf } from './checkpoint.js'

/** Returns the events that a change makes. Throws when the task does not allow the change. */
export type Decide<S extends string> = (record: TaskRecord<S>) => TaskEvent<S>[]

/**
 * Work with the client of the store, in whose transaction the change is stored.
 *
 * @param events - As decided.
 * @returns The events to store in their place, with the same generations.
 */
export type Work<S extends string> = (
  client: unknown,
  events: readonly TaskEvent<S>[],
) => MaybePromise<TaskEvent<S>[]>

export interface Origin<S extends string> {
  /** The lease that the change requires. */
  readonly leaseId?: string | undefined
  /** The lease that the change makes expire, if the task has it. */
  readonly expires?: string | undefined
  /** The object that makes the change, and is not notified of it. */
  readonly by?: object | undefined
  readonly work?: Work<S> | undefined
}

export interface Change<S extends string> extends Origin<S> {
  /** Higher than those of the changes before it. */
  readonly number: number
  readonly decide: Decide<S>
  events: TaskEvent<S>[]
  /** Announces the change in the context in which it was made. */
  readonly announce: Announce
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

export interface Executed<S extends string, T> {
  /** As decided now. When another change is stored first, the change is decided again and its events may differ. */
  readonly events: readonly TaskEvent<S>[]
  /** Rejects when the change cannot be stored, or another change that was stored first makes it illegal. */
  readonly stored: Promise<T>
}

/** Computes the result of a change as soon as it is stored, from the task exactly as the change left it. */
export type Select<S extends string, T> = (record: TaskRecord<S>, events: readonly TaskEvent<S>[]) => T

/** The task after changes that are not stored yet. */
export function withChanges<S extends string>(
  { task, created, usage }: TaskRecord<S>,
  changes: readonly Change<S>[],
): TaskRecord<S> {
  const tip = new TaskRecord(thawTask(task), created, usage, task.generation)
  for (const { events } of changes) for (const event of events) tip.append(event, 1)
  return tip
}

/** The most changes in one commit. */
const MAX_BATCH = 200

/** The changes of the next commit: the first ones of one lease. One with work is on its own. */
export function batchOf<S extends string>(
  pending: readonly Change<S>[],
  isSingle: boolean,
): readonly Change<S>[] {
  const [first] = pending
  const others = pending.findIndex(
    (change) => change !== first && (change.leaseId !== first?.leaseId || change.work !== undefined),
  )
  const max = isSingle || first?.work !== undefined ? 1 : MAX_BATCH
  return pending.slice(0, Math.min(others === -1 ? max : others, max))
}

/** Whether a change fails with `refused`: it is the same one, or another one of a holder, which loses the task. */
export function failsWith<S extends string>(refused: Change<S> | undefined, change: Change<S>): boolean {
  return change === refused || (change.by !== undefined && change.by === refused?.by)
}

/** Whether the holder of the lease makes the change, and goes on without waiting for it. */
export function isOfHolder<S extends string>({ by }: Change<S>): boolean {
  return by !== undefined
}

/** The most bytes of changes that wait while the store takes none: of one task, and of all tasks of the manager. */
const MAX_TASK_BYTES = 16_777_216
const MAX_BYTES = 67_108_864

/** The changes that wait until the store takes them, in bytes. */
export class WaitingChanges {
  readonly #bytes = new Map<object, number>()
  #total = 0

  /** Whether the process should keep all pending changes of the task. If so, counts them in place of those that it counted. */
  keep<S extends string>(task: object, pending: readonly Change<S>[]): boolean {
    const bytes = pending.reduce((sum, { events }) => sum + sizeOf(events), 0)
    const total = this.#total + bytes - (this.#bytes.get(task) ?? 0)
    if (bytes > MAX_TASK_BYTES || total > MAX_BYTES) return false
    this.#bytes.set(task, bytes)
    this.#total = total
    return true
  }

  /** The task has no changes that wait. */
  end(task: object): void {
    this.#total -= this.#bytes.get(task) ?? 0
    this.#bytes.delete(task)
  }
}

/** Selects a copy of the task. */
export function copyOf<S extends string>(record: TaskRecord<S>): Task<S> {
  return copyTask(record.task)
}
