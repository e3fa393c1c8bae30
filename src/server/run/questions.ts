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
import { isOfOther } from './marks.js'
import { Answers, Question, type AnswerReader } from './question.js'

/** What questions use of the other parts of their turn. */
interface Parts {
  readonly journal: Journal
  readonly ids: TurnIds
  /** Called when the run begins or stops to wait for the user. */
  readonly onWaiting: () => void
}

/** A question that the journal may answer. */
interface Replayed<P extends Principal> {
  readonly question: Question<P>
  /** Whether an earlier attempt has asked it. */
  isAsked: boolean
  /** Why the code wants no answer. */
  unwanted?: Error
}

/** A question that is asked when the open one has its answer. */
interface Waiting<P extends Principal> {
  readonly question: Question<P>
  readonly state: AskingState
  readonly prompt: Say
  readonly leave: () => void
}

/** How a question with a schema is asked. */
interface TypedQuestion {
  /** Its name in the journal, which tells it from others that the code asks at the same time. */
  readonly name: string
  readonly reader: AnswerReader
  /** Whether parallel code may ask in another order than before. */
  readonly isParallel: boolean
}

/** A question that was asked, or waits for its turn. */
interface Posed {
  readonly name: string
  readonly answer: Promise<ReadonlyMessage>
  /** Whether this attempt has shown it. */
  readonly isShown: () => boolean
  /** The code has dealt with the answer. Until then, it does not only wait. */
  readonly done: () => void
}

export class Questions<P extends Principal> {
  readonly #run: RunPort<P>
  readonly #parts: Parts
  readonly #unreadIds: string[] = []
  /** The ids of the messages that have answered questions. */
  readonly answerIds: string[] = []
  readonly #answers = new Answers<P>()
  #open: Question<P> | undefined
  /** By their names. */
  readonly #replayed = new Map<string, Replayed<P>>()
  #waiting: readonly Waiting<P>[] = []
  #leave = (): void => {}

  constructor(run: RunPort<P>, parts: Parts) {
    this.#run = run
    this.#parts = parts
  }

  /** Whether the code has yet to read an answer, or a question has none. */
  get areUnread(): boolean {
    return this.isOpen || this.isReplayed || this.#waiting.length > 0 || this.#answers.areUnread
  }

  get isOpen(): boolean {
    return this.#open !== undefined
  }

  /** Whether the code has asked, and the journal may answer. */
  get isReplayed(): boolean {
    return this.#replayed.size > 0
  }

  /** How many questions are open, or wait for that. */
  get count(): number {
    return (this.isOpen ? 1 : 0) + this.#waiting.length
  }

  /** Whether an earlier attempt has asked what has no answer, and the code has not asked it again. */
  get isLeftOpen(): boolean {
    return this.isReplayed || this.#parts.journal.hasOpenQuestion
  }

  /** Whether the code waits for the answer to an open question. Code that does not may wait for something else. */
  get isAwaited(): boolean {
    return this.#open?.isRead === true
  }

  /** @throws {TypeError} when a question is open already. */
  ask(state: AskingState, prompt: Say): Promise<ReadonlyMessage> {
    if (this.count > 0 || this.isReplayed)
      throw new TypeError('The run already waits for an answer: await it before you ask again')
    return this.#pose(state, prompt).answer
  }

  /** As {@link ask}, but a question that is asked beside another one waits until that is over. */
  pose(state: AskingState, prompt: Say, typed: TypedQuestion): Posed {
    return this.#pose(state, prompt, typed)
  }

