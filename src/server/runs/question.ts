/**
 * The answer to a question of a run's.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { JsonValue } from '../../core/json-types.js'
import type { SendRequest } from '../../wire/dialect.js'
import type { ReadonlyMessage } from './run.js'
import type { Caller, Principal } from '../caller.js'

/** A message that waits to be dealt with, and who sent it. */
export interface Queued<P extends Principal> {
  readonly request: SendRequest
  readonly caller: Caller<P>
  /** Whether another process took it in. What came with it may be noted beside the task. */
  readonly isHeard?: boolean
  /** What the lease of whoever worked on it told of it: it is to be done again. */
  readonly note?: JsonValue | undefined
}

/** A promise that knows whether anybody wants what it promises: an answer that nobody reads begins another turn. */
class Answer extends Promise<ReadonlyMessage> {
  isRead = false

  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  override then<T = ReadonlyMessage, F = never>(
    onAnswer?: ((answer: ReadonlyMessage) => T | PromiseLike<T>) | null,
    onFailure?: ((reason: unknown) => F | PromiseLike<F>) | null,
  ): Promise<T | F> {
    if (typeof onAnswer === 'function') this.isRead = true
    return super.then(onAnswer, onFailure)
  }
}

/** A question that is open. */
export class Question<P extends Principal> {
  readonly answer: Promise<ReadonlyMessage>
  readonly #answer: Answer
  readonly #taskId: string
  #resolve: (answer: ReadonlyMessage) => void = () => {}
  #reject: (reason: Error) => void = () => {}
  #given: Queued<P> | undefined

  constructor(taskId: string) {
    this.#taskId = taskId
    this.#answer = new Answer((resolve, reject: (reason: Error) => void) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    this.answer = this.#answer
    // Whoever does not wait for it is not to be killed by its rejection, nor does this count as waiting.
    void Promise.prototype.then.call(this.#answer, undefined, () => undefined)
  }

  give(message: Queued<P>): void {
    this.#given = message
    this.#resolve(message.request.message)
  }

  /** Nobody will answer: the task has ended, or the run goes on, or is over. */
  drop(reason: Error = this.#dropped()): void {
    this.#reject(reason)
  }

  /** The answer that was given, if nobody has asked for it. */
  get unread(): Queued<P> | undefined {
    return this.#answer.isRead ? undefined : this.#given
  }

  #dropped(): A2AError {
    const data = { taskId: this.#taskId }
    return new A2AError('WAIT_ABORTED', 'The run went on, or ended, without an answer', data)
  }
}
