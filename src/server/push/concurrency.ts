/**
 * Fair limit on how many requests run at a time.
 *
 * @module
 */
import { onAbort } from '../../runtime/abort.js'

/** The requests that wait under one key, and under the keys below it. */
interface Branch {
  readonly below: Map<string, Branch>
  readonly grants: Set<() => void>
}

/**
 * A semaphore that is fair by owner, host and origin. When all slots are in use, the next free slot goes to the owner
 * that uses the fewest; of that owner's requests to the host, and of that host's to the origin, that uses the fewest;
 * among equals to the request that came first.
 */
export class ConcurrencyLimit {
  #free: number
  /** How many slots are in use under each path of keys; paths without any have no entry. */
  readonly #used = new Map<string, number>()
  readonly #waiting = newBranch()

  constructor(max: number) {
    this.#free = max
  }

  /**
   * Waits for a slot. Resolves to the function that releases it; calling that twice releases it once. Rejects with the
   * reason of `signal` when it aborts first.
   *
   * @param keys - What the slot is for, the most significant key first. Every call passes the same number of keys.
   */
  async acquire(keys: readonly string[], signal: AbortSignal): Promise<() => void> {
    let release = (): void => undefined
    const granted = waitInQueue(signal, (resolve) => {
      const grant = (): void => {
        release = this.#occupy(keys)
        resolve()
      }
      enter(this.#waiting, keys, grant)
      return () => leave(this.#waiting, keys, grant)
    })
    this.#grantNext()
    await granted
    return release
  }

  #occupy(keys: readonly string[]): () => void {
    this.#free -= 1
    this.#count(keys, 1)
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#free += 1
      this.#count(keys, -1)
      this.#grantNext()
    }
  }

  #count(keys: readonly string[], change: 1 | -1): void {
    let path = ''
    for (const key of keys) {
      path = pathTo(path, key)
      const count = this.#usedBy(path) + change
      if (count === 0) this.#used.delete(path)
      else this.#used.set(path, count)
    }
  }

  #grantNext(): void {
    if (this.#free === 0) return
    const keys: string[] = []
    let branch = this.#waiting
    let path = ''
    while (branch.below.size > 0) {
      const [key, below] = this.#leastUsed(branch, path)
      keys.push(key)
      path = pathTo(path, key)
      branch = below
    }
    const [grant] = branch.grants
    if (grant === undefined) return
    leave(this.#waiting, keys, grant)
    grant()
  }

  /** At most as many keys use slots as there are slots, so among more keys than that an unused one is found early. */
  #leastUsed({ below }: Branch, path: string): [key: string, branch: Branch] {
    let best: [key: string, branch: Branch] = ['', newBranch()]
    let fewest = Infinity
    for (const entry of below) {
      const count = this.#usedBy(pathTo(path, entry[0]))
      if (count < fewest) [best, fewest] = [entry, count]
      if (count === 0) break
    }
    return best
  }

  #usedBy(path: string): number {
    return this.#used.get(path) ?? 0
  }
}

/**
 * Waits until the queue calls `grant`. Rejects with the reason of `signal` when it aborts first.
 *
 * @param join - Enters the queue; returns the function that leaves it.
 */
export function waitInQueue(signal: AbortSignal, join: (grant: () => void) => () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    // The signals that come here are aborted with errors.
    const fail = (): void => reject(signal.reason as Error)
    if (signal.aborted) {
      fail()
      return
    }
    let ignore = (): void => {}
    const leaveQueue = join(() => {
      ignore()
      resolve()
    })
    ignore = onAbort(signal, () => {
      leaveQueue()
      fail()
    })
  })
}

function newBranch(): Branch {
  return { below: new Map(), grants: new Set() }
}

/** Includes the length of each key, so that different keys never give the same path. */
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

/** Removes the branches that become empty, too. */
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
