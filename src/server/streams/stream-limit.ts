/**
 * Limit on open streams and on requests that wait as long as one.
 *
 * @module
 */
import { unavailable } from '../unavailable.js'

interface Closable {
  close(): void
}

export class StreamLimit {
  readonly #open = new Set<Closable>()
  readonly #max: number
  /** Open streams and reservations. */
  #count = 0
  #isClosed = false

  constructor(max: number) {
    this.#max = max
  }

  /**
   * Reserves a place for a stream.
   *
   * @returns Releases the place. Pass it to {@link open}, or call it if no stream is opened. Idempotent.
   * @throws {A2AError} `UNAVAILABLE` at the limit, and once the agent shuts down.
   */
  reserve(): () => void {
    const reason = this.#isClosed ? 'is shutting down' : 'has too many streams open'
    if (this.#isClosed || this.#count >= this.#max) {
      throw unavailable(reason)
    }
    this.#count += 1
    let isReserved = true
    return () => {
      if (isReserved) this.#count -= 1
      isReserved = false
    }
  }

  /** Opens the stream that `make` returns. Calls `release` when the stream calls `onEnd`. */
  open<S extends Closable>(release: () => void, make: (onEnd: () => void) => S): S {
    const stream = make(() => {
      this.#open.delete(stream)
      release()
    })
    this.#open.add(stream)
    return stream
  }

  /** Refuses new streams. Open ones end once their readers have all events so far. */
  close(): void {
    this.#isClosed = true
    for (const stream of [...this.#open]) stream.close()
  }
}
