/**
 * Changes whose events result from work in a transaction of the store.
 *
 * @module
 */
import type { TaskEvent } from '../../core/events.js'
import { fromStored, toStored, type StoredEvent } from '../stored-events.js'
import type { TaskStore, Transaction, TransactionResult } from '../task-store.js'
import type { StoreClient } from '../store-client.js'
import type { Change, Work } from './change.js'

/** The work has thrown, or the database refuses what it did. */
export class WorkFailure extends Error {
  readonly reason: unknown

  constructor(reason: unknown) {
    super('The work of a transaction has failed')
    this.reason = reason
  }
}

/**
 * Returns a function that makes the change, and replaces its events by those that are stored. The time that the work takes does
 * not count towards `storeRetryMs`. While one attempt is under way no other begins, also in the next call.
 */
export function transactionOf<S extends string>(
  store: TaskStore,
  storeClient: Pick<StoreClient, 'callWithRetry' | 'now'>,
  commit: Omit<Transaction, 'work'>,
  change: Change<S>,
  work: Work<S>,
): () => Promise<TransactionResult> {
  const { callWithRetry } = storeClient
  const decided = [...change.events]
  const timed = new TimedWork((client) => work(client, decided), storeClient)
  let attempts = 0
  let attempt: Promise<TransactionResult> | undefined
  const request = (): Promise<TransactionResult> => {
    if (attempt !== undefined) return attempt
    attempts += 1
    const own = startTransaction(store, { ...commit, work: timed.run })
    attempt = own
    // A result is final, also one that comes while nothing waits for it.
    own.catch(() => (attempt = undefined))
    return own
  }
  return async () => {
    const { ms } = timed
    const result = await callWithRetry('transact', request, () => timed.ms - ms)
    if (result !== 'committed') return result
    // Of several attempts, the answer of an earlier one may have been lost.
    const known = attempts === 1 ? timed.latest : undefined
    change.events =
      known ??
      // A manager of this lifecycle wrote them.
      ((
        await callWithRetry('events', () =>
          store.events(commit.key, commit.expectedGeneration, decided.length),
        )
      ).map(fromStored) as TaskEvent<S>[])
    return result
  }
}

async function startTransaction(store: TaskStore, transaction: Transaction): Promise<TransactionResult> {
  // Its methods are checked before a change has work.
  if (store.transact === undefined) throw new TypeError('The store has no transactions')
  return await store.transact(transaction)
}

class TimedWork<S extends string> {
  /** What the latest call resulted in. */
  latest: TaskEvent<S>[] | undefined
  readonly #work: (client: unknown) => ReturnType<Work<S>>
  readonly #clock: { now(): number }
  #ms = 0
  #since: number | undefined

  constructor(work: (client: unknown) => ReturnType<Work<S>>, clock: { now(): number }) {
    this.#work = work
    this.#clock = clock
  }

  /** How long the work has taken so far. */
  get ms(): number {
    return this.#ms + (this.#since === undefined ? 0 : this.#clock.now() - this.#since)
  }

  readonly run: Transaction['work'] = (client) => {
    this.latest = undefined
    const events = this.#work(client)
    if (events instanceof Promise) return this.#timed(events)
    this.latest = events
    return toStored(events)
  }

  async #timed(work: Promise<TaskEvent<S>[]>): Promise<readonly StoredEvent[]> {
    const since = this.#clock.now()
    this.#since = since
    try {
      const events = await work
      this.latest = events
      return toStored(events)
    } finally {
      this.#ms += this.#clock.now() - since
      this.#since = undefined
    }
  }
}
