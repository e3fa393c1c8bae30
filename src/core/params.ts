/**
 * Parameters of the methods of a manager.
 *
 * @module
 */
import type { TaskState } from './lifecycle.js'

export interface CreateTaskParams {
  /** The skill that the task asks for. */
  readonly skill: string
  /** JSON, checked when it is passed. Default is `null`. */
  readonly input?: unknown
  /** A JSON object. Default is `{}`. */
  readonly metadata?: object | undefined
  /** The conversation that the task belongs to. Default is a new one, named after the task that begins it. */
  readonly contextId?: string | undefined
  /** Tasks that this one builds on. They need not exist here. */
  readonly referenceTaskIds?: readonly string[] | undefined
  /** To whom the task belongs. The core only stores it and filters by it. */
  readonly owner?: string | undefined
  /** Default is a generated one. Refused when a task has it. */
  readonly id?: string | undefined
}

export interface ChangeOptions {
  /**
   * Refuse the change with `TASK_GENERATION_MISMATCH` unless the task is at this generation. Refused when it is
   * `undefined`, which would let every change through: leave it out.
   */
  readonly expectedGeneration?: number
}

/** A {@link Part} as callers write it: one of `text`, `raw`, `url` and `data`. */
export interface PartInput {
  readonly text?: string | undefined
  readonly raw?: string | undefined
  readonly url?: string | undefined
  readonly data?: unknown
  readonly metadata?: object | undefined
  readonly filename?: string | undefined
  readonly mediaType?: string | undefined
  readonly [key: string]: unknown
}

/** An {@link Artifact} as callers write it. */
export interface ArtifactInput {
  readonly artifactId?: string | undefined
  readonly name?: string | undefined
  readonly description?: string | undefined
  readonly parts?: readonly PartInput[] | undefined
  readonly metadata?: object | undefined
  readonly extensions?: readonly string[] | undefined
  readonly [key: string]: unknown
}

/** A {@link Message} as callers write it. */
export interface MessageInput {
  readonly role: 'user' | 'agent'
  readonly parts: readonly PartInput[]
  /** Default is a generated one. */
  readonly messageId?: string | undefined
  readonly contextId?: string | undefined
  readonly taskId?: string | undefined
  readonly metadata?: object | undefined
  readonly extensions?: readonly string[] | undefined
  readonly referenceTaskIds?: readonly string[] | undefined
}

export interface TaskUpdate<S extends string = TaskState> extends ChangeOptions {
  /** The state to move to. Without it the update is a progress report, legal in every state that is not terminal. */
  readonly state?: S | undefined
  /** JSON, checked when it is passed, that takes the place of the present output. */
  readonly output?: unknown
  /** JSON objects to add. One whose `artifactId` the task knows takes that artifact's place. */
  readonly artifacts?: readonly ArtifactInput[] | undefined
  /** The new status message; `null` takes the present one away. */
  readonly message?: string | MessageInput | null | undefined
}

export interface CancelOptions extends ChangeOptions {
  /** The new status message; `null` takes the present one away. */
  readonly message?: string | MessageInput | null | undefined
}

export interface AppendArtifactOptions extends ChangeOptions {
  /** `false` replaces the artifact instead of continuing it. Default is `true`. */
  readonly append?: boolean | undefined
  /** Says that no chunk will follow. Default is `false`. */
  readonly lastChunk?: boolean | undefined
}
