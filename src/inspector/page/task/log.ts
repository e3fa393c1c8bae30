/**
 * The log of one task in the page, and the task as it was at each generation.
 *
 * @module
 */
import { evolve } from '../../../core/evolve.js'
import type { TaskStreamEvent } from '../../../core/events.js'
import type { TaskSnapshot } from '../../../core/task.js'

export type Entry = TaskStreamEvent<string>
export type Snapshot = TaskSnapshot<string>

const CHECKPOINT_EVERY = 64

/** Entries in the order of their generations. A snapshot in between replaces the task. */
export class TaskLog {
  readonly entries: Entry[] = []
  readonly #checkpoints: Snapshot[] = []
  #latest: Snapshot | undefined

  get latest(): Snapshot | undefined {
    return this.#latest
  }

  get generation(): number {
    return this.#latest?.generation ?? 0
  }

  /** Adds an entry, unless it is known already. */
  add(entry: Entry): void {
    if (entry.generation <= this.generation) return
    this.#latest = evolve(this.#latest, entry)
    this.entries.push(entry)
    if (this.entries.length % CHECKPOINT_EVERY === 0) this.#checkpoints.push(this.#latest)
  }

  /** The task after the entry of this index. */
  at(index: number): Snapshot | undefined {
    if (index >= this.entries.length - 1) return this.#latest
    const block = Math.floor((index + 1) / CHECKPOINT_EVERY)
    let task = block === 0 ? undefined : this.#checkpoints[block - 1]
    for (let next = block * CHECKPOINT_EVERY; next <= index; next += 1) {
      const entry = this.entries[next]
      if (entry !== undefined) task = evolve(task, entry)
    }
    return task
  }

  /** The index of the entry of a generation, or of the last one before it. */
  indexOf(generation: number): number {
    let low = 0
    let high = this.entries.length - 1
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if ((this.entries[middle]?.generation ?? 0) <= generation) low = middle
      else high = middle - 1
    }
    return low
  }
}
