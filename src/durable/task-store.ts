/**
 * The port between `DurableTaskManager` and a database: an event log per task, with checkpoints, leases and documents.
 *
 * @module
 */
import type { MaybePromise, TaskDocuments } from '../core/managers.js'
import type { JsonValue } from '../core/json-types.js'
import type { TaskKey, TaskSnapshot } from '../core/task.js'
import type { StoreFeed } from './feed/store-feed.js'
import type { StoredEvent } from './stored-events.js'

/** The properties that a store finds and orders tasks by, at `generation`. */
export interface TaskHead extends TaskKey {
  /** The number of the task's latest event: 1 for the first, one more with each. */
  readonly generation: number
  readonly state: string
  /** Whether `state` is final: the lifecycle has no transition from it. */
  readonly hasEnded: boolean
  /** ISO 8601, UTC, with milliseconds: text order is time order. */
  readonly updatedAt: string
}

/** A consistent read of one task. Applying `events` to `checkpoint` gives the present task. */
export interface StoredTask {
  /** The task as it was at some generation. */
  readonly checkpoint: TaskSnapshot<string>
  /** Every event after that generation, oldest first. */
  readonly events: readonly StoredEvent[]
}

/** The exclusive right to work on a task. It expires `ttlMs` after it was acquired or last renewed. */
export interface Lease {
  /** Unique for each acquisition. */
  readonly id: string
  /** In ms, measured by the store's clock. */
  readonly ttlMs: number
  /** What a process that recovers the task needs to know. The store returns it in {@link Orphan} and {@link Grant}. */
  readonly note?: JsonValue | undefined
}

/** The lease that a task has after {@link TaskStore.acquire}. */
export interface Grant {
  /** The id of the requested lease if it was granted, or that of the present, unexpired lease. */
  readonly leaseId: string
  /** The task's generation, read in the same atomic step. */
  readonly generation: number
  /** Present if and only if the lease was granted in place of an expired one, whose note this is. */
  readonly replaced?: { readonly note: JsonValue | undefined } | undefined
}

/** An expired lease: its holder has died, or cannot reach the store. */
export interface Orphan {
  readonly key: TaskKey
  readonly leaseId: string
  readonly note: JsonValue | undefined
}

/** How many leases there are: the result of {@link TaskStore.leaseCounts}. */
export interface LeaseCounts {
  /** How many have expired. */
  readonly expired: number
  /**
   * How long ago the first of these has expired, in ms. Those that a commit has expired are left out. 0 when there is no other.
   */
  readonly oldestMs: number
  /** How many have not expired, without those whose id is `parked` or `delayed`: no process holds them. */
  readonly held: number
}

/** A new task for {@link TaskStore.create}. */
export interface Creation {
  /** The task with all `events` applied. It is the first checkpoint. */
  readonly task: TaskSnapshot<string>
  /** The log, beginning with `created`. Empty for a restored task, whose earlier events are lost. */
  readonly events: readonly StoredEvent[]
  readonly head: TaskHead
  /** Unique. Identifies a repeated request. */
  readonly commitId: string
  /** The task's first lease. Ignored when `head.hasEnded`. */
  readonly lease?: Lease | undefined
}

/** One atomic change for {@link TaskStore.commit}. */
export interface Commit {
  readonly key: TaskKey
  /** The generation that the task must have. */
  readonly expectedGeneration: number
  /** At least one. Their generations continue from the expected one without a gap. */
  readonly events: readonly StoredEvent[]
  /** The task's head after the events. */
  readonly head: TaskHead
  /** The task after the events, if it is to replace the stored checkpoint. The log stays complete. */
  readonly checkpoint?: TaskSnapshot<string> | undefined
  /** Unique. Identifies a repeated request. */
  readonly commitId: string
  /** The id of the lease that the task must have. An expired lease counts until another one replaces it. */
  readonly leaseId?: string | undefined
  /** The id of a lease that expires with this change, if the task has it then. */
  readonly expires?: string | undefined
}

/**
 * The result of {@link TaskStore.commit}. All but `committed` mean that nothing has changed.
 *
 * - `committed`: the change is stored, by this request or by an earlier one with the same `commitId`.
 * - `conflict`: the task has another generation.
 * - `lease-lost`: the task has another lease, or none.
 * - `missing`: there is no task with this key.
 */
export type CommitResult = 'committed' | 'conflict' | 'lease-lost' | 'missing'

