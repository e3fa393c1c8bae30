/**
 * Work within a transaction of SQLite, which has to be done before it returns.
 *
 * @module
 */
import type { StoredEvent } from '../../durable/stored-events.js'
import type { Transaction, TransactionResult } from '../../durable/task-store.js'
import type { Connection } from './database.js'

type Events = readonly StoredEvent[]

/** What the database refuses of the work, at once or when the transaction commits. All drivers have the same message. */
const REFUSED = /constraint failed/

export class SyncWork {
  readonly #connection: Connection
  readonly #work: Transaction['work']
  #hasBegun = false
  #failure: { readonly error: unknown } | undefined

  constructor(connection: Connection, work: Transaction['work']) {
    this.#connection = connection
    this.#work = work
  }

  /**
   * @throws What the work throws. {TypeError} for work that returns a promise, since the transaction would be over before it is
   *   done, and for work that has ended the transaction.
   */
  run(): Events {
    this.#hasBegun = true
    try {
      this.#connection.exec('SAVEPOINT a2a_work')
      const events = this.#work(this.#connection.database)
      if (events instanceof Promise) {
        events.catch(() => undefined)
        throw new TypeError(
          'The work of a transaction over SQLite must not return a promise: do all of it before it returns',
        )
      }
      this.#requireOpen()
      return events
    } catch (error) {
      this.#failure = { error }
      throw error
    }
  }

  /**
   * The result of a transaction that has thrown.
   *
   * @throws `error`, where it is not of the work.
   */
  refused(error: unknown): TransactionResult {
    if (this.#failure !== undefined) return this.#failure
    if (this.#hasBegun && error instanceof Error && REFUSED.test(error.message)) return { error }
    throw error
  }

  /** Without this, what follows would be written outside of a transaction. */
  #requireOpen(): void {
    try {
      this.#connection.exec('RELEASE a2a_work')
    } catch {
      throw new TypeError('The work must not end its transaction: leave COMMIT and ROLLBACK to the store')
    }
  }
}
