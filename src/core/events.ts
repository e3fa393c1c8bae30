/**
 * Events: the entries of a task's log, and the events of a manager.
 *
 * @module
 */
import type { TaskState } from './lifecycle.js'
import type { Artifact, DeepReadonly, Message, TaskSnapshot } from './task.js'
import type { JsonObject, JsonValue } from './json-types.js'

interface EventBase {
  readonly taskId: string
  /** The generation of the task after this event. */
  readonly generation: number
  readonly timestamp: string
}

/** The first event of every task. */
export interface TaskCreated<S extends string = TaskState> extends EventBase {
  readonly type: 'created'
  readonly state: S
  readonly contextId: string
  readonly skill: string
  readonly input: DeepReadonly<JsonValue>
  readonly metadata: DeepReadonly<JsonObject>
  readonly referenceTaskIds?: readonly string[]
  readonly owner?: string
}

/** The task moved to another state. With equal states: it reported progress. */
export interface StatusChanged<S extends string = TaskState> extends EventBase {
  readonly type: 'status'
  readonly from: S
  readonly to: S
  /** The new status message; `null` when the message was removed. */
  readonly message?: string | DeepReadonly<Message> | null
}

export interface OutputChanged extends EventBase {
  readonly type: 'output'
  readonly output: DeepReadonly<JsonValue>
}

/** An artifact, or a chunk of one. */
export interface ArtifactChanged extends EventBase {
  readonly type: 'artifact'
  readonly artifact: DeepReadonly<Artifact>
  /** `true`: `artifact` continues the one with the same `artifactId`. `false`: it is new, or replaces that one. */
  readonly append: boolean
  /** The producer declares that no chunk will follow. */
  readonly lastChunk: boolean
}

export interface MessageAdded extends EventBase {
  readonly type: 'message'
  readonly message: DeepReadonly<Message>
}

/** An entry of a task's log. Folding all entries with `evolve` results in the task. */
export type TaskEvent<S extends string = TaskState> =
  TaskCreated<S> | StatusChanged<S> | OutputChanged | ArtifactChanged | MessageAdded

/**
 * The whole task in place of events: the first entry of a subscription without a cursor (`snapshot`), or sent because
 * the events after the cursor are no longer held (`resync`). Continue from its `generation`; it replaces all earlier
 * events.
 */
export type TaskCaughtUp<S extends string = TaskState> =
  TaskCaughtUpAs<'snapshot', S> | TaskCaughtUpAs<'resync', S>

interface TaskCaughtUpAs<T extends string, S extends string> extends EventBase {
  readonly type: T
  readonly task: TaskSnapshot<S>
}

/** An entry that `subscribe` yields. */
export type TaskStreamEvent<S extends string = TaskState> = TaskCaughtUp<S> | TaskEvent<S>

export interface StateChange<S extends string = TaskState> {
  readonly taskId: string
  readonly from: S
  readonly to: S
  readonly timestamp: string
  readonly generation: number
}

export interface ListenerFailure {
  readonly error: unknown
  /** The event whose listener failed. */
  readonly event: string
}

/**
 * The events of a `TaskManager`. Each is emitted after the change is stored. For one change the order is:
 * `task:stateChange`; then, entry by entry, `task:event` with `task:artifact` or `task:message`; then `task:updated`.
 * Events of different changes do not mix. Payloads are frozen and shared by all listeners.
 */
export interface TaskEvents<S extends string = TaskState> {
  'task:created': (task: TaskSnapshot<S>) => void
  /** The task entered another state. Not emitted for progress within a state. */
  'task:stateChange': (change: StateChange<S>) => void
  /** The task after any change. Not emitted when a task is created. */
  'task:updated': (task: TaskSnapshot<S>) => void
  /** An artifact, or a chunk of one, was added. */
  'task:artifact': (event: ArtifactChanged) => void
  /** A message was added to the conversation. */
  'task:message': (event: MessageAdded) => void
  /** The task exceeded `expiryMs` and was removed. */
  'task:expired': (task: TaskSnapshot<S>) => void
  /** The task was removed to make room for another. */
  'task:evicted': (task: TaskSnapshot<S>) => void
  /** Every entry of every task's log. */
  'task:event': (event: TaskEvent<S>) => void
  /** A listener threw, or its promise rejected. Without a listener for this event the error becomes an uncaught one. */
  'listener:error': (failure: ListenerFailure) => void
}
