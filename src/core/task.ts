/**
 * Data model: tasks, messages, artifacts and parts.
 *
 * @module
 */
import type { JsonObject, JsonValue, ReadonlyJson } from './json-types.js'
import type { TaskState } from './lifecycle.js'

// A type, not an interface: an interface is not assignable to an object type with an index signature.
type PartBase = {
  metadata?: JsonObject
  filename?: string
  mediaType?: string
}

/** A piece of content: exactly one of `text`, `raw` (base64), `url` and `data` (A2A 1.0 §4.1.6). */
export type Part =
  | (PartBase & { text: string; raw?: never; url?: never; data?: never })
  | (PartBase & { raw: string; text?: never; url?: never; data?: never })
  | (PartBase & { url: string; text?: never; raw?: never; data?: never })
  | (PartBase & { data: JsonValue; text?: never; raw?: never; url?: never })

/** One message of the conversation (A2A 1.0 §4.1.4). */
export interface Message {
  messageId: string
  role: 'user' | 'agent'
  parts: Part[]
  contextId?: string
  taskId?: string
  metadata?: JsonObject
  extensions?: string[]
  referenceTaskIds?: string[]
}

/** A result. Any JSON object; artifacts of A2A have an `artifactId` and `parts` (A2A 1.0 §4.1.7). */
export interface Artifact {
  artifactId?: string
  name?: string
  description?: string
  parts?: Part[]
  metadata?: JsonObject
  extensions?: string[]
  [key: string]: JsonValue | Part[] | undefined
}

/** A state that the task entered, with the time. */
export interface StateTransition<S extends string = TaskState> {
  state: S
  timestamp: string
}

/** Why a task has failed for good. Clients of the protocol do not receive it. */
export interface TaskFailure {
  /** `'error'`: `execute` threw in its last attempt. `'restarts'`: its processes died. */
  reason: 'error' | 'restarts'
  /** The number of attempts, or of restarts in a row. */
  count: number
  error?: { name: string; message: string; code?: string | number | undefined }
  /** What kind of work the processes did that died. Absent for that of a request handler. */
  worker?: string
}

/** A task, as plain JSON. Timestamps are ISO 8601, UTC, with milliseconds. */
export interface Task<S extends string = TaskState> {
  /** A UUID v4 unless the manager has its own `generateId`. */
  id: string
  /** The conversation that the task belongs to: the id of its first task unless the caller sets it. */
  contextId: string
  /** The skill that the task requests. */
  skill: string
  state: S
  /** The input of the skill. */
  input: JsonValue
  /** The result as a value. `null` until it is set. */
  output: JsonValue
  /** The latest status message. Absent before the first; a new state without a message keeps it. */
  message?: string | Message
  /** The conversation, oldest first. */
  messages: Message[]
  /** Results, in order of creation. */
  artifacts: Artifact[]
  /** Data of the creator, kept with the task. */
  metadata: JsonObject
  /** The states of the task so far, oldest first. */
  history: StateTransition<S>[]
  /** Ids of tasks that this one builds on. */
  referenceTaskIds?: string[]
  /** The owner of the task. */
  owner?: string
  /** The generation at which the journal of the present turn of work begins. Absent where there is none. */
  turn?: number
  /** The signals that the code has not received yet, oldest first. Absent where there are none. */
  signals?: Signal[]
  /** Why the task has failed for good. Absent where it has not, or has failed without attempts or restarts. */
  failure?: TaskFailure
  /** The number of events of the task: 1 when it is created, one more with every event. */
  generation: number
  createdAt: string
  /** The time of the latest event. */
  updatedAt: string
}

/** A value that was sent to the code of a task, by `signal`. */
export interface Signal {
  readonly name: string
  readonly value: JsonValue
  /** The value holds what JSON does not have, with tags. */
  readonly tagged?: true
}

/** Identifies a task among all tasks that have had its id: an id can be used again once its task is removed. */
export interface TaskKey {
  readonly id: string
  readonly createdAt: string
}

export function keyOf({ id, createdAt }: TaskKey): TaskKey {
  return { id, createdAt }
}

/** `T` with every property and element read-only, at all depths. */
export type DeepReadonly<T> = [JsonValue, T] extends [T, JsonValue] ? ReadonlyJson : Elementwise<T>
type Elementwise<T> = T extends readonly (infer E)[]
  ? readonly DeepReadonly<E>[]
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T

/** A task at one generation: frozen and shared between callers. */
export interface TaskSnapshot<S extends string = TaskState> extends DeepReadonly<
  Omit<Task, 'state' | 'history'>
> {
  readonly state: S
  readonly history: readonly Readonly<StateTransition<S>>[]
}
