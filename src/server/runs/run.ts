/**
 * The interface of a run: what an agent's code works with while it handles a message.
 *
 * @module
 */
import type { ArtifactInput, MessageInput } from '../../core/params.js'
import type { DeepReadonly, Part, TaskSnapshot } from '../../core/task.js'
import type { JsonObject, ReadonlyJson } from '../../core/json-types.js'
import type { Principal } from '../caller.js'

/** A message of the conversation, read-only. */
export interface ReadonlyMessage {
  readonly messageId: string
  readonly role: 'user' | 'agent'
  readonly parts: readonly DeepReadonly<Part>[]
  readonly contextId?: string
  readonly taskId?: string
  readonly metadata?: { readonly [key: string]: ReadonlyJson }
  readonly extensions?: readonly string[]
  readonly referenceTaskIds?: readonly string[]
}

/** A message of the agent: a text, or a message without the fields that the run sets (`role`, `taskId`, `contextId`). */
export type Say = string | Omit<MessageInput, 'role' | 'taskId' | 'contextId'>

/** Progress of the work. Requires `message` or `current`. */
export interface Progress {
  /** The status message. Default is the numbers: `3 of 10`. */
  readonly message?: Say | undefined
  /** The amount done, in the unit of `total`. Clients read it in the status message's `metadata.progress`. */
  readonly current?: number | undefined
  /** The amount in all. */
  readonly total?: number | undefined
}

export interface ArtifactOptions {
  /** Appends to the artifact with this `artifactId`, if there is one, instead of replacing it. Default is `true`. */
  readonly append?: boolean | undefined
  /** Marks the last chunk of the artifact. Default is `false`. */
  readonly lastChunk?: boolean | undefined
}

/**
 * One turn of work: it begins with a message of the user, and ends when the executor returns.
 *
 * The task is created by the first method that needs it, or as soon as the executor waits for something, unless
 * {@link reply} was called before. When the executor returns, the task is completed, unless it is terminal, waits for the
 * user, or has messages that wait for another run.
 *
 * Each method applies its change before it returns, and open streams receive it; over a `DurableTaskManager` changes are
 * stored afterwards, in their order. When the task is canceled, times out or expires, `signal` aborts, and every method
 * that changes the task throws the signal's reason. The methods do not use `this`: `const { artifact } = run` works.
 */
export interface Run<P extends Principal = Principal> {
  /** The message that began this run. */
  readonly message: ReadonlyMessage
  /** The texts of {@link message}, joined. */
  readonly text: string
  /** The current task, frozen. Creates the task if there is none. */
  readonly task: TaskSnapshot
  /** The conversation so far, oldest first, with {@link message} and all messages that arrived since. */
  readonly messages: readonly ReadonlyMessage[]
  /** The tasks that the message refers to, as far as they exist and belong to the same owner. */
  readonly referenceTasks: readonly TaskSnapshot[]
  /** The principal who sent the message. Absent where the handler has no `authenticate`. */
  readonly principal: P | undefined
  /** The tenant that the request names. */
  readonly tenant: string | undefined
  /** The metadata of the request, beside that of the message. Empty if there is none. */
  readonly metadata: JsonObject
  /** The extensions that the client declares and the agent card lists. */
  readonly extensions: readonly string[]
  /** The media types that the client accepts. Empty for any. */
  readonly acceptedOutputModes: readonly string[]
  /** Aborts when the work is no longer wanted: the task is canceled, times out or expires, or the agent shuts down. */
  readonly signal: AbortSignal

  /**
   * Moves the task to `working`. Idempotent. {@link update} and {@link artifact} do it by themselves. An open question is
   * dropped: its promise rejects with `WAIT_ABORTED`.
   */
  readonly start: () => void
  /** Reports progress as the task's status message. It does not join the conversation. */
  readonly update: (report: string | Progress) => void
  /**
   * Adds an artifact, or appends a chunk to the artifact with the same `artifactId`. A text becomes an artifact with one
   * text part.
   *
   * @returns The artifact's id, generated where it has none. Pass it to the next call to append.
   * @throws {TypeError} when the artifact has no parts.
   * @throws {A2AError} `LIMIT_EXCEEDED`; the signal's reason.
   */
  readonly artifact: (artifact: string | ArtifactInput, options?: ArtifactOptions) => string
  /**
   * Asks the user: the task is `input-required` until the user answers, then `working` again. A run that waits takes no
   * place in `limits.maxRuns`, and the time does not count for `limits.runTimeoutMs`.
   *
   * To end the turn with the question, return without awaiting the promise: the answer then begins another run. To give up
   * waiting, as after `Promise.race`, call {@link start}.
   *
   * @returns The answer. Rejects with the signal's reason when the task ends without one, and with `WAIT_ABORTED` when the
   *   run goes on without it.
   * @throws {TypeError} when the run waits for an answer already, or has ended.
   */
  readonly requireInput: (prompt: Say) => Promise<ReadonlyMessage>
  /**
   * Asks for credentials that the user gives out of band: the task is `auth-required` until a message arrives or
   * {@link start} is called. Otherwise as {@link requireInput}. The message does not prove that anything was authorized
   * (A2A 1.0 §7.6.4).
   */
  readonly requireAuth: (prompt: Say) => Promise<ReadonlyMessage>
  /** Ends the task as `completed`. `message` joins the conversation. */
  readonly complete: (message?: Say) => void
  /** Ends the task as `failed`. `message` joins the conversation, and clients read it. */
  readonly fail: (message?: Say) => void
  /** Ends the task as `rejected`: the agent does not do this work. `message` joins the conversation. */
  readonly reject: (message?: Say) => void
  /**
   * Replies with a message instead of a task. Where the task exists already, completes it with the message. Pass a promise
   * to announce the reply before its content is known: no task is created while it is pending.
   *
   * @returns Resolves once the reply is made. Rejects with what `message` rejects with, which also fails the run.
   * @throws {TypeError} As a rejection, when the run has replied already.
   */
  readonly reply: (message: Say | Promise<Say>) => Promise<void>
}
