/**
 * The agent's code: what it receives and returns.
 *
 * @module
 */
import type { Principal } from './caller.js'
import type { Nothing } from './nothing.js'
import type { Output, ReadableLike } from './run/output.js'
import type { Run } from './run/run.js'

/**
 * What an executor returns:
 *
 * - An {@link Output} completes the task. A string, part or plain object becomes an artifact with one part. A message joins
 *   the conversation.
 * - An async iterable or a `ReadableStream` adds its elements as they arrive, and then completes the task. Strings, parts and
 *   plain objects are appended to one artifact. An artifact with an `artifactId` continues the artifact with this id. A
 *   message becomes the status message.
 * - `undefined` completes the task as it is.
 *
 * A task that the run has ended stays as it is. A task that waits for the user stays so, unless `execute` returns an `Output`.
 * Any other value fails the task, with a `TypeError` at `onError`.
 */
export type Outcome = Output | AsyncIterable<Output> | ReadableLike<Output> | Nothing

/** A message that would begin a task. */
export interface Offer<P extends Principal = Principal> extends Pick<
  Run<P>,
  'message' | 'text' | 'metadata' | 'tenant' | 'principal'
> {
  /** The owner of the task that would be created, as tasks are filtered by; `null` for no owner. */
  readonly owner: string | null
}

/** The agent's code: does the work of one message. */
export interface Execute<P extends Principal = Principal, R = Outcome> {
  (run: Run<P>): R | Promise<R>
  /**
   * Called with each message that would begin a task, before the task is created. If it throws or rejects with an
   * `A2AError`, the client receives that error and no task is created. It must have no side effects, as the message may
   * still be refused.
   */
  readonly accept?: (offer: Offer<P>) => void | Promise<void>
}
