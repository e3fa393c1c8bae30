/**
 * Jobs that run one at a time, in their order.
 *
 * @module
 */
export class Sequence {
  #last: Promise<unknown> = Promise.resolve()

  /** Starts the job when all earlier ones have ended. */
  run<T>(job: () => Promise<T>): Promise<T> {
    const result = this.#last.then(job)
    this.#last = result.catch(() => undefined)
    return result
  }
}
