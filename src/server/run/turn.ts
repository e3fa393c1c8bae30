/**
 * The turn of a run: its journal, and the methods of `Run` that use it.
 *
 * @module
 */
import { readOptions, requireBoolean } from '../../runtime/options.js'
import type { ArtifactChanged, JournalEntry, TurnEntry } from '../../core/events.js'
import type { AppendArtifactOptions, ArtifactInput } from '../../core/params.js'
import { findArtifact } from '../../core/evolve.js'
import type { TaskSnapshot } from '../../core/task.js'
import type { ReadonlyJson } from '../../core/json-types.js'
import { originOf, type QueuedMessage } from './message-queue.js'
import { toContinued } from './agent-message.js'
import type { RunContext } from './run-context.js'
import type { ApproveOptions, InputOptions } from './ask-types.js'
import type { ContinuedInput, ReadonlyMessage, Run, Say, TurnMethods } from './run.js'
import type { OutputOf, StandardSchema } from '../standard-schema.js'
import type { Principal } from '../caller.js'
import { fittingId } from '../idempotency.js'
import { isInterrupted } from '../../core/lifecycle.js'
import { nextLineage, readLineage } from '../../core/lineage/lineage.js'
import { agentIdOf } from '../../core/lineage/mark.js'
import { delegate } from '../journal/delegations.js'
import type { Follower } from '../../remote/follower.js'
import { beginAgain, continuedEntry } from '../journal/continuation.js'
import { Halves, type Chunk } from '../journal/writes/halves.js'
import { Journal } from '../journal/journal.js'
import { stepKey } from '../journal/names.js'
import { OpenDelegations } from '../journal/open-delegations.js'
import type { OpenTurn } from '../journal/open-turn.js'
import { Questions, type TurnHost } from './questions.js'
import { approve, ask, requireTyped, type AskHost } from './typed-questions.js'
import { causeOf, type FailedStep } from '../journal/step-errors.js'
import { StepWrites } from '../journal/writes/step-writes.js'
import { runStep, type StepHost } from '../journal/steps.js'
import { runTransaction } from '../journal/transactions.js'
import { TurnIds, type MadeKind } from '../journal/writes/turn-ids.js'
import { Values } from '../journal/values.js'
import { Waits } from '../journal/waits.js'

/** What replays and records a turn. */
interface Parts<P extends Principal> {
  readonly journal: Journal
  readonly questions: Questions<P>
  readonly waits: Waits
  readonly followers: Set<Follower>
  readonly delegations: OpenDelegations
  readonly writes: StepWrites
  readonly values: Values
}

export class Turn<P extends Principal> implements TurnMethods<P> {
  #isIdle = false
  readonly #context: RunContext<P>
  readonly #host: TurnHost
  /** Absent until the code needs them: most code asks for nothing, and has no earlier attempt. */
  #parts: Parts<P> | undefined
  /** Of the code outside of steps. */
  readonly #halves = new Halves()
  readonly #ids: TurnIds<P>
  #hasRecorded = false
  /** The latest error of a failed step. */
  #failed: FailedStep | undefined

