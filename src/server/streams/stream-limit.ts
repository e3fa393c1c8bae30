/**
 * The streams that are open, and the requests that wait like one.
 *
 * @module
 */
import { unavailable } from '../unavailable.js'

interface Closable {
  close(): void
}

export class Streams {
  readonly #open = new Set<Closable>()
  readonly #max: number
  /** Places that are taken, open streams and those to come. */
  #places = 0
  #isClosed = false

  constructor(max: number) {
    this.#max = max
  }

  /**
   * A place for a stream. Give it to {@link open}, or call it to give it back.
   *
   * @throws {A2AError} `UNAVAILABLE` when there are as many as there may be, or the agent shuts down.
   */
  reserve(): () => void {
    const reason = this.#isClosed ? 'is shutting down' : 'has too many streams open'
    if (this.#isClosed || this.#places >= this.#max) {
      throw unavailable(reason)
    }
    this.#places += 1
    let isTaken = true
    return () => {
      if (isTaken) this.#places -= 1
      isTaken = false
    }
  }

  open<S extends Closable>(release: () => void, make: (onEnd: () => void) => S): S {
    const stream = make(() => {
      this.#open.delete(stream)
      release()
    })
    this.#open.add(stream)
    return stream
  }

  /** Takes no more streams, and ends those that are open once they have told all. */
  close(): void {
    this.#isClosed = true
    for (const stream of [...this.#open]) stream.close()
  }
}
