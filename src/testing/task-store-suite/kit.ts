/**
 * Types of the suite's tests.
 *
 * @module
 */
import type { TaskStore } from '../../durable/task-store.js'

/** The input of each test. */
export interface StoreKit {
  readonly store: TaskStore
  /** Opens another client of the same data. Resolves to `store` itself when the store supports no second client. */
  readonly another: () => Promise<TaskStore>
  /** The store's clock, in ms since 1970. Tests advance it. */
  readonly clock: { ms: number }
}

/** Tests by title. */
export type StoreTests = Readonly<Record<string, (kit: StoreKit) => Promise<void>>>
