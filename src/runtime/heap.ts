/**
 * Binary heap whose items know their positions, so that each can be removed or moved in O(log n).
 *
 * @module
 */

export interface HeapItem {
  /** The position in the heap; -1 when the item is in none. */
  index: number
}

export class Heap<T extends HeapItem> {
  /** No item comes after those at `2i + 1` and `2i + 2`. */
  readonly #items: T[] = []
  readonly #isBefore: (a: T, b: T) => boolean

  constructor(isBefore: (a: T, b: T) => boolean) {
    this.#isBefore = isBefore
  }

  get first(): T | undefined {
    return this.#items[0]
  }

  add(item: T): void {
    item.index = this.#items.length
    this.#items.push(item)
    this.#rise(item)
  }

  remove(item: T): void {
    const { index } = item
    if (index === -1) return
    item.index = -1
    const last = this.#items.pop()
    if (last === undefined || last === item) return
    this.#place(last, index)
    this.fix(last)
  }

  /** Moves an item whose order has changed. No other item may have changed since. */
  fix(item: T): void {
    this.#rise(item)
    this.#sink(item)
  }

  clear(): void {
    for (const item of this.#items) item.index = -1
    this.#items.length = 0
  }

  #rise(item: T): void {
    for (;;) {
      const parent = this.#items[(item.index - 1) >> 1]
      if (parent === undefined || this.#isBefore(parent, item)) return
      this.#swap(item, parent)
    }
  }

  #sink(item: T): void {
    for (;;) {
      const left = this.#items[2 * item.index + 1]
      const right = this.#items[2 * item.index + 2]
      const child = left === undefined || right === undefined || this.#isBefore(left, right) ? left : right
      if (child === undefined || this.#isBefore(item, child)) return
      this.#swap(item, child)
    }
  }

  #swap(a: T, b: T): void {
    const { index } = a
    this.#place(a, b.index)
    this.#place(b, index)
  }

  #place(item: T, index: number): void {
    this.#items[index] = item
    item.index = index
  }
}
