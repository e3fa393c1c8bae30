/**
 * The interface to a database that the store needs.
 *
 * @module
 */
import { describe } from '../../runtime/describe.js'
import type { Parameter } from './clients.js'

/** The columns of a row, in the order of the statement. Every column is selected as text. */
export type Row = readonly (string | null)[]

export interface Statements {
  /** Runs one statement in one round trip. Statements are prepared, so there must be few distinct texts. */
  rows(text: string, parameters: readonly Parameter[]): Promise<readonly Row[]>
  /** Runs a statement that returns no rows. Resolves to the number of rows it inserted, updated or deleted. */
  count(text: string, parameters: readonly Parameter[]): Promise<number>
}

export interface Connection extends Statements {
  /**
   * Calls `work` in a transaction, with the driver's client for it, and with statements that belong to it. Rolls back and rejects
   * when `work` rejects.
   */
  transaction(work: TransactionWork): Promise<void>
  /**
   * Statements in the transaction that a client of the same driver is in.
   *
   * @throws {TypeError} for another client.
   */
  within(client: unknown): Statements
  /**
   * Listens to `channel`. Resolves once the subscription is active, to a function that ends it. `onGap` is called when
   * the subscription is active again after an interruption, in which notifications may have been lost. `signal` ends it
   * earlier.
   */
  listen(
    channel: string,
    onPayload: (payload: string) => void,
    onGap: () => void,
    signal?: AbortSignal,
  ): Promise<() => Promise<void> | void>
}

/** The error for what is no client of a transaction. */
export function noTransaction(client: unknown, got = describe(client)): TypeError {
  return new TypeError(
    `"client" must be the client in which your transaction has begun: of the Pool, of sql.begin(), or of transaction() of the PGlite, got ${got}`,
  )
}

export type TransactionWork = (client: unknown, statements: Statements) => Promise<void>