/** One atomic change for {@link TaskStore.transact}, whose events result from work with the client of the store. */
export interface Transaction extends Omit<Commit, 'events' | 'checkpoint'> {
  /**
   * Does the work within the transaction. After a rollback it may be called again.
   *
   * @param client - The client of the database, within the transaction.
   * @returns The events, as in {@link Commit}; a promise of them only where the driver of the store is asynchronous.
   */
  readonly work: (client: unknown) => MaybePromise<readonly StoredEvent[]>
}

/**
 * The result of {@link TaskStore.transact}: as that of {@link TaskStore.commit}, or the `error` that the work threw or for which
 * the database refuses what it did. All but `committed` mean that nothing has changed, neither the task nor what the work did.
 */
export type TransactionResult = CommitResult | { readonly error: unknown }

/** Selects the tasks that have every given property. Texts are compared exactly. */
export interface StoreFilter {
  readonly state?: string | undefined
  readonly skill?: string | undefined
  readonly contextId?: string | undefined
  /** `null` selects the tasks without an owner. */
  readonly owner?: string | null | undefined
  /** Selects the tasks whose `updatedAt` is this time or later. */
  readonly updatedSince?: string | undefined
}

/** One page for {@link TaskStore.list}. */
export interface StoreQuery extends StoreFilter {
  /** The position of the previous page's last task. The task itself may have moved or gone. */
  readonly after?: { readonly updatedAt: string; readonly id: string } | undefined
  readonly limit: number
}

/** Selects tasks that ended in `state`: those last changed before a time, or all but the `beyond` latest ones. */
export type EndedQuery = { readonly state: string; readonly limit: number } & (
  { readonly updatedBefore: string } | { readonly beyond: number }
)

/** A task for {@link TaskStore.delete}. */
export interface DeletionKey extends TaskKey {
  /** The generation that the task must have. Default is any. */
  readonly expectedGeneration?: number | undefined
}

/** A notice that a task has reached a generation. */
export interface Hint {
  readonly taskId: string
  readonly generation: number
}

/**
 * Notices between the managers of one store. They make changes visible sooner than polling does. A hint may be lost,
 * delayed or repeated: managers read the store and trust only what they read.
 */
export interface StoreHints {
  /** Sends hints to every listener of every process. */
  publish(hints: readonly Hint[]): Promise<void>
  /**
   * Starts to listen. Hints published through this very store arrive, too.
   *
   * @param onGap - Called when hints may have been lost, as after a reconnection.
   * @param signal - Aborts an attempt that has not resolved yet.
   * @returns A function that stops listening.
   */
  listen(onHint: (hint: Hint) => void, onGap: () => void, signal?: AbortSignal): Promise<() => Promise<void>>
}

/**
 * Storage for tasks that several processes may share. `testTaskStore` of `a2a-tasks/testing` tests this contract.
 *
 * Every method obeys these rules:
 *
 * - **Atomicity.** Each call is one atomic step, isolated from concurrent calls of every process.
 * - **Durability.** The effect of a call that has resolved is not lost.
 * - **Failure.** A method rejects with the error of its driver. The manager then does not know whether the step took effect,
 *   and repeats the call, perhaps while the first attempt is still running. A store that rejects with an `A2AError` of code
 *   `STORE_FAILED` states that a repetition is useless, because an operator has to act: tables are missing, for example.
 * - **Idempotence.** A repeated `create` or `commit`, recognized by its `commitId`, resolves as the first one did and changes
 *   nothing more, even after later commits.
 * - **Keys.** A {@link TaskKey} matches only a task with that `id` and that `createdAt`. Methods that take a key treat every
 *   other task as absent.
 * - **Content.** Tasks, events, notes and documents are opaque JSON and are returned exactly as they were given.
 * - **Time.** Leases expire by one clock for all processes, normally that of the database.
 */
