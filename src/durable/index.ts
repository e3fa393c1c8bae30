/**
 * Tasks that outlive the process, and that many processes share.
 *
 * @module
 */
export type { TaskDocuments } from './documents.js'
export { DurableTaskManager } from './durable-task-manager.js'
export type { LeasedTasks, LeasedTasksListener, Taking } from './leases/leased-tasks.js'
export { memoryStore, type MemoryStoreOptions } from './memory-store.js'
export type { DurableTaskManagerOptions, RetentionOptions, RetentionRule } from './options.js'
export type {
  Commit,
  CommitResult,
  Creation,
  DocumentCursor,
  EndedQuery,
  Grant,
  Hint,
  Lease,
  Orphan,
  StoredTask,
  StoreFilter,
  StoreHints,
  StoreQuery,
  TaskDocument,
  TaskHead,
  TaskKey,
  TaskStore,
} from './task-store.js'
