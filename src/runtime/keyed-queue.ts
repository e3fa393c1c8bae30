/**
 * One thing after the other.
 *
 * @module
 */

/** What has to be done about each task, in the order in which it came. */
export class Turns {
  readonly #latest = new Map<string, Promise<void>>()

  /** Does `job` when all that came before it about this task is done, well or not. */
  take<T>(taskId: string, job: () => Promise<T>): Promise<T> {
    const before = this.#latest.get(taskId) ?? Promise.resolve()
    const result = before.then(job)
    const leave = (): void => {
      if (this.#latest.get(taskId) === ended) this.#latest.delete(taskId)
    }
    const ended: Promise<void> = result.then(leave, leave)
    this.#latest.set(taskId, ended)
    return result
  }

  /** Resolves when there is nothing left to do. */
  async ended(): Promise<void> {
    while (this.#latest.size > 0) await Promise.all(this.#latest.values())
  }
}
