/**
 * Heap budget for the data that a process holds for its clients.
 *
 * @module
 */
import { shareOfHeap } from './environment.js'

interface HeapBudgetOptions {
  /** The least bytes of heap that the budget has. */
  readonly min: number
  /** Half of the budget is left to things that cost no more than this, as most do. */
  readonly small: number
  /** The bytes of heap. Default is an eighth of its limit, and at least `min`. */
  readonly max?: number | undefined
}

export class HeapBudget {
  readonly #max: number
  readonly #small: number
  #used = 0

  constructor({ min, small, max = Math.max(min, shareOfHeap()) }: HeapBudgetOptions) {
    this.#max = max
    this.#small = small
  }

  /** @param others - Bytes that something else counts, and that belong to the same budget. */
  hasRoom(cost: number, others = 0): boolean {
    const max = cost > this.#small ? this.#max / 2 : this.#max
    return this.#used + others + cost <= max
  }

  add(cost: number): void {
    this.#used += cost
  }

  remove(cost: number): void {
    this.#used -= cost
  }
}
