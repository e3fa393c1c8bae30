/**
 * Types of the suite's tests.
 *
 * @module
 */
import type { TaskStore } from '../../durable/task-store.js'

/** A counter in the database, which begins with 0. */
export interface StoreCounter {
  /** Adds 1 by `client`, which `transact` passes to its work. Returns a promise only where the driver does. */
  readonly add: (client: unknown) => void | Promise<void>
  /** Reads the counter outside of all transactions. */
  readonly read: () => Promise<number>
}

/** The input of each test. */
export interface StoreKit {
  readonly store: TaskStore
  /** Opens another client of the same data. Resolves to `store` itself when the store supports no second client. */
  readonly another: () => Promise<TaskStore>
  /** The store's clock, in ms since 1970. Tests advance it. */
  readonly clock: { ms: number }
  readonly counter: StoreCounter | undefined
}

/** Tests by title. */
export type StoreTests = Readonly<Record<string, (kit: StoreKit) => Promise<void>>>
