/**
 * Tasks in a store, with `DurableTaskManager`, which survive the process and which several processes can share.
 *
 * @module
 */
export { DurableTaskManager } from './durable-task-manager.js'
export type {
  AcquireResult,
  LeasedTasks,
  LeasedTasksListener,
  TaskDocuments,
  DocumentCursor,
  TaskDocument,
  Announce,
  SharedTasksStats,
  Backlog,
  TasksObserver,
} from '../core/managers.js'
export type { StoreFeed, StoreFeedEntry, StoreFeedPage } from './feed/store-feed.js'
export type { StoredEvent, StoredJournalEntry } from './stored-events.js'
export { restoreArchive, type ArchiveOptions } from './archive.js'
export { memoryStore, type MemoryStoreOptions } from './memory-store.js'
export type { DurableTaskManagerOptions, RetentionOptions, RetentionRule } from './options.js'
export type {
  Commit,
  CommitResult,
  Creation,
  EndedQuery,
  Grant,
  DeletionKey,
  Hint,
  Lease,
  LeaseCounts,
  Orphan,
  StoredTask,
  StoreFilter,
  StoreHints,
  StoreQuery,
  TaskHead,
  TaskStore,
  Transaction,
  TransactionResult,
} from './task-store.js'
export type { TaskKey } from '../core/task.js'
export type { TraceHeaders } from '../runtime/trace-headers.js'
