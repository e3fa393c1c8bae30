/**
 * What a `DurableTaskManager` keeps its tasks in: a log of events per task, with a copy of the task beside it.
 *
 * @module
 */
import type { TaskEvent } from '../core/events.js'
import type { TaskDocuments } from '../core/documents.js'
import type { TaskKey, TaskSnapshot } from '../core/task.js'
import type { JsonValue } from '../core/json-types.js'

/** What a store finds and orders tasks by, as they are at `generation`. */
export interface TaskHead extends TaskKey {
  readonly generation: number
  readonly state: string
  /** Whether `state` is one that no task leaves. */
  readonly hasEnded: boolean
  readonly updatedAt: string
}

/** A task, read in one consistent moment: `events` applied to `checkpoint` give it. */
export interface StoredTask {
  /** The whole task as it was at some generation. */
  readonly checkpoint: TaskSnapshot<string>
  /** All that happened since, oldest first. */
  readonly events: readonly TaskEvent<string>[]
}

/** The right to work on a task, until `ttlMs` have passed since it was taken or renewed. */
export interface Lease {
  /** Unique: who takes a task again takes another lease. */
  readonly id: string
  /** In ms, by the store's clock. */
  readonly ttlMs: number
  /** What whoever has to recover the task needs to know. */
  readonly note?: JsonValue | undefined
}

/** Which lease a task has, and where the task was when that was said. */
export interface Grant {
  readonly leaseId: string
  readonly generation: number
  /** The note of a lease that had run out, where this one has just taken its place. */
  readonly replaced?: { readonly note: JsonValue | undefined } | undefined
}

/** A lease that ran out: whoever held it has died, or cannot reach the store. */
export interface Orphan {
  readonly key: TaskKey
  readonly leaseId: string
  readonly note: JsonValue | undefined
}

export interface Creation {
  readonly task: TaskSnapshot<string>
  /** The first is `created`, and the task is what comes of all of them. None where it comes from elsewhere, log and all lost. */
  readonly events: readonly TaskEvent<string>[]
  readonly head: TaskHead
  /** Unique. A creation that is given again after it was carried out answers as it did. */
  readonly commitId: string
  /** Dropped where the task has ended, as by a commit that ends it. */
  readonly lease?: Lease | undefined
}

export interface Commit {
  readonly key: TaskKey
  /** The generation that the task must be at. */
  readonly expectedGeneration: number
  /** At least one; the first has the generation after the expected one. */
  readonly events: readonly TaskEvent<string>[]
  /** The task after them. Where it has ended, its lease is dropped. */
  readonly head: TaskHead
  /** The whole task after them, where it is time to keep it: then `events` need not be read any more to have it. */
  readonly checkpoint?: TaskSnapshot<string> | undefined
  /** Unique. A commit that is given again after it was carried out answers `committed`, and changes nothing. */
  readonly commitId: string
  /** The id of a lease that must be the task's, run out or not. */
  readonly leaseId?: string | undefined
}

/**
 * `conflict`: the task is at another generation. `lease-lost`: its lease is another, or none. `missing`: there is no
 * such task. Then nothing has changed.
 */
export type CommitResult = 'committed' | 'conflict' | 'lease-lost' | 'missing'

/** Those that have every property given here. */
export interface StoreFilter {
  readonly state?: string | undefined
  readonly skill?: string | undefined
  readonly contextId?: string | undefined
  /** `null`: tasks that have no owner. */
  readonly owner?: string | null | undefined
  /** Those that changed then or later, by their `updatedAt`. */
  readonly updatedSince?: string | undefined
}

export interface StoreQuery extends StoreFilter {
  /** Only what comes after this task in the order. */
  readonly after?: { readonly updatedAt: string; readonly id: string } | undefined
  readonly limit: number
}

/** Which of the tasks that ended in `state` are meant. */
export type EndedQuery = { readonly state: string; readonly limit: number } & (
  | { readonly updatedBefore: string }
  /** Those that are left when so many of the latest are left out. */
  | { readonly beyond: number }
)

/** That a task has come to a generation. */
export interface Hint {
  readonly taskId: string
  readonly generation: number
}

/** How managers tell each other where to look. A hint may be lost, late or doubled: nothing depends on it. */
export interface StoreHints {
  publish(hints: readonly Hint[]): Promise<void>
  /**
   * Also hears what is published here. `onGap`: some may have been lost. Resolves when it listens, with what ends that.
   * `signal` ends it before: nobody waits for it any more.
   */
  listen(onHint: (hint: Hint) => void, onGap: () => void, signal?: AbortSignal): Promise<() => Promise<void>>
}

/**
 * A place that tasks live in, which many processes may share.
 *
 * Each method is one atomic step, and what has been acknowledged stays. Methods reject with what the driver throws;
 * whether the step was taken is then unknown, and it may be given again, also while it is still under way. What they
 * reject with `STORE_FAILED` of their own is not given again: it needs a person, as tables that are not set up do.
 * They do not look into tasks and events: these are JSON, and come back as they went in. `testTaskStore` of
 * `a2a-tasks/testing` tests all that is said here.
 */
export interface TaskStore extends TaskDocuments {
  /** `false` when a task has this id, and nothing has changed. */
  create(creation: Creation): Promise<boolean>
  commit(commit: Commit): Promise<CommitResult>
  get(taskId: string): Promise<StoredTask | undefined>
  /** Where these tasks are; those that are not there are left out. Any order. */
  heads(taskIds: readonly string[]): Promise<readonly (TaskKey & { readonly generation: number })[]>
  /** The events after the generation `after`, oldest first, at most `limit` of them. None where there is no such task. */
  events(key: TaskKey, after: number, limit: number): Promise<readonly TaskEvent<string>[]>
  /** Latest `updatedAt` first; of those with the same, in an order of their ids. O(page). */
  list(query: StoreQuery): Promise<readonly StoredTask[]>
  count(filter: StoreFilter): Promise<number>

  /** Tasks that have not ended and were created before, oldest first. */
  unended(createdBefore: string, limit: number): Promise<readonly TaskKey[]>
  /** Tasks that have ended: least recently changed first, or, with `beyond`, in any order. */
  ended(query: EndedQuery): Promise<readonly TaskKey[]>
  /** Removes tasks with all that is theirs. Resolves to the keys of those that there were, in any order. */
  delete(keys: readonly TaskKey[]): Promise<readonly TaskKey[]>

  /**
   * Takes the lease of a task, if none holds it that has not run out. With the id of the lease that it has: renews it,
   * with this note in place of the one that it had. Resolves to the lease that the task has now; `undefined` when there
   * is no such task, or it has ended.
   */
  acquire(key: TaskKey, lease: Lease): Promise<Grant | undefined>
  /** From now on they run out `ttlMs` from now, also those that have run out. Resolves to the ids of those that still are. */
  renew(
    leases: readonly { readonly key: TaskKey; readonly id: string }[],
    ttlMs: number,
  ): Promise<readonly string[]>
  /**
   * Gives a lease back. With `expectedGeneration` only when the task is there: `false` when it is not, and is still
   * held. `true` also when there was nothing to give back.
   */
  release(key: TaskKey, leaseId: string, expectedGeneration?: number): Promise<boolean>
  /** Leases that have run out, longest ago first. */
  orphans(limit: number): Promise<readonly Orphan[]>

  readonly hints?: StoreHints | undefined
}
