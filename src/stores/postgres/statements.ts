/**
 * The interface to a database that the store needs.
 *
 * @module
 */
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

export type TransactionWork = (client: unknown, statements: Statements) => Promise<void>
