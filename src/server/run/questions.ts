/**
 * The questions of one run: asking, answering and replaying them.
 *
 * @module
 */
import type { JournalEntry } from '../../core/events.js'
import type { DeepReadonly, Message } from '../../core/task.js'
import type { QueuedMessage } from './message-queue.js'
import type { AskingState, RunPort } from './run-context.js'
import type { ReadonlyMessage, Say } from './run.js'
import type { Principal } from '../caller.js'
import type { Journal } from '../journal/journal.js'
import type { TurnIds } from '../journal/writes/turn-ids.js'
import { Answers, Question, type CheckAnswer } from './question.js'

/** What questions use of the other parts of their turn. */
interface Parts {
  readonly journal: Journal
  readonly ids: TurnIds
  /** Called when the run begins or stops to wait for the user. */
  readonly onWaiting: () => void
}

export class Questions<P extends Principal> {
  readonly #run: RunPort<P>
  readonly #parts: Parts
  readonly #unreadIds: string[] = []
  /** The ids of the messages that have answered questions. */
  readonly answerIds: string[] = []
  readonly #answers = new Answers<P>()
  #open: Question<P> | undefined
  /** A question that the journal answers. */
  #replayed: Question<P> | undefined
  /** Why the code wants no answer to {@link #replayed}. */
  #unwanted: Error | undefined
  #leave = (): void => {}

  constructor(run: RunPort<P>, parts: Parts) {
    this.#run = run
    this.#parts = parts
  }

  /** Whether the code has yet to read an answer, or a question has none. */
  get areUnread(): boolean {
    return this.isOpen || this.#replayed !== undefined || this.#answers.areUnread
  }

  get isOpen(): boolean {
    return this.#open !== undefined
  }

  /** Whether the code has asked, and the journal may answer. */
  get isReplayed(): boolean {
    return this.#replayed !== undefined
  }

  /** Whether an earlier attempt has asked what has no answer, and the code has not asked it again. */
  get isLeftOpen(): boolean {
    return this.#replayed !== undefined || this.#parts.journal.hasOpenQuestion
  }

  /** Whether the code waits for the answer to an open question. Code that does not may wait for something else. */
  get isAwaited(): boolean {
    return this.#open?.isRead === true
  }

  /** @throws {TypeError} when a question is open already. */
  ask(state: AskingState, prompt: Say): Promise<ReadonlyMessage> {
    return this.pose(state, prompt).answer
  }

