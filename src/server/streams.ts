/**
 * The streams that are open.
 *
 * @module
 */
import { A2AError } from '../core/errors.js'
import type { EntryStream } from './entry-stream.js'

export class Streams {
  readonly #open = new Set<EntryStream>()
  readonly #max: number
  #isClosed = false

  constructor(max: number) {
    this.#max = max
  }

  /** @throws {A2AError} `UNAVAILABLE` when there are as many as there may be, or the agent shuts down. */
  requireRoom(): void {
    const reason = this.#isClosed ? 'is shutting down' : 'has too many streams open'
    if (!this.#isClosed && this.#open.size < this.#max) return
    throw new A2AError('UNAVAILABLE', `The agent ${reason}; try again later`, { reason })
  }

  open(make: (onEnd: () => void) => EntryStream): EntryStream {
    const stream = make(() => this.#open.delete(stream))
    this.#open.add(stream)
    return stream
  }

  /** Takes no more streams, and ends those that are open once they have told all. */
  close(): void {
    this.#isClosed = true
    for (const stream of [...this.#open]) stream.close()
  }
}
