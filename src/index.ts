/**
 * Tasks in memory, with `TaskManager`, and the states, events and errors that all entries share.
 *
 * @module
 */
export { TaskManager } from './core/task-manager.js'
export type { TaskManagerOptions, LimitOptions } from './core/options.js'
export { DEFAULT_EXPIRY_MS, DEFAULT_MAX_INPUT_SIZE, MAX_TASKS } from './core/options.js'
export type {
  AppendArtifactOptions,
  ArtifactInput,
  CancelOptions,
  ChangeOptions,
  CreateTaskParams,
  MessageInput,
  PartInput,
  TaskUpdate,
} from './core/params.js'
export type { OwnerFilter, TaskFilter, TaskPage, TaskQuery } from './core/queries.js'
export type { Lineage, LineageSource } from './core/lineage/mark.js'
export type { SubscribeOptions, TaskSubscription } from './core/subscription.js'
export type { WaitOptions, WaitUntil } from './core/wait.js'

export { fork } from './views/fork.js'
export type { ForkAnswer, ForkOptions } from './views/fork.js'
export { redrive } from './views/redrive.js'
export { deadLetters, redriveAll } from './views/dead-letters.js'
export type { DeadLetterQuery, Redriven, RedriveQuery, RedriveReport } from './views/dead-letters.js'
export { children } from './views/children.js'
export type { ChildDelegation, ChildTask, TaskChildren } from './views/children.js'
export { feed } from './views/feed.js'
export type { FeedEntry, FeedFilter, FeedOptions, TaskFeed } from './views/feed.js'
export { saveTasks } from './views/save.js'
export { restoreTasks } from './views/restore.js'
export type { SavedTask } from './views/restore.js'
export type { SavedJournal } from './views/saved-journal.js'

export {
  A2A_LIFECYCLE,
  canTransition,
  defineLifecycle,
  INTERRUPTED_STATES,
  isInterrupted,
  isTerminal,
  shortestPath,
  toMermaid,
  VALID_TRANSITIONS,
} from './core/lifecycle.js'
export type { Lifecycle, LifecycleOptions, TaskState } from './core/lifecycle.js'
export { TERMINAL_STATES, VALID_STATES } from './core/states.js'

export { SPENDING, spendingOf } from './core/spending.js'
export type { Amounts, Spending, Spent } from './core/spending.js'

export { evolve } from './core/evolve.js'
export type {
  ArtifactChanged,
  AttemptEntry,
  FailureEntry,
  JournalEntry,
  JournalRecorded,
  ListenerFailure,
  MessageAdded,
  OutputChanged,
  SpentInStep,
  StateChange,
  StatusChanged,
  StepError,
  TaskCaughtUp,
  TaskCreated,
  TaskEvent,
  TaskEvents,
  TaskStreamEvent,
  TurnEntry,
} from './core/events.js'
export type {
  Artifact,
  DeepReadonly,
  Message,
  Part,
  StateTransition,
  Task,
  TaskFailure,
  TaskSnapshot,
} from './core/task.js'
export type { JsonObject, JsonValue, ReadonlyJson } from './core/json-types.js'
export type { Clock } from './runtime/clock.js'
export type { GenerateId } from './runtime/ids.js'

export { A2AError } from './core/errors.js'
export type { AnyA2AError, ErrorCode, ErrorData } from './core/errors.js'