  #pose(state: AskingState, prompt: Say, typed?: TypedQuestion): Posed {
    const { journal } = this.#parts
    const { id } = this.#run.task()
    const question = new Question<P>(id, journal.nameOf('question', typed?.name ?? state), typed?.reader)
    if (journal.isRepeating) void this.#replay(question, state, prompt, typed?.isParallel)
    else this.#askInTurn(question, state, prompt)
    const { name, answer } = question
    return { name, answer, isShown: () => question.isShown, done: () => question.done() }
  }

  /** Whether the user has said something since the message that asked. */
  #isAnswered(id: string): boolean {
    const { messages = [] } = this.#run.task().peek() ?? {}
    const at = messages.findLastIndex(({ messageId }) => messageId === id)
    return at !== -1 && messages.slice(at + 1).some(({ role }) => role === 'user')
  }

  /** @throws What the open question throws of the message, which is not in the conversation yet. */
  check(message: DeepReadonly<Message>): void {
    this.#open?.reader?.check(message)
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
    this.#askNext()
    return true
  }

  /** Rejects all questions: the run continues without their answers, or has ended its task. */
  drop(reason?: Error): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const { question } of this.#replayed.values()) question.drop(reason)
    this.#replayed.clear()
    this.#dropOpen(reason)
    for (const { question, leave } of waiting) {
      leave()
      question.drop(reason)
    }
  }

  #dropOpen(reason: Error | undefined): void {
    const question = this.#open
    this.#close()
    question?.drop(reason)
  }

  /** Rejects the question, if it has no answer yet. */
  dropNamed(name: string, reason: Error): void {
    if (this.#open?.name === name) this.#dropOpen(reason)
    this.#replayed.get(name)?.question.drop(reason)
    this.#replayed.delete(name)
    const waiting = this.#waiting.find(({ question }) => question.name === name)
    this.#waiting = this.#waiting.filter((each) => each !== waiting)
    waiting?.leave()
    waiting?.question.drop(reason)
    this.#askNext()
  }

  /**
   * Withdraws the question for code that wants no answer any more. In a replay, the journal says what became of one that was asked,
   * and has nothing of another one.
   */
  withdrawUnwanted(name: string, reason: Error): void {
    const { journal } = this.#parts
    const replayed = this.#replayed.get(name)
    if (replayed?.isAsked === true) replayed.unwanted = reason
    else if (replayed !== undefined || this.#isWaiting(name)) this.dropNamed(name, reason)
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
    const isOpen = this.#open?.name === name
    const replayed = this.#replayed.get(name)
    const isUnasked = this.#isWaiting(name) || replayed?.isAsked === false
    if (!isOpen && !isUnasked && replayed === undefined) return false
    if (signal().aborted) {
      this.drop(signal().reason as Error)
      return true
    }
    if (isUnasked) {
      journal.store(entries())
    } else {
      if (!isOpen && !isRepeating && context.queues.has(task().id)) return false
      if (!isRepeating) move('working', entries())
    }
    this.dropNamed(name, reason)
    onWaiting()
    return true
  }

  #isWaiting(name: string): boolean {
    return this.#waiting.some(({ question }) => question.name === name)
  }

  /** Forgets the questions. Their promises stay pending. */
  abandon(): void {
    this.#close()
    for (const { leave } of this.#waiting) leave()
    this.#waiting = []
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
    question.done = this.#parts.journal.enter()
    // Before the code that awaits the answer continues.
    if (question.reader === undefined) void Promise.resolve().then(question.done)
    this.#answers.add(question, message)
  }

  #close(): void {
    this.#open = undefined
    this.#leave()
    this.#leave = () => {}
  }

  /** Asks when no other question is open, or was open and is shown again. */
  #askInTurn(question: Question<P>, state: AskingState, prompt: Say): void {
    if (this.#mayAsk) this.#askNow(question, state, prompt)
    else this.#waiting = [...this.#waiting, { question, state, prompt, leave: this.#parts.journal.enter() }]
  }

  get #mayAsk(): boolean {
    return !this.isOpen && ![...this.#replayed.values()].some(({ isAsked }) => isAsked)
  }

  /** Asks the question that waits first. */
  #askNext(): void {
    const [next, ...others] = this.#waiting
    if (next === undefined || !this.#mayAsk) return
    const { question, state, prompt, leave } = next
    this.#waiting = others
    leave()
    try {
      this.#askNow(question, state, prompt)
    } catch (error) {
      question.drop(error as Error)
    }
    // It may have found its answer.
    this.#askNext()
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
      question.isShown = true
    } catch (error) {
      this.#close()
      throw error
    }
    this.#onWaiting()
  }

  /** Answers a question as the journal does, or asks it if the journal ends before. */
  async #replay(
    question: Question<P>,
    state: AskingState,
    prompt: Say,
    isParallel: boolean | undefined,
  ): Promise<void> {
    const { journal } = this.#parts
    const { name } = question
    const replayed: Replayed<P> = { question, isAsked: false }
    this.#replayed.set(name, replayed)
    try {
      replayed.isAsked = journal.pass('question', name) !== undefined
      // At once where possible: code that returns without awaiting the question leaves its answer unread.
      const answer = journal.take('answer', name) ?? (await journal.next('answer', name, isParallel))
      if (this.#replayed.get(name) !== replayed) return
      this.#replayed.delete(name)
      const { isAsked, unwanted } = replayed
      if (answer?.kind === 'withdrawn') {
        question.drop(unwanted)
      } else if (answer !== undefined) {
        this.#answer(question, this.#recordedAnswer(answer.messageId))
      } else if (!isAsked) {
        this.#askInTurn(question, state, prompt)
      } else if (!this.#answerNext(question, true)) {
        this.#showAgain(question, state, prompt, unwanted)
        return
      }
      this.#askNext()
    } catch (error) {
      this.#replayed.delete(name)
      question.drop(error as Error)
      this.#askNext()
    }
  }

  /** Has a question open that an earlier attempt has asked. */
  #showAgain(question: Question<P>, state: AskingState, prompt: Say, unwanted: Error | undefined): void {
    const { name } = question
    this.#wait(question)
    question.isShown = true
    if (unwanted !== undefined) {
      this.withdrawUnwanted(name, unwanted)
      return
    }
    const messageId = this.#parts.ids.ofQuestion(name)
    // A message that another request has added comes when it is stored.
    if (!this.#isAnswered(messageId)) this.#run.showAgain(state, { say: prompt, messageId })
    this.#onWaiting()
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
    let next = context.queues.shift(id)
    // Only questions with a schema name others who answer.
    while (next !== undefined && question.reader === undefined && isOfOther(next.request.message))
      next = context.queues.shift(id)
    if (next === undefined) return false
    try {
      if (!isAsked) journal.record({ kind: 'question', name: question.name })
      journal.store(this.#answerEntries(question, next))
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

  /** The answer, and what it was found to be where that is known at once: one change for both. */
  #answerEntries(
    { name, reader, isShown }: Question<P>,
    { request }: QueuedMessage<P>,
  ): readonly JournalEntry[] {
    const { journal } = this.#parts
    const { message } = request
    const entries = journal.entriesFor({ kind: 'answer', name, messageId: message.messageId })
    const value = reader?.read(message, isShown)
    return value === undefined ? entries : [...entries, ...journal.entriesFor({ kind: 'value', name, value })]
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
