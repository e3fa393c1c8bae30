/**
 * Rankings of owners by what their tasks take, to decide whose task makes room.
 *
 * @module
 */
import { Heap, type HeapItem } from '../runtime/heap.js'
import type { Chain, TaskRecord } from './task-record.js'

/** What one owner's tasks take of a manager. */
export interface Holding {
  /** Number of tasks. */
  readonly tasks: number
  /** Estimated bytes of heap. */
  readonly bytes: number
}

/** The amounts that a manager limits. */
export type Unit = keyof Holding

interface Ranked<S extends string> extends HeapItem {
  readonly holding: Holding
  chain: Chain<S>
}

/** The owners that have tasks of one kind, such as ended ones, by how much all their tasks take. */
export class Ranking<S extends string> {
  readonly #ranked = new Map<string, Ranked<S>>()
  readonly #heap: Heap<Ranked<S>>

  constructor(unit: Unit) {
    this.#heap = new Heap((a, b) => {
      const difference = a.holding[unit] - b.holding[unit]
      return difference > 0 || (difference === 0 && ageOf(a) < ageOf(b))
    })
  }

  /** The first task of the owner that holds most. Of several such owners, the one whose task changed first. */
  get first(): TaskRecord<S> | undefined {
    return this.#heap.first?.chain.first?.record
  }

  /**
   * Called after a task of the owner was added, changed or removed.
   *
   * @param chain The owner's tasks of this kind.
   */
  update(owner: string, holding: Holding, chain: Chain<S> | undefined): void {
    const known = this.#ranked.get(owner)
    if (chain === undefined) {
      if (known !== undefined) this.#heap.remove(known)
      this.#ranked.delete(owner)
    } else if (known === undefined) {
      const ranked = { index: -1, holding, chain }
      this.#ranked.set(owner, ranked)
      this.#heap.add(ranked)
    } else {
      known.chain = chain
      this.#heap.fix(known)
    }
  }
}

function ageOf({ chain }: Ranked<string>): number {
  return chain.first?.record.stamp ?? 0
}
