/**
 * What an agent's code works with while it works on a message.
 *
 * @module
 */
import type { ArtifactInput, MessageInput } from '../../core/params.js'
import type { DeepReadonly, Part, TaskSnapshot } from '../../core/task.js'
import type { JsonObject, ReadonlyJson } from '../../core/json-types.js'
import type { Principal } from '../caller.js'

/** A message that cannot be written to. */
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

/** What the agent says: a text, or a message whose role is the agent's. */
export type Say = string | Omit<MessageInput, 'role' | 'taskId' | 'contextId'>

/** How far the work is. */
export interface Progress {
  /** Default tells the numbers. */
  readonly message?: Say | undefined
  /** How much is done, in whatever unit `total` has. */
  readonly current?: number | undefined
  readonly total?: number | undefined
}

export interface ArtifactOptions {
  /** Continues the artifact that has this `artifactId`, if there is one. Default is `true`. */
  readonly append?: boolean | undefined
  /** Says that no chunk will follow. Default is `false`. */
  readonly lastChunk?: boolean | undefined
}

/**
 * One turn of work: from a message of the user's until the task ends, or waits for him and the turn is over.
 *
 * The task is made when the run first needs one, or as soon as the run waits for something, unless it has begun to
 * {@link reply}. Changes are stored and told to every stream before the method that makes them returns. When the task
 * is canceled, times out or expires, `signal` aborts and every method throws the signal's reason. The methods need no
 * `this`: `const { artifact } = run` is fine.
 */
export interface Run<P extends Principal = Principal> {
  /** The message that the run is about. */
  readonly message: ReadonlyMessage
  /** The texts of that message, one after the other. */
  readonly text: string
  /** The task as it is now, frozen. */
  readonly task: TaskSnapshot
  /** The conversation so far, oldest first, this message and those that came meanwhile included. */
  readonly messages: readonly ReadonlyMessage[]
  /** The tasks that the message refers to and the principal may see. */
  readonly referenceTasks: readonly TaskSnapshot[]
  /** Who asks; absent where the handler has no `authenticate`. */
  readonly principal: P | undefined
  /** The tenant that the request names. */
  readonly tenant: string | undefined
  /** What came with the request beside the message. */
  readonly metadata: JsonObject
  /** Extensions that the client declares and the card lists. */
  readonly extensions: readonly string[]
  /** The media types that the client takes; empty for any. */
  readonly acceptedOutputModes: readonly string[]
  /** Aborts when the work is no longer wanted: the task was canceled, timed out or expired, or the agent shuts down. */
  readonly signal: AbortSignal

  /** Moves the task to `working`. Done already, or by the next method that reports work: nothing happens. */
  readonly start: () => void
  /** Reports progress as a status message. It does not join the conversation. */
  readonly update: (report: string | Progress) => void
  /**
   * Adds an artifact, or a chunk of one: give the same `artifactId` again. It has parts; a text is one with one part.
   *
   * @returns The artifact's id.
   */
  readonly artifact: (artifact: string | ArtifactInput, options?: ArtifactOptions) => string
  /**
   * Asks the user: the task is `input-required` until he answers, then `working` again. Not waiting for the promise
   * and returning ends the turn: the answer then begins another run.
   *
   * @returns The answer. Rejects with the signal's reason when the task ends without one. Nobody knows that it has lost
   *   a race: call `start()` then, and what the user says later begins another run.
   */
  readonly requireInput: (prompt: Say) => Promise<ReadonlyMessage>
  /**
   * Asks for credentials, out of band: the task is `auth-required` until a message comes or `start()` is called. The
   * message is no proof that anything was authorized (A2A 1.0 §7.6.4).
   */
  readonly requireAuth: (prompt: Say) => Promise<ReadonlyMessage>
  /** Ends the task as `completed`. */
  readonly complete: (message?: Say) => void
  /** Ends the task as `failed`; `message` is for the client to read. */
  readonly fail: (message?: Say) => void
  /** Ends the task as `rejected`: the agent will not do it. */
  readonly reject: (message?: Say) => void
  /**
   * Answers with a message and no task. Where there is a task already, it is completed with the message. Pass a promise
   * to begin replying before it is known what.
   */
  readonly reply: (message: Say | Promise<Say>) => Promise<void>
}
