/**
 * How many requests are sent at a time, and who is next.
 *
 * @module
 */

/** Those who wait under a key, and under the keys below it. */
interface Branch {
  readonly below: Map<string, Branch>
  readonly grants: Set<() => void>
}

/**
 * Places for requests. When all are taken, the next one goes to the owner who has the fewest; of the owner's, to the
 * host, and of the host's, to the origin that has the fewest; then to who came first.
 */
export class Slots {
  #free: number
  /** How many places there are under each path of keys; none where there are none. */
  readonly #taken = new Map<string, number>()
  readonly #waiting = newBranch()

  constructor(max: number) {
    this.#free = max
  }

  /**
   * Waits for a place. The function that it resolves with gives it back. Rejects with the reason of `signal`.
   *
   * @param keys - For whom: as many at each call, the one that counts most first.
   */
  take(keys: readonly string[], signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      // Whoever aborts gives an error.
      const fail = (): void => reject(signal.reason as Error)
      if (signal.aborted) {
        fail()
        return
      }
      const onAbort = (): void => {
        leave(this.#waiting, keys, grant)
        fail()
      }
      const grant = (): void => {
        signal.removeEventListener('abort', onAbort)
        resolve(this.#occupy(keys))
      }
      signal.addEventListener('abort', onAbort, { once: true })
      enter(this.#waiting, keys, grant)
      this.#next()
    })
  }

  #occupy(keys: readonly string[]): () => void {
    this.#free -= 1
    this.#count(keys, 1)
    let isTaken = true
    return () => {
      if (!isTaken) return
      isTaken = false
      this.#free += 1
      this.#count(keys, -1)
      this.#next()
    }
  }

  #count(keys: readonly string[], change: 1 | -1): void {
    let path = ''
    for (const key of keys) {
      path = pathTo(path, key)
      const count = this.#takenBy(path) + change
      if (count === 0) this.#taken.delete(path)
      else this.#taken.set(path, count)
    }
  }

  #next(): void {
    if (this.#free === 0) return
    const keys: string[] = []
    let branch = this.#waiting
    let path = ''
    while (branch.below.size > 0) {
      const [key, below] = this.#fewest(branch, path)
      keys.push(key)
      path = pathTo(path, key)
      branch = below
    }
    const [grant] = branch.grants
    if (grant === undefined) return
    leave(this.#waiting, keys, grant)
    grant()
  }

  /** There are no more keys with places than places: of more keys, one is soon found that has none. */
  #fewest({ below }: Branch, path: string): [key: string, branch: Branch] {
    let best: [key: string, branch: Branch] = ['', newBranch()]
    let fewest = Infinity
    for (const entry of below) {
      const count = this.#takenBy(pathTo(path, entry[0]))
      if (count < fewest) [best, fewest] = [entry, count]
      if (count === 0) break
    }
    return best
  }

  #takenBy(path: string): number {
    return this.#taken.get(path) ?? 0
  }
}

function newBranch(): Branch {
  return { below: new Map(), grants: new Set() }
}

/** Another one for other keys, whatever they hold. */
function pathTo(path: string, key: string): string {
  return `${path}${key.length}:${key}`
}

function enter(branch: Branch, [key, ...rest]: readonly string[], grant: () => void): void {
  if (key === undefined) {
    branch.grants.add(grant)
    return
  }
  const below = branch.below.get(key) ?? newBranch()
  branch.below.set(key, below)
  enter(below, rest, grant)
}

/** Leaves no empty branch behind. */
function leave(branch: Branch, [key, ...rest]: readonly string[], grant: () => void): void {
  if (key === undefined) {
    branch.grants.delete(grant)
    return
  }
  const below = branch.below.get(key)
  if (below === undefined) return
  leave(below, rest, grant)
  if (below.below.size === 0 && below.grants.size === 0) branch.below.delete(key)
}
