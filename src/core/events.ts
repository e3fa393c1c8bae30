/**
 * Events of a task: the entries of its log, and the events of the manager.
 *
 * @module
 */
import type { TaskState } from './lifecycle.js'
import type { Artifact, DeepReadonly, Message, TaskSnapshot } from './task.js'
import type { JsonObject, JsonValue } from './json-types.js'

interface EventBase {
  readonly taskId: string
  /** The generation that this event brought the task to. */
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

/** The task moved from one state to another, or, where both are the same, reported progress. */
export interface StatusChanged<S extends string = TaskState> extends EventBase {
  readonly type: 'status'
  readonly from: S
  readonly to: S
  /** The status message that came with it; `null`: there is none any more. */
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
  /** `true`: `artifact` continues the one that has its `artifactId`. `false`: it is new, or takes that one's place. */
  readonly append: boolean
  /** The producer says that no chunk will follow. */
  readonly lastChunk: boolean
}

export interface MessageAdded extends EventBase {
  readonly type: 'message'
  readonly message: DeepReadonly<Message>
}

/** An entry of a task's log. Folding all of them with `evolve` gives the task. */
export type TaskEvent<S extends string = TaskState> =
  TaskCreated<S> | StatusChanged<S> | OutputChanged | ArtifactChanged | MessageAdded

/**
 * The whole task in place of events: first of a subscription without a cursor (`snapshot`), or because the events
 * after the cursor are no longer held (`resync`). Go on from its `generation`; forget what came before.
 */
export type TaskCaughtUp<S extends string = TaskState> =
  TaskCaughtUpAs<'snapshot', S> | TaskCaughtUpAs<'resync', S>

interface TaskCaughtUpAs<T extends string, S extends string> extends EventBase {
  readonly type: T
  readonly task: TaskSnapshot<S>
}

/** What `subscribe` yields. */
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
 * The events of a `TaskManager`. Each is emitted after the change is stored. Of one command `task:stateChange` comes
 * first, then, entry by entry, `task:event` with `task:artifact` or `task:message`, then `task:updated`; nothing of
 * the next command comes between. Payloads are frozen and shared by all listeners.
 */
export interface TaskEvents<S extends string = TaskState> {
  'task:created': (task: TaskSnapshot<S>) => void
  /** The task entered another state. Progress within a state does not count. */
  'task:stateChange': (change: StateChange<S>) => void
  /** The task as it is after a change, whatever the change was; not emitted when it is created. */
  'task:updated': (task: TaskSnapshot<S>) => void
  /** An artifact, or a chunk of one, arrived. */
  'task:artifact': (event: ArtifactChanged) => void
  /** A message joined the conversation. */
  'task:message': (event: MessageAdded) => void
  /** The task outlived `expiryMs` and is gone. */
  'task:expired': (task: TaskSnapshot<S>) => void
  /** The task made room for another and is gone. */
  'task:evicted': (task: TaskSnapshot<S>) => void
  /** Every entry of every log. */
  'task:event': (event: TaskEvent<S>) => void
  /** A listener threw, or its promise rejected. Without a listener here the error becomes an uncaught one. */
  'listener:error': (failure: ListenerFailure) => void
}
