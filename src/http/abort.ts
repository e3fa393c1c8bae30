/**
 * Abort scope of a request: the signal of the caller and a timeout, as one signal.
 *
 * @module
 */
import { onAbort, raceAbort } from '../runtime/abort.js'
import { MAX_DELAY_MS, type Clock } from '../runtime/clock.js'
import { aborted, timedOut } from './errors.js'

/** Aborts with the caller's signal, after a timeout that can be reset, or by `abort()`. Call `dispose()` at the end. */
export class AbortScope {
  readonly #controller = new AbortController()
  readonly #clock: Clock
  readonly #leave: () => void
  #disarm: (() => void) | undefined

  /** @throws {A2AError} `REQUEST_ABORTED` when `outer` is aborted already. */
  constructor(clock: Clock, outer: AbortSignal | undefined) {
    if (outer?.aborted) throw aborted(outer)
    this.#clock = clock
    this.#leave = outer === undefined ? () => {} : onAbort(outer, () => this.abort(aborted(outer)))
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  abort(reason: Error): void {
    this.#controller.abort(reason)
  }

  /**
   * Aborts with `REQUEST_TIMED_OUT` after `timeoutMs`. Replaces the previous timeout. Beyond the longest delay of a timer,
   * such as `Infinity`, there is no timeout. `leftMs` is what is left of the timeout if it began earlier.
   */
  arm(timeoutMs: number, what?: string, leftMs = timeoutMs): void {
    this.#disarm?.()
    this.#disarm =
      leftMs > MAX_DELAY_MS
        ? undefined
        : this.#clock.schedule(() => this.abort(timedOut(timeoutMs, what)), leftMs)
  }

  /**
   * As {@link raceAbort}, but `work` does not start after an abort, and an abort replaces the error that it causes in `work`.
   */
  async race<T>(work: () => Promise<T>): Promise<T> {
    const { signal } = this
    signal.throwIfAborted()
    try {
      return await raceAbort(signal, work())
    } catch (error) {
      signal.throwIfAborted()
      throw error
    }
  }

  /** Stops the timer and detaches from the caller's signal. Does not abort. */
  dispose(): void {
    this.arm(Infinity)
    this.#leave()
  }
}
