/**
 * Types of a queue under test.
 *
 * @module
 */
import type { Turn } from '../../server/dispatch.js'

/** A queue that is empty, opened for one test. */
export interface QueueUnderTest {
  /** The option `dispatch` of handlers. */
  readonly dispatch: (turn: Turn) => unknown
  /**
   * Begins to deliver turns to `run`, several at a time, as a process that works does. A turn whose `run` rejects is delivered
   * again, or dropped. Called several times, one after the other and at once.
   */
  readonly consume: (run: (turn: Turn) => Promise<void>) => Promise<QueueConsumer>
  /** Ends the queue. Every consumer is closed by then. */
  readonly close: () => Promise<void>
  /** Ends the server of the queue in the middle of its work. Required when `supports.halt` is `true`. */
  readonly halt?: (() => Promise<void>) | undefined
  /** Starts it again, with the same data. Required when `supports.halt` is `true`. */
  readonly restart?: (() => Promise<void>) | undefined
}

/** What delivers turns until it is closed. */
export interface QueueConsumer {
  /** Delivers no more turns. Resolves when those that were delivered are done. */
  readonly close: () => Promise<void>
}
