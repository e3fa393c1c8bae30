/**
 * Abort scope of a request: the signal of the caller and a timeout, as one signal.
 *
 * @module
 */
import { MAX_DELAY_MS, type Clock } from '../runtime/clock.js'
import { aborted, timedOut } from './errors.js'

/** A signal that follows the caller's, and a timer that can be set anew. Ends with `dispose`. */
export class AbortScope {
  readonly #controller = new AbortController()
  readonly #clock: Clock
  readonly #outer: AbortSignal | undefined
  #disarm: (() => void) | undefined

  /** @throws {A2AError} `REQUEST_ABORTED` when `outer` is aborted already. */
  constructor(clock: Clock, outer: AbortSignal | undefined) {
    if (outer?.aborted) throw aborted(outer)
    this.#clock = clock
    this.#outer = outer
    outer?.addEventListener('abort', this.#follow)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  readonly #follow = (): void => {
    if (this.#outer !== undefined) this.abort(aborted(this.#outer))
  }

  abort(reason: Error): void {
    this.#controller.abort(reason)
  }

  get #reason(): Error {
    // What was given to abort().
    return this.signal.reason as Error
  }

  /** Aborts after `timeoutMs`, unless it is called again, or disposed of, before. `Infinity` for never. */
  arm(timeoutMs: number, what?: string): void {
    this.#disarm?.()
    this.#disarm =
      timeoutMs > MAX_DELAY_MS
        ? undefined
        : this.#clock.schedule(() => this.abort(timedOut(timeoutMs, what)), timeoutMs)
  }

  /** What `work` gives, or the reason of the signal, also where `work` does not heed it. */
  async race<T>(work: () => Promise<T>): Promise<T> {
    const { signal } = this
    signal.throwIfAborted()
    let settle = (): void => {}
    const end = new Promise<never>((_, reject) => {
      const onAbort = (): void => reject(this.#reason)
      signal.addEventListener('abort', onAbort)
      settle = () => signal.removeEventListener('abort', onAbort)
    })
    try {
      return await Promise.race([work(), end])
    } catch (error) {
      signal.throwIfAborted()
      throw error
    } finally {
      settle()
    }
  }

  dispose(): void {
    this.arm(Infinity)
    this.#outer?.removeEventListener('abort', this.#follow)
  }
}
