/**
 * A run's open question, and the rule for an answer that the agent's code never reads.
 *
 * An executor may call `run.requireInput()` without awaiting it, and return. The user's answer then has to begin another
 * run instead of being lost. Whether it was read is known only from the promise: an answer counts as read once code
 * attaches a fulfilment handler, by `await` or by `then`. Attaching only a rejection handler does not count. That is why
 * {@link Answer} overrides `then`: an API that the agent must call to read an answer would lose it wherever the agent
 * forgets the call.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { ReadonlyJson } from '../../core/json-types.js'
import type { DeepReadonly, Message } from '../../core/task.js'
import type { QueuedMessage } from './message-queue.js'
import type { ReadonlyMessage } from './run.js'
import type { Principal } from '../caller.js'

/** A promise that records whether code waits for its value. */
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

/** How a question with a schema reads the messages that come while this process has it open. */
export interface AnswerReader {
  /** Refuses a message that gives a wrong answer, before the task has it. */
  readonly check: (message: DeepReadonly<Message>) => void
  /**
   * What the message answers, to be stored in one change with it. `undefined` where that is known later: it is stored then.
   *
   * @param isShown - Whether this attempt has shown the question.
   */
  readonly read: (message: ReadonlyMessage, isShown: boolean) => ReadonlyJson | undefined
}

/** A question that a run has asked. */
export class Question<P extends Principal> {
  readonly answer: Promise<ReadonlyMessage>
  /** Its name in the journal. */
  readonly name: string
  /** Absent for a question without a schema. */
  readonly reader: AnswerReader | undefined
  /** Ends the time in which the code deals with the answer. */
  done = (): void => {}
  /** Whether the task has shown it in this attempt. */
  isShown = false
  readonly #answer: Answer
  readonly #taskId: string
  #resolve: (answer: ReadonlyMessage) => void = () => {}
  #reject: (reason: Error) => void = () => {}
  #message: QueuedMessage<P> | undefined

  constructor(taskId: string, name: string, reader?: AnswerReader) {
    this.name = name
    this.reader = reader
    this.#taskId = taskId
    this.#answer = new Answer((resolve, reject: (reason: Error) => void) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    this.answer = this.#answer
    // Code that does not await the answer must not fail with an unhandled rejection. This does not count as reading.
    void Promise.prototype.then.call(this.#answer, undefined, () => undefined)
  }

  resolve(message: QueuedMessage<P>): void {
    this.#message = message
    this.#resolve(message.request.message)
  }

  /** Rejects the answer: the task or the run has ended, or the run continues without it. */
  drop(reason: Error = this.#dropped()): void {
    this.#reject(reason)
  }

  /** Whether code waits for the answer. */
  get isRead(): boolean {
    return this.#answer.isRead
  }

  /** The message that answered the question, unless the agent's code reads it. */
  get unread(): QueuedMessage<P> | undefined {
    return this.isRead ? undefined : this.#message
  }

  #dropped(): A2AError {
    const data = { taskId: this.#taskId }
    return new A2AError('WAIT_ABORTED', 'The run continued or ended before an answer arrived', data)
  }
}

/** The questions of one run that were answered. */
export class Answers<P extends Principal> {
  #questions: Question<P>[] = []

  add(question: Question<P>, message: QueuedMessage<P>): void {
    // Those that were read are forgotten, with their requests: a run may ask any number of questions.
    this.#questions = [...this.#questions.filter(({ unread }) => unread !== undefined), question]
    question.resolve(message)
  }

  get areUnread(): boolean {
    return this.#questions.some(({ unread }) => unread !== undefined)
  }

  /** Removes and returns the answers that the executor has not read, oldest first. */
  removeUnread(): QueuedMessage<P>[] {
    const unread = this.#questions.flatMap((question) => question.unread ?? [])
    this.#questions = []
    return unread
  }
}
