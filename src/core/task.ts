/**
 * The task and its parts.
 *
 * @module
 */
import type { JsonObject, JsonValue, ReadonlyJson } from './json-types.js'
import type { TaskState } from './lifecycle.js'

// A type, not an interface: only a type may be passed where an object with any other properties is taken.
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

/** One turn of the conversation (A2A 1.0 §4.1.4). */
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

/** A result. Any JSON object; those of A2A have an `artifactId` and `parts` (A2A 1.0 §4.1.7). */
export interface Artifact {
  artifactId?: string
  name?: string
  description?: string
  parts?: Part[]
  metadata?: JsonObject
  extensions?: string[]
  [key: string]: JsonValue | Part[] | undefined
}

/** A state that the task entered, and when. */
export interface StateTransition<S extends string = TaskState> {
  state: S
  timestamp: string
}

/** A task, as plain JSON. Timestamps are ISO 8601, UTC, with milliseconds. */
export interface Task<S extends string = TaskState> {
  /** A UUID v4 unless the manager has an id generator of its own. */
  id: string
  /** Groups the tasks of one conversation: the id of its first task, unless the caller named it. */
  contextId: string
  /** The skill that the task asks for. */
  skill: string
  state: S
  /** What the task is given. */
  input: JsonValue
  /** What comes of it. `null` until it is set. */
  output: JsonValue
  /** The latest status message. Absent until the first, and kept until the next, whatever the state becomes. */
  message?: string | Message
  /** The conversation, oldest first. */
  messages: Message[]
  /** Results, in the order in which they were begun. */
  artifacts: Artifact[]
  /** Whatever the creator wants to be kept with the task. */
  metadata: JsonObject
  /** The states that the task went through, oldest first. */
  history: StateTransition<S>[]
  /** Tasks that this one builds on. */
  referenceTaskIds?: string[]
  /** To whom the task belongs. */
  owner?: string
  /** The number of events that made the task what it is: 1 when created, one more with every event. */
  generation: number
  createdAt: string
  /** When the latest event happened. */
  updatedAt: string
}

/** Identifies a task among all that have had its id: an id can be used again once its task is removed. */
export interface TaskKey {
  readonly id: string
  readonly createdAt: string
}

export function keyOf({ id, createdAt }: TaskKey): TaskKey {
  return { id, createdAt }
}

/** `T` with every property and element read-only, all the way down. */
export type DeepReadonly<T> = [JsonValue, T] extends [T, JsonValue] ? ReadonlyJson : Elementwise<T>
type Elementwise<T> = T extends readonly (infer E)[]
  ? readonly DeepReadonly<E>[]
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T

/** A task as it stood at one generation: frozen, and shared with whoever else asks for it. */
export interface TaskSnapshot<S extends string = TaskState> extends DeepReadonly<
  Omit<Task, 'state' | 'history'>
> {
  readonly state: S
  readonly history: readonly Readonly<StateTransition<S>>[]
}
