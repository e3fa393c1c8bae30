/**
 * The turn of a run: its journal, and what uses it.
 *
 * @module
 */
import type { JournalEntry } from '../../core/events.js'
import { isInterrupted } from '../../core/lifecycle.js'
import type { AppendArtifactOptions, ArtifactInput } from '../../core/params.js'
import type { TaskSnapshot } from '../../core/task.js'
import type { Follower } from '../../remote/follower.js'
import type { Principal } from '../caller.js'
import { beginAgain, continuedEntry } from '../journal/continuation.js'
import { Delegations } from '../journal/delegations.js'
import { recordSpending } from '../journal/spending.js'
import { Journal } from '../journal/journal.js'
import type { OpenTurn } from '../journal/open-turn.js'
import { Steps } from '../journal/steps.js'
import { Values } from '../journal/values.js'
import { Waits } from '../journal/waits.js'
import { Halves, type Chunk } from '../journal/writes/halves.js'
import { SentWrites } from '../journal/writes/sent-writes.js'
import { StepScopes } from '../journal/writes/step-scopes.js'
import { append, StepWrites } from '../journal/writes/step-writes.js'
import { TurnIds } from '../journal/writes/turn-ids.js'
import { toContinued } from './agent-message.js'
import { toNote, type QueuedMessage } from './message-queue.js'
import { Questions } from './questions.js'
import type { RunPort } from './run-context.js'
import type { ContinuedInput, ReadonlyMessage, Run } from './run.js'
import { TypedQuestions } from './typed-questions.js'

/** What replays and records a turn. Its functions are those of `Run`, and use no `this`. */
interface Parts<P extends Principal> {
  readonly journal: Journal
  readonly questions: Questions<P>
  readonly typed: TypedQuestions
  readonly waits: Waits
  readonly delegations: Delegations
  readonly steps: Steps
  readonly writes: StepWrites
  /** Absent where nothing was sent, or the log does not tell what. */
  readonly sent: SentWrites | undefined
  readonly values: Values
}

export class Turn<P extends Principal> {
  #isIdle = false
  readonly #port: RunPort<P>
  /** Absent until the code needs them: most code asks for nothing, and has no earlier attempt. */
  #parts: Parts<P> | undefined
  /** Of the code outside of steps. Absent until it writes. */
  #halves: Halves | undefined
  readonly #ids: TurnIds

  constructor(port: RunPort<P>) {
    this.#port = port
    this.#ids = new TurnIds(port, () => this.#parts)
    if (port.earlier !== undefined) this.#parts = this.#makeParts()
  }

