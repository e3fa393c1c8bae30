/**
 * Limit on open streams and on requests that wait as long as one, and the end of streams at shutdown.
 *
 * @module
 */
import type { Clock } from '../../runtime/clock.js'
import { settleWithin } from '../../runtime/shutdown.js'
import { yieldToEventLoop } from '../../runtime/timers.js'
import type { CompleteLimits } from '../limits.js'
import { OwnerCounts, tooManyOf } from '../owner-counts.js'
import { unavailable } from '../unavailable.js'

interface Closable {
  close(): void
}

interface StreamListeners {
  /** The stream has made its last entry, or has failed. */
  readonly onEnd: () => void
  /** The reader has written all entries, or has disconnected. */
  readonly onLeave: () => void
}

export class StreamLimit {
  readonly #open = new Set<Closable>()
  /** Streams whose readers may not have the last entry yet. Each promise resolves when its reader has left. */
  readonly #unread = new Map<Closable, Promise<void>>()
  readonly #max: number
  /** Open streams and reservations, by owner. */
  readonly #counts: OwnerCounts
  /** Open streams and reservations. */
  #count = 0
  #isClosed = false

  constructor({ maxStreams, maxStreamsPerOwner }: Pick<CompleteLimits, 'maxStreams' | 'maxStreamsPerOwner'>) {
    this.#max = maxStreams
    this.#counts = new OwnerCounts(maxStreamsPerOwner)
  }

  /** How many streams are open. */
  get count(): number {
    return this.#open.size
  }

  /**
   * Reserves a place for a stream of this owner.
   *
   * @returns Releases the place. Pass it to {@link open}, or call it if no stream is opened. Idempotent.
   * @throws {A2AError} `UNAVAILABLE` at the limit, and once the agent shuts down; `RATE_LIMITED` at the limit of the owner.
   */
  reserve(owner: string | null): () => void {
    const reason = this.#isClosed ? 'is shutting down' : 'has too many streams open'
    if (this.#isClosed || this.#count >= this.#max) {
      throw unavailable(reason)
    }
    if (!this.#counts.hasRoom(owner)) throw tooManyOf('streams')
    this.#count += 1
    this.#counts.add(owner, 1)
    let isReserved = true
    return () => {
      if (!isReserved) return
      isReserved = false
      this.#count -= 1
      this.#counts.add(owner, -1)
    }
  }

  /** Opens the stream that `make` returns. Calls `release` when the stream calls `onEnd`. */
  open<S extends Closable>(release: () => void, make: (listeners: StreamListeners) => S): S {
    let onLeave = (): void => {}
    const left = new Promise<void>((resolve) => {
      onLeave = () => {
        this.#unread.delete(stream)
        resolve()
      }
    })
    const onEnd = (): void => {
      this.#open.delete(stream)
      release()
    }
    const stream = make({ onEnd, onLeave: () => onLeave() })
    this.#open.add(stream)
    this.#unread.set(stream, left)
    return stream
  }

  /**
   * Refuses new streams. Open ones end once their readers have all events so far. Resolves when all readers have left, or
   * after `graceMs`.
   */
  async close(clock: Clock, graceMs: number): Promise<void> {
    this.#isClosed = true
    for (const stream of [...this.#open]) stream.close()
    await settleWithin(clock, graceMs, [...this.#unread.values()])
    // A server behind Fetch writes the last event after it has read the end of the body.
    await yieldToEventLoop()
  }
}