export interface TaskStore extends TaskDocuments {
  /**
   * Stores a new task with its log, its first checkpoint and its lease.
   *
   * @returns `false`, with nothing changed, when a task with this id exists.
   */
  create(creation: Creation): Promise<boolean>
  /**
   * Appends events to a task's log, and replaces its head and, if one is given, its checkpoint. Drops the task's lease when
   * `head.hasEnded`. Should cost O(size of the events and of the checkpoint), independent of the size of the task.
   */
  commit(commit: Commit): Promise<CommitResult>
  /**
   * As {@link commit}, in one transaction with `work`. The work is called only while the task has the expected generation and
   * lease, and again after the database has rolled it back for the sake of another transaction. It is not called for a change
   * that is stored already. Absent where the database has no transactions in which other code can take part.
   */
  transact?(transaction: Transaction): Promise<TransactionResult>
  /**
   * This store, whose calls belong to the transaction of the application that `client` is in: they take effect when it commits,
   * hints included. They must end before it does. Once the database has refused a call, all further ones reject with
   * `STORE_FAILED`. Absent where the database has no such transactions.
   *
   * @throws {TypeError} for anything but a client of the database.
   */
  within?(client: unknown): TaskStore
  /** The task with this id; `undefined` when there is none. */
  get(taskId: string): Promise<StoredTask | undefined>
  /** The keys and generations of these tasks, in any order. Tasks that do not exist are left out. */
  heads(taskIds: readonly string[]): Promise<readonly (TaskKey & { readonly generation: number })[]>
  /** At most `limit` events after the generation `after`, oldest first. Empty when there is no such task. */
  events(key: TaskKey, after: number, limit: number): Promise<readonly StoredEvent[]>
  /**
   * One page of the matching tasks, latest `updatedAt` first. Tasks with the same `updatedAt` come in descending order of
   * their ids, compared by code units; ids with other characters than letters, digits, `-`, `_` and `.` may come in any fixed
   * order. The page is one consistent read. Should cost O(page).
   */
  list(query: StoreQuery): Promise<readonly StoredTask[]>
  /**
   * The number of matching tasks, `updatedSince` included: a store that ignores a property of the filter breaks this contract.
   * Counts without reading checkpoints or events, since clients can request a count with every page.
   */
  count(filter: StoreFilter): Promise<number>

  /** Tasks that have not ended and whose `createdAt` is before `createdBefore`, oldest first. */
  unended(createdBefore: string, limit: number): Promise<readonly TaskKey[]>
  /** Tasks that have ended: least recently changed first, or in any order with `beyond`. */
  ended(query: EndedQuery): Promise<readonly TaskKey[]>
  /**
   * Removes tasks with their logs, leases and documents. A key with an `expectedGeneration` matches only a task
   * that has it.
   *
   * @returns The keys of those that existed, in any order. Of concurrent calls, one returns each key.
   */
  delete(keys: readonly DeletionKey[]): Promise<readonly TaskKey[]>

  /**
   * Gives the task this lease, if it has none or an expired one. When the task has the lease with this id already, renews it
   * and replaces its note.
   *
   * @returns The lease that the task has now; `undefined` when there is no such task, or it has ended.
   */
  acquire(key: TaskKey, lease: Lease): Promise<Grant | undefined>
  /**
   * Makes leases expire `ttlMs` from now, or that long ago if it is negative, including expired ones that no other lease has
   * replaced. Must not wait behind other calls, however many there are: a store over a pool keeps a connection for this method.
   * A manager abandons a call after a third of `ttlMs`.
   *
   * @returns The ids of those that their tasks still have.
   */
  renew(
    leases: readonly { readonly key: TaskKey; readonly id: string }[],
    ttlMs: number,
  ): Promise<readonly string[]>
  /**
   * Drops the lease, if the task has it.
   *
   * @param expectedGeneration - Drops the lease only when the task has this generation.
   * @param next - The lease that the task has in place of the dropped one, from the same atomic step on. It may last for years,
   *   and have the same id: then the lease stays, with another note and term. Its `ttlMs` may be negative: then it has expired
   *   that long ago.
   * @returns `false` when the task has another generation, and keeps the lease. `true` in all other cases, also when the task
   *   did not have the lease.
   */
  release(key: TaskKey, leaseId: string, expectedGeneration?: number, next?: Lease): Promise<boolean>
  /** Expired leases, the one that expired first coming first. */
  orphans(limit: number): Promise<readonly Orphan[]>
  /**
   * Counts at most `limit` leases that have expired, and at most `limit` others: those that expire next. Should cost
   * O(`limit`). Absent where the store cannot tell. Managers then refuse `backlog`.
   */
  leaseCounts?(limit: number): Promise<LeaseCounts>

  /** Absent where the database cannot notify its clients. Managers then only poll. */
  readonly hints?: StoreHints | undefined
  /** Absent where the store does not keep the order of all events. Managers then refuse `feed`. */
  readonly feed?: StoreFeed | undefined
}
