/**
 * Parameters of the methods of a manager.
 *
 * @module
 */
import type { TaskState } from './lifecycle.js'

/** Parameters of `createTask`. Only `skill` is required. */
export interface CreateTaskParams {
  /** The skill that the task requests. */
  readonly skill: string
  /** JSON, checked and copied when it is passed. Default is `null`. */
  readonly input?: unknown
  /** A JSON object. Default is `{}`. */
  readonly metadata?: object | undefined
  /** The conversation that the task belongs to. Default is a new one, with the id of the task. */
  readonly contextId?: string | undefined
  /** Ids of tasks that this one builds on. They need not exist in this manager. Default is none. */
  readonly referenceTaskIds?: readonly string[] | undefined
  /** The owner of the task. The core only stores it and filters by it. Default is none. */
  readonly owner?: string | undefined
  /** Default is a generated id. Throws `INVALID_PARAMS` when another task has the id. */
  readonly id?: string | undefined
}

/** A condition on a change. */
export interface ChangeOptions {
  /**
   * Throws `TASK_GENERATION_MISMATCH` unless the task is at this generation. An explicit `undefined` is refused, since
   * it would allow every change: omit the property instead.
   */
  readonly expectedGeneration?: number
}

// A type, not an interface: an interface is not assignable to an object type with an index signature.
type PartFields = {
  readonly metadata?: object | undefined
  readonly filename?: string | undefined
  readonly mediaType?: string | undefined
}

/** A {@link Part} as callers pass it, with exactly one of `text`, `raw`, `url` and `data`. */
export type PartInput = PartFields &
  (
    | { readonly text: string; readonly raw?: undefined; readonly url?: undefined; readonly data?: undefined }
    | { readonly raw: string; readonly text?: undefined; readonly url?: undefined; readonly data?: undefined }
    | { readonly url: string; readonly text?: undefined; readonly raw?: undefined; readonly data?: undefined }
    | {
        readonly data: unknown
        readonly text?: undefined
        readonly raw?: undefined
        readonly url?: undefined
      }
  )

/** An {@link Artifact} as callers pass it. */
export interface ArtifactInput {
  readonly artifactId?: string | undefined
  readonly name?: string | undefined
  readonly description?: string | undefined
  readonly parts?: readonly PartInput[] | undefined
  readonly metadata?: object | undefined
  readonly extensions?: readonly string[] | undefined
  readonly [key: string]: unknown
}

/** A {@link Message} as callers pass it. */
export interface MessageInput {
  readonly role: 'user' | 'agent'
  readonly parts: readonly PartInput[]
  /** Default is a generated id. */
  readonly messageId?: string | undefined
  readonly contextId?: string | undefined
  readonly taskId?: string | undefined
  readonly metadata?: object | undefined
  readonly extensions?: readonly string[] | undefined
  readonly referenceTaskIds?: readonly string[] | undefined
}

/** Parameters of `updateTask` and `patchTask`. Absent properties stay as they are. */
export interface TaskUpdate<S extends string = TaskState> extends ChangeOptions {
  /** The new state. Without it the update reports progress, which is legal in every state that is not terminal. */
  readonly state?: S | undefined
  /** The new output: JSON, checked and copied when it is passed. */
  readonly output?: unknown
  /** Artifacts to add: JSON objects. One with the `artifactId` of a present artifact replaces that artifact. */
  readonly artifacts?: readonly ArtifactInput[] | undefined
  /** The new status message; `null` removes the present one. Default is to keep that. */
  readonly message?: string | MessageInput | null | undefined
  /**
   * Changes of the task's metadata, as a JSON object: each key replaces the value that the task has for it, `null` removes
   * the key, and other keys stay. Input and metadata stay within `maxInputSize`. Keys that begin with
   * `https://a2a-tasks.dev/extensions/` are refused: the library writes them.
   */
  readonly metadata?: object | undefined
}

/** Options of `cancelTask`. */
export interface CancelOptions extends ChangeOptions {
  /** The new status message; `null` removes the present one. Default is to keep that. */
  readonly message?: string | MessageInput | null | undefined
}

/** What belongs to entries of a journal, and is changed with them in one step. */
export interface JournalChange<S extends string = TaskState> {
  /** Joins the conversation before the entries. */
  readonly message?: MessageInput | undefined
  /** Made after the entries. */
  readonly update?: TaskUpdate<S> | undefined
}

/** Options of `appendArtifact`. */
export interface AppendArtifactOptions extends ChangeOptions {
  /** `true` appends to the artifact with the same id, `false` replaces it. Default is `true`. */
  readonly append?: boolean | undefined
  /** Declares that no chunk will follow. Default is `false`. */
  readonly lastChunk?: boolean | undefined
  /** For code that keeps a journal: the `step` of the event. */
  readonly step?: string | undefined
  /** For code that keeps a journal: the `restored` of the event. Needs `append: false`. */
  readonly restored?: boolean | undefined
}
