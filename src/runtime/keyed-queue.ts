/**
 * Queues of jobs, one for each key.
 *
 * @module
 */

/** A queue for each key. Queues of different keys are independent. */
export class KeyedQueue {
  readonly #latest = new Map<string, Promise<void>>()

  /** Runs `job` after all earlier jobs of the key have settled. Returns its result. */
  run<T>(key: string, job: () => Promise<T>): Promise<T> {
    const previous = this.#latest.get(key) ?? Promise.resolve()
    const result = previous.then(job)
    const leave = (): void => {
      if (this.#latest.get(key) === ended) this.#latest.delete(key)
    }
    const ended: Promise<void> = result.then(leave, leave)
    this.#latest.set(key, ended)
    return result
  }

  /** Resolves when all queues are empty. */
  async ended(): Promise<void> {
    while (this.#latest.size > 0) await Promise.all(this.#latest.values())
  }
}
