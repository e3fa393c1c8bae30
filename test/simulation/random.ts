/** Numbers that follow from a seed: the same for the same seed, on every machine. */

/** Mixes whole numbers into one of 32 bits. */
export function hashOf(...values: readonly number[]): number {
  let hash = 0x9e3779b9
  for (const value of values) {
    hash = Math.imul(hash ^ value, 0x85ebca6b)
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
    hash ^= hash >>> 16
  }
  return hash >>> 0
}

/** A number from 0 to 1, without 1, that depends on these values alone. */
export function shareOf(...values: readonly number[]): number {
  return hashOf(...values) / 2 ** 32
}

/** A sequence of numbers. */
export class Random {
  readonly #seed: number
  #count = 0

  constructor(seed: number) {
    this.#seed = seed
  }

  /** From 0 to 1, without 1. */
  next(): number {
    this.#count += 1
    return shareOf(this.#seed, this.#count)
  }

  /** A whole number, both bounds included. */
  whole(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1))
  }

  chance(share: number): boolean {
    return this.next() < share
  }

  pick<const T>(values: readonly [T, ...T[]]): T {
    return values[this.whole(0, values.length - 1)] ?? values[0]
  }
}