  /** Made when they are first needed. */
  get parts(): Parts<P> {
    return (this.#parts ??= this.#makeParts())
  }

  /** Whether the journal of the turn is kept. */
  get isRecording(): boolean {
    return this.#port.record !== undefined
  }

  /** Whether an earlier attempt of the turn has been here: what the code shows now was shown then. */
  get isReplaying(): boolean {
    return this.#parts?.journal.isRepeating ?? false
  }

  get isAsking(): boolean {
    return this.#parts?.questions.isOpen ?? false
  }

  /** Whether an earlier attempt has asked what the code asks, which may be open. */
  get isAskingAgain(): boolean {
    return this.#parts?.questions.isReplayed ?? false
  }

  /** Whether an earlier attempt has asked what the code will ask again: the next message answers it. */
  get isLeftAsking(): boolean {
    return this.#parts?.questions.isLeftOpen ?? false
  }

  /** Whether the code waits for the user, or only for times, signals and other agents. */
  get isIdle(): boolean {
    if (this.#parts === undefined) return false
    const { journal, questions } = this.#parts
    return questions.isOpen || (this.#waitCount > 0 && journal.inFlight === this.#waitCount)
  }

  /**
   * The time at which a process has to continue the turn if this one lets go of its code now, in ms; `Infinity` where it
   * waits for no time. `undefined` where the code does something else, or cannot continue from its journal.
   */
  get wakeAt(): number | undefined {
    if (this.#parts === undefined) return undefined
    const { journal, questions, waits, delegations } = this.#parts
    const { isRecording, inFlight } = journal
    if (!isRecording || inFlight === 0) return undefined
    if (questions.isOpen && !questions.isAwaited) return undefined
    // A follower of agents has no timer.
    if (delegations.followers.size > 0 && waits.dueAt !== Infinity) return undefined
    return inFlight === this.#waitCount + questions.count ? waits.dueAt : undefined
  }

  /** Whether the code waits for another agent. */
  get hasFollowers(): boolean {
    return (this.#parts?.delegations.followers.size ?? 0) > 0
  }

  /** Whether another agent waits for an answer of the code. */
  get isAskedByAgent(): boolean {
    const { marks, followers } = this.parts.delegations
    return marks.openCount > followers.size
  }

  /** Whether the code waits for a time, a signal or another agent. */
  get hasWaits(): boolean {
    return this.#waitCount > 0
  }

  get #waitCount(): number {
    const { waits, delegations } = this.parts
    return waits.count + delegations.followers.size
  }

  /** A signal has arrived. */
  onSignal(): void {
    this.#parts?.waits.onSignal()
  }

  /** Forgets what the code waits for: its promises reject with `reason`, or stay pending. */
  drop(reason?: Error): void {
    this.#parts?.waits.drop(reason)
    this.#parts?.questions.drop(reason)
  }

  /**
   * Leaves all promises pending: the turn continues elsewhere.
   *
   * @returns The agents' tasks that are followed. The caller takes them over at once.
   */
  abandon(): ReadonlySet<Follower> {
    this.#parts?.waits.drop()
    this.#parts?.questions.abandon()
    const followers = new Set(this.#parts?.delegations.followers)
    this.#parts?.delegations.followers.clear()
    return followers
  }

  /** The part of the conversation that the code sees. See `Run.messages`. */
  conversation(messages: TaskSnapshot['messages']): TaskSnapshot['messages'] {
    if (!this.isRecording) return messages
    return this.parts.values.conversation(messages)
  }

  /** Removes and returns the answers that the code has not read, oldest first. */
  removeUnread(): readonly QueuedMessage<P>[] {
    return this.#parts?.questions.removeUnread() ?? []
  }

  /** The id of a message, the same in each attempt of the turn. */
  newMessageId(): string {
    return this.#ids.next('message', this.#parts?.writes.scopes.current)
  }

  /** The id of an artifact that has none of its own, the same in each attempt of the turn. */
  newArtifactId(artifact?: ArtifactInput): string {
    return this.#ids.next('artifact', this.#parts?.writes.scopes.current, artifact)
  }

  /** As {@link StepScopes.requireOutside}. */
  readonly requireOutsideOfSteps = (method: string): void => {
    this.#parts?.writes.scopes.requireOutside(method)
  }

  /** Whether the calling code is that of an attempt of a step which has failed. */
  get isUndone(): boolean {
    return this.#parts?.writes.scopes.current?.hasFailed ?? false
  }

  /** Adds an artifact to the task, or a chunk of one. */
  write(given: Chunk, options: AppendArtifactOptions | undefined): void {
    const scope = this.#parts?.writes.scopes.current
    const halves = scope?.halves ?? (this.#halves ??= new Halves())
    const chunk = halves.take(given, options)
    const isSent = scope === undefined ? this.#isSent(chunk) : this.isReplaying
    if (!isSent) this.#write(chunk, options)
  }

  /** Whether an earlier attempt has sent what code outside of steps writes. */
  #isSent(chunk: Chunk): boolean {
    const { sent, journal } = this.#parts ?? {}
    if (sent === undefined || journal === undefined) return this.isReplaying
    return sent.take(chunk.artifactId, chunk, journal.whereabouts)
  }

  /** Whether an earlier attempt has made the change of the metadata. */
  isChanged(metadata: object): boolean {
    const { sent, journal, writes } = this.#parts ?? {}
    if (sent === undefined || journal === undefined || writes?.scopes.current !== undefined)
      return this.isReplaying
    return sent.takeMetadata(metadata, journal.whereabouts)
  }

  /** The code writes no more chunks: halves of characters wait no longer. */
  endChunks(): void {
    const chunks = this.#halves?.end() ?? []
    if (this.isReplaying) return
    try {
      for (const chunk of chunks) this.#write(chunk, undefined)
      this.#parts?.writes.endChunks()
    } catch {
      // The task has ended, or has no room: the text ends without the half.
    }
  }

  #write(chunk: Chunk, options: AppendArtifactOptions | undefined): void {
    if (this.#parts === undefined) append(this.#port, chunk, options)
    else this.#parts.writes.write(chunk, options)
  }

  /** @throws What an open question throws of a message that its task does not have yet. */
  checkAnswer(message: ReadonlyMessage): void {
    this.#parts?.questions.check(message)
  }

  /**
   * Ends the journal, and begins another one. The caller leaves the code.
   *
   * @returns The turn that begins again.
   * @throws See `Run.continueAs`.
   */
  continueAs(input: ContinuedInput): OpenTurn | undefined {
    const { journal, questions } = this.parts
    const { signal, task: taskOf, context, tasks, change, message: before } = this.#port
    signal().throwIfAborted()
    journal.requirePassed('continueAs')
    if (journal.inFlight > 0 || questions.areUnread)
      throw new TypeError('Before run.continueAs(), await all steps and waits that the run has started')
    this.endChunks()
    if (!tasks.recordJournal) throw new TypeError('run.continueAs() needs a manager that keeps journals')
    const message = toContinued(input, before, context.settings.limits)
    const task = taskOf().show(undefined)
    const entry = continuedEntry(this.#ids.begun ?? journal.turn, task, message, questions.answerIds)
    change(() => tasks.recordJournal?.(taskOf().id, [entry]))
    return beginAgain(entry, taskOf().show(undefined))
  }

  /** See `Run.spend`. */
  readonly spend: Run<P>['spend'] = (spent) => {
    if (!this.isRecording) throw new TypeError('run.spend() needs a manager that keeps journals')
    const { journal, writes } = this.parts
    recordSpending(this.#port, journal, spent, writes.scopes.likely?.label)
  }

  /**
   * The code is at its end.
   *
   * @throws {A2AError} `JOURNAL_MISMATCH` when it did not ask for all that the journal holds.
   */
  requireReplayed(end = 'return'): void {
    this.#parts?.journal.requirePassed(end)
  }

  /** The entries for code that threw `error`, and is not called again. */
  failureEntries(count: number, error: unknown): readonly JournalEntry[] {
    const { journal, steps } = this.parts
    return journal.entriesFor({ kind: 'failure', reason: 'error', count, ...steps.causeOf(error) })
  }

  /** Adds an entry that the code does not ask for. */
  record(entry: JournalEntry): void {
    this.parts.journal.record(entry)
  }

  /** The code threw `error`, and is called again. */
  recordAttempt(number: number, error: unknown): void {
    const { journal, steps } = this.parts
    journal.record({ kind: 'attempt', number, ...steps.causeOf(error) })
  }

  /** The turn is over, and the task is not: the next message begins another turn. */
  end(): void {
    this.endChunks()
    try {
      const { state } = this.#port.task().peek() ?? {}
      const isWaiting = state !== undefined && isInterrupted(state)
      if (this.#parts === undefined && isWaiting) return
      const { journal, questions } = this.parts
      journal.end(questions.unreadIds, !isWaiting)
    } catch {
      // The task has ended, or was lost.
    }
  }

  #makeParts(): Parts<P> {
    const port = this.#port
    const ids = this.#ids
    const turn = {
      ...{ kind: 'turn' as const, messageId: port.origin },
      note: toNote(port.context.message),
      ...(ids.first !== undefined && { ids: ids.first }),
    }
    const scopes = new StepScopes()
    const journal = new Journal(port, turn, { scopes, onFlight: () => this.#onFlight() })
    const waits = new Waits(port, journal)
    const writes = new StepWrites(port, scopes)
    const questions = new Questions(port, { journal, ids, onWaiting: () => this.#onWaiting() })
    const { sent } = port.earlier ?? {}
    return {
      ...{ journal, waits, writes, questions, sent: sent && new SentWrites(sent) },
      typed: new TypedQuestions(port, {
        journal,
        questions,
        ids,
        limit: (...given) => waits.limit(...given),
        awaitSignal: (...given) => waits.beside(...given),
        requireOutsideOfSteps: this.requireOutsideOfSteps,
      }),
      delegations: new Delegations(port, journal, ids),
      steps: new Steps(port, { journal, writes, ids, waits }),
      values: new Values(port, journal),
    }
  }

  /** While a question is open, the run waits whatever else is under way: it may be let go when that is done. */
  #onFlight(): void {
    if (this.isIdle || this.#isIdle) this.#onWaiting()
  }

  #onWaiting(): void {
    this.#isIdle = this.isIdle
    this.#port.context.onWaiting(this.#isIdle)
  }
}