  constructor(context: RunContext<P>, host: TurnHost) {
    this.#context = context
    this.#host = host
    this.#ids = new TurnIds(context, {
      taskId: () => host.task().id,
      begun: () => this.#begun,
      hasJournal: () => this.#parts !== undefined,
      isFree: (id) => context.earlier === undefined || this.isReplaying || this.#made.writes.isFree(id),
    })
    if (context.earlier !== undefined) this.#parts = this.#makeParts()
  }

  get questions(): Questions<P> {
    return this.#made.questions
  }

  /** Whether the journal of the turn is kept. */
  get isRecording(): boolean {
    return this.#context.tasks.recordJournal !== undefined
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
    const { journal, questions, waits, followers } = this.#parts
    const { isRecording, inFlight } = journal
    if (!isRecording || inFlight === 0) return undefined
    if (questions.isOpen && !questions.isAwaited) return undefined
    // A follower of agents has no timer.
    if (followers.size > 0 && waits.dueAt !== Infinity) return undefined
    return inFlight === this.#waitCount + (questions.isOpen ? 1 : 0) ? waits.dueAt : undefined
  }

  /** Whether the code waits for another agent. */
  get hasFollowers(): boolean {
    return (this.#parts?.followers.size ?? 0) > 0
  }

  /** Whether the code waits for a time, a signal or another agent. */
  get hasWaits(): boolean {
    return this.#waitCount > 0
  }

  get #waitCount(): number {
    const { waits, followers } = this.#made
    return waits.count + followers.size
  }

  /** The names of the signals that the code waits for. */
  get signals(): readonly string[] {
    return this.#made.waits.signals
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
    const followers = new Set(this.#parts?.followers)
    this.#parts?.followers.clear()
    return followers
  }

  /** The part of the conversation that the code sees. See `Run.messages`. */
  conversation(messages: TaskSnapshot['messages']): TaskSnapshot['messages'] {
    if (!this.isRecording) return messages
    return this.#made.values.conversation(messages, originOf(this.#context.message))
  }

  /** Removes and returns the answers that the code has not read, oldest first. */
  removeUnread(): readonly QueuedMessage<P>[] {
    return this.#parts?.questions.removeUnread() ?? []
  }

  /** The id of an artifact or a message, the same in each attempt of the turn. */
  newId(kind: MadeKind): string {
    return this.#ids.next(kind, this.#parts?.writes.scopes.current)
  }

  /** Whether the calling code is that of an attempt of a step which has failed. */
  get isUndone(): boolean {
    return this.#parts?.writes.scopes.current?.hasFailed ?? false
  }

  /** Adds an artifact to the task, or a chunk of one. */
  write(given: Chunk, options: AppendArtifactOptions | undefined): void {
    const scope = this.#parts?.writes.scopes.current
    const chunk = (scope?.halves ?? this.#halves).take(given, options)
    if (!this.isReplaying) this.#write(chunk, options)
  }

  /** The code writes no more chunks: halves of characters wait no longer. */
  endChunks(): void {
    const chunks = this.#halves.end()
    if (this.isReplaying) return
    try {
      for (const chunk of chunks) this.#write(chunk, undefined)
      this.#parts?.writes.endChunks()
    } catch {
      // The task has ended, or has no room: the text ends without the half.
    }
  }

  #write(chunk: Chunk, options: AppendArtifactOptions | undefined): void {
    if (this.#parts === undefined) this.#append(chunk, options)
    else this.#parts.writes.write(chunk, options)
  }

  #append(artifact: ArtifactInput, options: AppendArtifactOptions | undefined): ArtifactChanged {
    const { id } = this.#host.task()
    return this.#host.change(() => this.#context.tasks.appendArtifact(id, artifact, options))
  }

  readonly step: Run<P>['step'] = (name, work, options) => runStep(this.#stepHost(), name, work, options)

  readonly transaction: Run<P>['transaction'] = (name, work, options) =>
    runTransaction(this.#stepHost(), name, work, options)

  readonly delegate: Run<P>['delegate'] = (name, agent, message, options = {}) => {
    const { settings, stored, tasks } = this.#context
    const { task, taskId, work, signal } = this.#host
    const host = {
      ...{ journal: this.#made.journal, work, signal, limits: settings.limits },
      lineageTo: this.lineageTo,
      taskId,
      messageId: (label: string) => fittingId(this.#keyOf(task().id, label)),
      followers: this.#made.followers,
      marks: this.#made.delegations,
      peek: (id: string) => tasks.peekTask(id),
      stored: () => stored(task().id),
      ask: (prompt: string) => this.questions.ask('input-required', prompt),
    }
    return delegate(host, name, agent, message, options)
  }

  readonly lineageTo: Run<P>['lineageTo'] = (agent, options = {}) => {
    const { mayRepeat = false } = readOptions(options, ['mayRepeat'], 'run.lineageTo')
    requireBoolean('mayRepeat', mayRepeat)
    const { settings, message } = this.#context
    const sender = {
      taskId: this.#host.taskId(),
      received: readLineage(message.request.message.metadata),
      own: agentIdOf(settings.card),
      deadline: this.#host.deadline(),
    }
    return nextLineage(sender, agent, { maxDepth: settings.limits.maxDelegationDepth, mayRepeat })
  }

  /**
   * Ends the journal, and begins another one. The caller leaves the code.
   *
   * @returns The turn that begins again.
   * @throws See `Run.continueAs`.
   */
  continueAs(input: ContinuedInput): OpenTurn | undefined {
    const { journal, questions } = this.#made
    this.#host.signal().throwIfAborted()
    journal.requirePassed('continueAs')
    if (journal.inFlight > 0 || questions.areUnread)
      throw new TypeError('Before run.continueAs(), await all steps and waits that the run has started')
    const { settings, message: before, tasks } = this.#context
    this.endChunks()
    if (!tasks.recordJournal) throw new TypeError('run.continueAs() needs a manager that keeps journals')
    const message = toContinued(input, before.request.message, settings.limits)
    const task = this.#host.task().show(undefined)
    const entry = continuedEntry(this.#begun ?? journal.turn, task, message, questions.answerIds)
    this.#host.change(() => tasks.recordJournal?.(this.#host.task().id, [entry]))
    return beginAgain(entry, this.#host.task().show(undefined))
  }

  requireTyped<S extends StandardSchema>(message: Say, options: InputOptions<S>): Promise<OutputOf<S>> {
    return requireTyped(this.#askHost(), message, options)
  }

  readonly ask: Run<P>['ask'] = (questions, options = {}) => ask(this.#askHost(), questions, options)

  readonly approve: Run<P>['approve'] = <const O extends readonly string[]>(
    name: string,
    options: ApproveOptions<O>,
  ) => approve(this.#askHost(), name, options)

  readonly sleep: Run<P>['sleep'] = (name, options) => this.#made.waits.sleep(name, options)

  readonly waitFor: Run<P>['waitFor'] = (name, options = {}) => this.#made.waits.waitFor(name, options)

  readonly now: Run<P>['now'] = () => this.#made.values.now()

  readonly random: Run<P>['random'] = () => this.#made.values.random()

  readonly uuid: Run<P>['uuid'] = () => this.#made.values.uuid()

  readonly changed: Run<P>['changed'] = (name) => this.#made.values.changed(name)

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
    const cause = causeOf(error, this.#failed, this.#context.settings.recordStacks)
    return this.#made.journal.entriesFor({ kind: 'failure', reason: 'error', count, ...cause })
  }

  /** The code threw `error`, and is called again. */
  recordAttempt(number: number, error: unknown): void {
    const cause = causeOf(error, this.#failed, this.#context.settings.recordStacks)
    this.#made.journal.record({ kind: 'attempt', number, ...cause })
  }

  /** The turn is over, and the task is not: the next message begins another turn. */
  end(): void {
    this.endChunks()
    try {
      const { state } = this.#host.task().peek() ?? {}
      const isWaiting = state !== undefined && isInterrupted(state)
      if (this.#parts === undefined && isWaiting) return
      const { journal, questions } = this.#made
      journal.end(questions.unreadIds, !isWaiting)
    } catch {
      // The task has ended, or was lost.
    }
  }

  /** What an earlier attempt has recorded of the beginning of the turn. */
  get #begun(): TurnEntry | undefined {
    const first = this.#context.earlier?.journal[0]?.entry
    return first?.kind === 'turn' ? first : undefined
  }

  get #made(): Parts<P> {
    return (this.#parts ??= this.#makeParts())
  }

  #makeParts(): Parts<P> {
    const host = this.#host
    const { message, note, earlier, tasks, settings, marks, stored } = this.#context
    const { clock } = settings
    const record = (entries: readonly JournalEntry[]): void => {
      host.requireRunning()
      const task = host.task()
      const isFirst = !this.#hasRecorded && task.peek()?.state === 'submitted'
      this.#hasRecorded = true
      // In one change: a quick first step costs no other commit.
      if (isFirst) host.move('working', entries)
      else host.change(() => tasks.recordJournal?.(task.id, entries))
    }
    const journal = new Journal(
      () => host.task().id,
      {
        ...{ kind: 'turn', messageId: originOf(message) },
        ...(note !== undefined && { note }),
        ...(this.#ids.first !== undefined && { ids: this.#ids.first }),
      },
      earlier?.journal,
      this.isRecording ? record : undefined,
      settings,
      () => this.#onFlight(),
    )
    const { work, signal } = host
    const peek = (): TaskSnapshot | null => host.task().peek()
    const receive = (wait: string): ReadonlyJson | undefined => tasks.receive?.(host.task().id, wait)
    return {
      journal,
      questions: new Questions({
        ...{
          ...host,
          context: this.#context,
          journal,
          messageId: (name: string) => this.#ids.ofQuestion(name),
        },
        onWaiting: () => this.#onWaiting(),
      }),
      waits: new Waits({ journal, clock, work, signal, peek, receive, isLocal: tasks.finish === undefined }),
      followers: new Set(),
      delegations: new OpenDelegations({
        marks,
        task: () => tasks.peekTask(host.task().id),
        stored: () => stored(host.task().id),
      }),
      writes: new StepWrites(
        {
          isRecording: this.isRecording,
          append: (artifact, options) => this.#append(artifact, options),
          find: (artifactId) => {
            const { artifacts = [] } = peek() ?? {}
            return artifacts[findArtifact(artifacts, artifactId)]
          },
        },
        earlier?.artifacts,
      ),
      values: new Values(journal, clock, signal),
    }
  }

  /** While a question is open, the run waits whatever else is under way: it may be let go when that is done. */
  #onFlight(): void {
    if (this.isIdle || this.#isIdle) this.#onWaiting()
  }

  #onWaiting(): void {
    this.#isIdle = this.isIdle
    this.#context.onWaiting(this.#isIdle)
  }

  #stepHost(): StepHost {
    const { settings, stored, tasks, onStep } = this.#context
    const { task, signal, requireRunning } = this.#host
    const { transact } = tasks
    const { journal, writes } = this.#made
    return {
      journal,
      clock: settings.clock,
      recordStacks: settings.recordStacks,
      ...settings.limits,
      key: (label) => this.#keyOf(this.#begun?.key ?? task().id, label),
      requireRunning,
      pause: (ms) => this.#made.waits.pause(ms),
      signal,
      attempt: (label, work) => writes.attempt(label, work),
      settle: (label) => writes.settle(label),
      onFailed: (step, error) => (this.#failed = { step, error }),
      lease: () => tasks.requireLease?.(task().id),
      stored: () => stored(task().id),
      observe: (name, isReplayed) => onStep?.({ taskId: task().id, name, isReplayed }),
      transact: transact && ((entry, work) => transact(task().id, entry, work)),
    }
  }

  #askHost(): AskHost {
    const { settings } = this.#context
    const { taskId, signal, requireRunning, task } = this.#host
    const { journal, waits, questions } = this.#made
    requireRunning()
    // Creates the task first where there is none: ids have the place of the turn in it.
    const { id } = task()
    return {
      ...{ journal, taskId, signal, limits: settings.limits },
      limit: (name, ms, expire) => waits.limit(name, ms, expire),
      pose: (state, prompt, check) => questions.pose(state, prompt, check),
      withdraw: (reason, entries) => questions.withdraw(reason, entries),
      drop: (reason) => questions.drop(reason),
      idOf: (label) => this.#keyOf(id, label).slice(encodeURIComponent(id).length + 1),
    }
  }

  /** @throws What an open question throws of a message that its task does not have yet. */
  checkAnswer(message: ReadonlyMessage): void {
    this.#parts?.questions.check(message)
  }

  #keyOf(taskId: string, label: string): string {
    const messages = this.#host.task().peek()?.messages ?? []
    const origin = originOf(this.#context.message)
    return stepKey(taskId, label, { messages, origin, round: this.#begun?.continued?.round })
  }
}
