/**
 * Tasks that outlive the process, and that many processes share.
 *
 * @module
 */
export type { LeasedTasks, LeasedTasksListener, Taking } from './leased-tasks.js'
export type {
  Commit,
  CommitResult,
  Creation,
  DocumentCursor,
  EndedQuery,
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