  /**
   * As {@link ask}.
   *
   * @param check - Called with each message that comes while this process has the question open.
   */
  pose(
    state: AskingState,
    prompt: Say,
    check?: CheckAnswer,
  ): { readonly name: string; readonly answer: Promise<ReadonlyMessage> } {
    if (this.isOpen || this.#replayed !== undefined)
      throw new TypeError('The run already waits for an answer: await it before you ask again')
    const { journal } = this.#parts
    const { id } = this.#run.task()
    const question = new Question<P>(id, journal.nameOf('question', state), check)
    if (journal.isReplaying) void this.#replay(question, state, prompt)
    else this.#askNow(question, state, prompt)
    return question
  }

  /** @throws What the open question throws of the message, which is not in the conversation yet. */
  check(message: DeepReadonly<Message>): void {
    this.#open?.check?.(message)
  }

  /**
   * Moves the task to `working` and answers the open question.
   *
   * @returns `false` when no question is open.
   */
  resume(message: QueuedMessage<P>): boolean {
    const question = this.#open
    this.#close()
    let entries: readonly JournalEntry[] = []
    let failure: unknown
    try {
      if (question !== undefined) entries = this.#answerEntries(question, message)
    } catch (error) {
      // The journal has no room for the answer.
      failure = error
    }
    this.#run.move('working', entries)
    this.#parts.onWaiting()
    if (question === undefined) return false
    if (failure === undefined) this.#answer(question, message)
    else {
      this.#putBack(message)
      question.drop(failure as Error)
    }
    return true
  }

  /** Rejects the open question: the run continues without its answer, or has ended its task. */
  drop(reason?: Error): void {
    const question = this.#open
    this.#replayed?.drop(reason)
    this.#replayed = undefined
    this.#close()
    question?.drop(reason)
  }

  /** Rejects the question, if it is open or the journal has yet to answer it. */
  dropNamed(name: string, reason: Error): void {
    if (this.#isNamed(name)) this.drop(reason)
  }

  /** Withdraws the question for code that wants no answer any more. In a replay, the journal says what became of it. */
  withdrawUnwanted(name: string, reason: Error): void {
    const { journal } = this.#parts
    if (this.#replayed?.name === name && !this.#run.signal().aborted) this.#unwanted = reason
    else
      this.withdraw(name, reason, () =>
        // Beside others than the question itself.
        journal.entriesFor({ kind: 'withdrawn', name }, journal.inFlight - 1),
      )
  }

  /**
   * Rejects the question, and moves the task on in one change with the entries. In a replay an earlier attempt has done so, and
   * a message that waits answers a later question. A run that is over moves nothing: another may ask the question again.
   *
   * @returns `false`, with nothing changed, when the question is not open any more.
   */
  withdraw(name: string, reason: Error, entries: () => readonly JournalEntry[]): boolean {
    const { context, move, task, signal } = this.#run
    const { journal, onWaiting } = this.#parts
    const { isRepeating } = journal
    if (!this.#isNamed(name)) return false
    if (signal().aborted) {
      this.drop(signal().reason as Error)
      return true
    }
    if (this.#open === undefined && !isRepeating && context.queues.has(task().id)) return false
    if (!isRepeating) move('working', entries())
    this.drop(reason)
    onWaiting()
    return true
  }

  #isNamed(name: string): boolean {
    return (this.#open ?? this.#replayed)?.name === name
  }

  /** Forgets the open question. Its promise stays pending. */
  abandon(): void {
    this.#close()
  }

  /** Removes and returns the answers that the executor has not read, oldest first. */
  removeUnread(): QueuedMessage<P>[] {
    const unread = this.#answers.removeUnread()
    this.#unreadIds.push(...unread.map(({ request }) => request.message.messageId))
    return unread
  }

  /** The ids of the answers that were removed as unread. */
  get unreadIds(): readonly string[] {
    return this.#unreadIds
  }

  #answer(question: Question<P>, message: QueuedMessage<P>): void {
    this.answerIds.push(message.request.message.messageId)
    this.#answers.add(question, message)
  }

  #close(): void {
    this.#open = undefined
    this.#leave()
    this.#leave = () => {}
  }

  #askNow(question: Question<P>, state: AskingState, prompt: Say): void {
    const { journal, ids } = this.#parts
    const { move, signal } = this.#run
    const { name } = question
    if (signal().aborted) {
      question.drop(signal().reason as Error)
      return
    }
    if (this.#answerNext(question, false)) return
    const entries = journal.entriesFor({ kind: 'question', name })
    // Before the task changes: a listener of the change may answer synchronously.
    this.#wait(question)
    try {
      move(state, entries, { say: prompt, messageId: ids.ofQuestion(name) })
    } catch (error) {
      this.#close()
      throw error
    }
    this.#onWaiting()
  }

  /** Answers a question as the journal does, or asks it if the journal ends before. */
  async #replay(question: Question<P>, state: AskingState, prompt: Say): Promise<void> {
    const { journal } = this.#parts
    const { name } = question
    this.#replayed = question
    try {
      const isAsked = journal.pass('question', name) !== undefined
      // At once where possible: code that returns without awaiting the question leaves its answer unread.
      const answer = journal.take('answer', name) ?? (await journal.next('answer', name))
      if (this.#replayed !== question) return
      this.#replayed = undefined
      const unwanted = this.#unwanted
      this.#unwanted = undefined
      if (answer?.kind === 'withdrawn') {
        question.drop(unwanted)
        return
      }
      if (answer !== undefined) {
        this.#answer(question, this.#recordedAnswer(answer.messageId))
        return
      }
      if (!isAsked) {
        if (unwanted === undefined) this.#askNow(question, state, prompt)
        else question.drop(unwanted)
        return
      }
      if (this.#answerNext(question, true)) return
      this.#wait(question)
      if (unwanted !== undefined) {
        this.withdrawUnwanted(name, unwanted)
        return
      }
      this.#run.showAgain(state, { say: prompt, messageId: this.#parts.ids.ofQuestion(name) })
      this.#onWaiting()
    } catch (error) {
      this.#replayed = undefined
      question.drop(error as Error)
    }
  }

  /**
   * Answers the question with the next message that waits.
   *
   * @throws {A2AError} `LIMIT_EXCEEDED`. Then the message still waits.
   * @returns `false` when none waits.
   */
  #answerNext(question: Question<P>, isAsked: boolean): boolean {
    const { journal } = this.#parts
    const { context, task } = this.#run
    const { id } = task()
    const next = context.queues.shift(id)
    if (next === undefined) return false
    try {
      if (!isAsked) journal.record({ kind: 'question', name: question.name })
      for (const entry of this.#answerEntries(question, next)) journal.record(entry)
    } catch (error) {
      this.#putBack(next)
      throw error
    }
    context.assigned(id, next)
    this.#answer(question, next)
    return true
  }

  /** The message waits for the next question or turn. */
  #putBack(message: QueuedMessage<P>): void {
    const { context, task } = this.#run
    context.queues.unshift(task().id, [message])
  }

  #wait(question: Question<P>): void {
    this.#open = question
    this.#leave = this.#parts.journal.enter()
  }

  #onWaiting(): void {
    this.#parts.onWaiting()
    // A listener that is added now misses an earlier abort.
    const { signal } = this.#run
    if (signal().aborted) this.drop(signal().reason as Error)
  }

  #answerEntries({ name }: Question<P>, { request }: QueuedMessage<P>): readonly JournalEntry[] {
    const { messageId } = request.message
    return this.#parts.journal.entriesFor({ kind: 'answer', name, messageId })
  }

  /** The answer that the conversation has. Tenant and principal are those of the turn. */
  #recordedAnswer(messageId: string): QueuedMessage<P> {
    const { context, task } = this.#run
    const messages = task().peek()?.messages ?? []
    const message = messages.find((each) => each.role === 'user' && each.messageId === messageId)
    if (message === undefined) throw new Error(`The conversation has no message ${messageId}`)
    // Snapshots are frozen. Runs expose messages as read-only, so nothing writes to them.
    const answer = message as Message
    const { request, caller, owner } = context.message
    const { tenant, acceptedOutputModes } = request
    return {
      request: {
        message: answer,
        returnImmediately: true,
        acceptedOutputModes,
        ...(tenant !== undefined && { tenant }),
      },
      caller,
      owner,
      isForwarded: true,
    }
  }
}
