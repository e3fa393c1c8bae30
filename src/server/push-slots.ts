/**
 * How many requests are sent at a time, and who is next.
 *
 * @module
 */

/** Places for requests. When all are taken, the next one goes to the origin that has the fewest, then to who came first. */
export class Slots {
  #free: number
  /** How many places each origin has; none that has none. */
  readonly #taken = new Map<string, number>()
  readonly #waiting = new Map<string, Set<() => void>>()

  constructor(max: number) {
    this.#free = max
  }

  /** Waits for a place. The function that it resolves with gives it back. Rejects with the reason of `signal`. */
  take(origin: string, signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      // Whoever aborts gives an error.
      const fail = (): void => reject(signal.reason as Error)
      if (signal.aborted) {
        fail()
        return
      }
      const onAbort = (): void => {
        this.#leave(origin, grant)
        fail()
      }
      const grant = (): void => {
        signal.removeEventListener('abort', onAbort)
        resolve(this.#occupy(origin))
      }
      signal.addEventListener('abort', onAbort, { once: true })
      const queue = this.#waiting.get(origin) ?? new Set()
      this.#waiting.set(origin, queue.add(grant))
      this.#next()
    })
  }

  #occupy(origin: string): () => void {
    this.#free -= 1
    this.#taken.set(origin, this.#takenBy(origin) + 1)
    let isTaken = true
    return () => {
      if (!isTaken) return
      isTaken = false
      this.#free += 1
      const left = this.#takenBy(origin) - 1
      if (left === 0) this.#taken.delete(origin)
      else this.#taken.set(origin, left)
      this.#next()
    }
  }

  #next(): void {
    if (this.#free === 0) return
    let best: string | undefined
    for (const origin of this.#waiting.keys()) {
      if (best === undefined || this.#takenBy(origin) < this.#takenBy(best)) best = origin
    }
    if (best === undefined) return
    const [grant] = this.#waiting.get(best) ?? []
    if (grant === undefined) return
    this.#leave(best, grant)
    grant()
  }

  #leave(origin: string, grant: () => void): void {
    const queue = this.#waiting.get(origin)
    queue?.delete(grant)
    if (queue?.size === 0) this.#waiting.delete(origin)
  }

  #takenBy(origin: string): number {
    return this.#taken.get(origin) ?? 0
  }
}
