/**
 * Turns of leased tasks: one run at a time, then the next queued message, then release of the lease.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import { isInterrupted, isTerminal } from '../../core/lifecycle.js'
import type { JsonValue } from '../../core/json-types.js'
import type { LeasedTasks, MaybePromise, SharedTasks } from '../../core/managers.js'
import type { Message, TaskSnapshot } from '../../core/task.js'
import { isToPark, isUnfinished, type ActiveRun, type Parked } from './active-run.js'
import {
  continuedWith,
  originOf,
  unseenMessages,
  toNote,
  turnOf,
  type QueuedMessage,
} from '../run/message-queue.js'
import { KeyedQueue } from '../../runtime/keyed-queue.js'
import { referencesOf } from './references.js'
import { Retries } from './retries.js'
import { hasOpenWait, readOpenTurn, readUnmarkedTurn } from '../journal/earlier-attempts.js'
import type { RequestNotes } from './request-notes.js'
import type { DelegationMarks } from '../journal/delegation-marks.js'
import { FollowedTasks } from './followed-tasks.js'
import { FAILED, SHUT_DOWN } from '../run/failure-texts.js'
import type { EarlierAttempts } from '../journal/open-turn.js'
import type { SchedulePort } from './run-scheduler.js'
import { UnreadMessages } from './unread-messages.js'
import type { Principal } from '../caller.js'
import { priorityFor, type TurnDispatcher } from '../dispatch.js'

/** A turn that waits for a signal is continued after this time, in ms, in case nothing has woken it. */
const RECHECK_MS = 86_400_000

/** Whether the task has a run now, is left by this process, or is to be looked at again. */
type NextStep = 'running' | 'left' | 'again'

interface LeaseContext<P extends Principal> {
  readonly tasks: SharedTasks
  readonly leased: LeasedTasks
  readonly notes: RequestNotes<P>
  readonly marks: DelegationMarks
}

/**
 * Decides what follows when the run of a leased task ends. A task whose work is unfinished (it is neither terminal nor
 * waits for the user) is never released: it fails, or its lease expires for another process to recover.
 */
export class LeaseScheduler<P extends Principal> {
  readonly #context: LeaseContext<P>
  readonly #port: SchedulePort<P>
  /** The jobs of one task run one after the other, so none finds its lease half acquired or half released. */
  readonly #jobs = new KeyedQueue()
  /** The last run of each task that is held here and has no run now. */
  readonly #previous = new Map<string, ActiveRun<P>>()
  /** Tasks that are held here, whose code is not in memory while other agents work. */
  readonly #followed: FollowedTasks
  readonly #unread: UnreadMessages<P>
  /** By task: called when this process has left it. */
  readonly #leaving = new Map<string, (() => void)[]>()
  /** Recovered tasks whose run is about to begin. */
  #restarting = 0
  readonly #retries: Retries

  constructor(context: LeaseContext<P>, port: SchedulePort<P>) {
    this.#context = context
    this.#port = port
    this.#followed = new FollowedTasks(
      context,
      (taskId) => this.schedule(taskId),
      (error, taskId) => this.report(error, taskId),
    )
    this.#unread = new UnreadMessages(context, port.registry.queues)
    this.#retries = new Retries(port.settings.clock)
  }

  /** Whether one more recovered task can begin its run here. */
  get hasRoom(): boolean {
    const { registry, settings } = this.#port
    const isLooking = settings.dispatcher?.findsTurns ?? settings.takesDue?.() ?? true
    return isLooking && !registry.isClosing && registry.hasRoom(this.#restarting)
  }

  /** Resolves when this process has left the task, or only waits for other agents that work for it. */
  left(taskId: string): Promise<void> {
    return new Promise((resolve) => {
      this.#leaving.set(taskId, [...(this.#leaving.get(taskId) ?? []), resolve])
    })
  }

  #onLeft(taskId: string): void {
    const leaving = this.#leaving.get(taskId) ?? []
    this.#leaving.delete(taskId)
    for (const resolve of leaving) resolve()
  }

  /** Runs `job` after all earlier jobs of the task. */
  run<T>(taskId: string, job: () => Promise<T>): Promise<T> {
    return this.#jobs.run(taskId, job)
  }

  /** Resolves when no job is left. */
  async close(): Promise<void> {
    this.#retries.close()
    this.#followed.close()
    await this.#jobs.ended()
    for (const taskId of [...this.#leaving.keys()]) this.#onLeft(taskId)
  }

  /** The message that the latest run of a held task was begun for. */
  latestMessage(taskId: string): QueuedMessage<P> | undefined {
    return (this.#port.registry.runOf(taskId) ?? this.#previous.get(taskId))?.message
  }

  /** Stores in the lease's note that the work is now about `message`: a process that recovers the task begins with it. */
  assigned(taskId: string, message: QueuedMessage<P>): void {
    this.#context.leased.setNote(taskId, toNote(message))
    if (message.isForwarded) this.#port.registry.runOf(taskId)?.forwarded.push(message)
  }

  /** Schedules {@link nextTurn} after the end of a run, whose agents are followed from now on. */
  runEnded(taskId: string, active: ActiveRun<P>): void {
    const { followers, parked } = active
    this.#previous.set(taskId, active)
    this.#removeNotes(taskId, active)
    if (parked !== undefined && followers.size > 0) this.#followed.add(taskId, followers, parked)
    this.schedule(taskId)
  }

  /** Schedules {@link nextTurn} for a task without a run. */
  schedule(taskId: string, acquiredAt?: number): void {
    void this.run(taskId, () => this.nextTurn(taskId, acquiredAt))
  }

  /** Schedules the release of a task that was acquired for nothing, unless it changes first. */
  giveBack(taskId: string): void {
    this.schedule(taskId, this.#context.leased.peekTask(taskId)?.generation)
  }

  /**
   * Begins the run of the next queued message, or releases the task. Only within a job of {@link run}. When the store fails,
   * everything is as it was, and is tried again later.
   *
   * @param acquiredAt - The generation at which the task was acquired: at that generation it may be released unfinished.
   */
  async nextTurn(taskId: string, acquiredAt?: number): Promise<void> {
    try {
      let step: NextStep = 'again'
      while (step === 'again') step = await this.#nextStep(taskId, acquiredAt)
      if (step !== 'left') return
      this.#previous.delete(taskId)
      this.#onLeft(taskId)
    } catch (error) {
      // For a lost task, `onLost` has been called.
      if (this.#context.leased.peekTask(taskId) === null) return
      this.report(error, taskId)
      this.#retries.add(() => this.schedule(taskId, acquiredAt))
    }
  }

  /**
   * One decision on a task without a run. It is made without an await, from what is known then: the stored task, the messages
   * that wait, and the agents that have ended. What it needs from the store is read before. Nothing is taken from where it is
   * known until the run begins or the release is done. So whatever comes in between leads to another decision: a change of the
   * task makes the store refuse the release, and everything else is still known.
   */
  async #nextStep(taskId: string, acquiredAt: number | undefined): Promise<NextStep> {
    const { leased } = this.#context
    const { registry } = this.#port
    await leased.stored(taskId)
    await this.#unread.queue(taskId)
    const hasWait = await this.#hasWait(leased.peekTask(taskId))
    if (registry.runOf(taskId) !== undefined) return 'running'
    const task = leased.peekTask(taskId)
    const parked = this.#parkedOf(taskId)
    if (task !== null && parked !== undefined && this.#isToPark(task, parked)) return this.#park(task, parked)
    const handedOut = task && this.#handOutNext(task, hasWait)
    if (handedOut) return handedOut
    if (task !== null && this.#isToContinue(task, hasWait)) {
      // The lease expires, and another process continues the turn.
      if (registry.isClosing) return 'left'
      return (await this.#continue(task)) ? 'running' : 'again'
    }
    const next = this.#nextMessage(taskId, task)
    if (task !== null && next !== undefined) return this.#beginNext(task, next)
    if (task === null || !isUnfinished(task, registry.isClosing ? undefined : acquiredAt)) {
      this.#followed.stop(taskId)
      return (await leased.release(taskId)) ? 'left' : 'again'
    }
    // The lease expires, and another process recovers the task.
    if (registry.isClosing) return 'left'
    this.report(new Error('execute() has ended, but its task has not'), taskId)
    this.#fail(taskId, FAILED)
    return 'again'
  }

  #parkedOf(taskId: string): Parked | undefined {
    return this.#previous.get(taskId)?.parked ?? this.#followed.parkedOf(taskId)
  }

  #isToPark(task: TaskSnapshot, parked: Parked): boolean {
    return (
      !this.#followed.hasEnded(task.id) && isToPark(task, parked, this.#port.registry.queues.has(task.id))
    )
  }

  /**
   * Keeps a task whose turn waits, with the agents that it follows, or releases it. Messages that wait for the end of the turn
   * are left to the process that continues it.
   */
  async #park(task: TaskSnapshot, { wakeAt }: Parked): Promise<NextStep> {
    const { leased } = this.#context
    const { queues } = this.#port.registry
    // The lease stays here with the agents that are followed, and goes to another process when this one closes.
    if (this.#followed.isFollowing(task.id)) return 'left'
    if (queues.unnoted(task.id).length > 0) return this.#noteWaiting(task)
    const wakeInMs = wakeAt - this.#port.settings.clock.now()
    const isReleased =
      wakeInMs === Infinity
        ? await leased.release(task.id, RECHECK_MS)
        : await leased.release(task.id, wakeInMs, this.#priorityOf(task))
    if (!isReleased) return 'again'
    queues.delete(task.id)
    return 'left'
  }

  /** Hands the next turn of the task out, if there is one, and if workers do the turns. */
  #handOutNext(task: TaskSnapshot, hasWait: boolean): Promise<NextStep> | undefined {
    const { dispatcher } = this.#port.settings
    if (dispatcher === undefined) return undefined
    if (this.#isToContinue(task, hasWait)) return this.#handOut(task, undefined, dispatcher)
    const next = this.#nextMessage(task.id, task)
    const isDue = next !== undefined || isUnfinished(task, undefined)
    return isDue ? this.#handOut(task, next, dispatcher) : undefined
  }

  /** Hands a turn out, whose journal tells a worker what it is about. */
  async #handOut(
    task: TaskSnapshot,
    next: QueuedMessage<P> | undefined,
    dispatcher: TurnDispatcher,
  ): Promise<NextStep> {
    const { id } = task
    const { leased } = this.#context
    const { queues } = this.#port.registry
    if (queues.unnoted(id).length > 0) return this.#noteWaiting(task)
    if (next !== undefined && task.turn === undefined) {
      leased.recordJournal(id, [turnOf(next)])
      queues.shift(id)
      return 'again'
    }
    const priority = this.#priorityOf(task)
    if (!(await leased.handOut(id, dispatcher.dueInMs(priority)))) return 'again'
    queues.delete(id)
    this.#unread.delete(id)
    dispatcher.send(task, priority, (inMs) => leased.handOutSoon(task, inMs))
    return 'left'
  }

  #priorityOf(task: TaskSnapshot): number {
    const { priorityOf, onError } = this.#port.settings
    return priorityFor(task, priorityOf, onError)
  }

  /** Stores notes on the messages that wait, for the process that continues. */
  async #noteWaiting(task: TaskSnapshot): Promise<NextStep> {
    const { queues } = this.#port.registry
    for (const message of queues.unnoted(task.id)) {
      await this.#context.notes.put(task, message)
      queues.noted(task.id, message)
    }
    return 'again'
  }

  async #beginNext(task: TaskSnapshot, next: QueuedMessage<P>): Promise<NextStep> {
    if (this.#isLeftToOthers(next)) {
      if (this.#port.registry.queues.unnoted(task.id).length > 0) return this.#noteWaiting(task)
      this.#leaveToOthers(task.id, next)
      return 'left'
    }
    const attempts = next.note === undefined ? undefined : await this.#attempts(task, next)
    return attempts !== 'over' && (await this.#begin(task, next, attempts)) ? 'running' : 'again'
  }

  /**
   * Starts over the work of a process that has died: first the message that it worked on, then those that waited there,
   * before any later message.
   *
   * @param isSteered - Whether the first message's run reads this message, so it needs no run of its own.
   */
  restart(task: TaskSnapshot, note: JsonValue | undefined, isSteered: (message: Message) => boolean): void {
    const { id } = task
    const { queues } = this.#port.registry
    if (task.turn === undefined) queues.unshift(id, this.#context.notes.unanswered(task, note, isSteered))
    else this.#unread.add(task, isSteered)
    this.#restarting += 1
    void this.run(id, () => this.nextTurn(id)).finally(() => (this.#restarting -= 1))
  }

  /** A message has come to steer a turn whose code has left the memory. */
  steerLater(task: TaskSnapshot, message: QueuedMessage<P>): void {
    this.#unread.addSteering(task, message)
  }

  /** Drops a task that is not held here any more. */
  lose(taskId: string, reason: Error): void {
    const previous = this.#previous.get(taskId)
    this.#previous.delete(taskId)
    this.#followed.stop(taskId)
    this.#unread.delete(taskId)
    this.#port.registry.lose(taskId, reason, previous?.task)
    previous?.break(reason)
    this.#onLeft(taskId)
  }

  report(error: unknown, taskId: string): void {
    this.#port.settings.onError(error, { during: 'execute', taskId })
  }

  #nextMessage(taskId: string, task: TaskSnapshot | null): QueuedMessage<P> | undefined {
    const { queues } = this.#port.registry
    queues.removeAnswersOfOthers(taskId)
    if (task !== null && !isTerminal(task.state)) return queues.first(taskId)
    queues.delete(taskId)
    return undefined
  }

  /** Removes the notes on messages that the run has dealt with. Unread answers are queued again and keep theirs. */
  #removeNotes(taskId: string, { task, forwarded }: ActiveRun<P>): void {
    if (task === undefined) return
    const { queues } = this.#port.registry
    for (const queued of forwarded) {
      if (!queues.includes(taskId, queued)) void this.#context.notes.remove(task, queued.request.message)
    }
  }

  /** The message with the rest of its request, where another process accepted it. */
  #restore(task: TaskSnapshot, next: QueuedMessage<P>): MaybePromise<QueuedMessage<P>> {
    const { notes } = this.#context
    if (next.note !== undefined) {
      const restored = notes.restore(task, next.request.message, next.note)
      return restored.then((message) => ({ ...message, origin: next.origin }))
    }
    return next.isForwarded ? notes.recall(task, next, this.latestMessage(task.id)) : next
  }

  /**
   * Whether the task is in a turn whose code has to be called again: there is a message for it, or it does not only wait for
   * the user.
   */
  #isToContinue({ id, turn, state, signals = [] }: TaskSnapshot, hasWait: boolean): boolean {
    if (turn === undefined || isTerminal(state)) return false
    const parked = this.#parkedOf(id)
    const isSignaled = parked !== undefined && signals.some(({ name }) => parked.signals.includes(name))
    const hasNews = isSignaled || this.#followed.hasEnded(id) || this.#port.registry.queues.has(id)
    return hasWait || hasNews || !isInterrupted(state)
  }

  /** Whether the code of a task that waits for the user waits for something else too. Of a run that was let go this is known. */
  async #hasWait(task: TaskSnapshot | null): Promise<boolean> {
    if (task?.turn === undefined || !isInterrupted(task.state)) return false
    if (this.#previous.get(task.id)?.isLetGo === true || this.#parkedOf(task.id) !== undefined) return false
    const open = await readOpenTurn(this.#context.tasks, task)
    return open !== undefined && hasOpenWait(open.journal)
  }

  /**
   * What earlier attempts of the message's turn have shown. `'over'` for a turn that has ended: messages that it has read are
   * removed from the queue, and those that came too late to steer it are added.
   */
  async #attempts(
    task: TaskSnapshot,
    { request, steering = [] }: QueuedMessage<P>,
  ): Promise<EarlierAttempts | 'over'> {
    const { queues } = this.#port.registry
    const turn = await readUnmarkedTurn(this.#context.tasks, task, request.message.messageId)
    if (!turn.isOver) return turn
    queues.remove(task.id, turn.read)
    queues.unshift(task.id, unseenMessages(task, turn, steering, queues.has(task.id)))
    return 'over'
  }

  /** Begins a run that continues the task's turn. When that is impossible the task fails, and this resolves to `false`. */
  async #continue(task: TaskSnapshot): Promise<boolean> {
    this.#followed.leave(task.id)
    // What an agent's end has added to the journal.
    await this.#context.leased.stored(task.id)
    const open = await readOpenTurn(this.#context.tasks, task)
    if (open === undefined) {
      this.report(new Error('The journal of this task cannot be read'), task.id)
      this.#fail(task.id, FAILED)
      return false
    }
    const { message, origin, note = null } = open
    // The turn continues where it began, with the request as it came in.
    const previous = this.#previous.get(task.id)?.message
    const isKnown = previous !== undefined && originOf(previous) === origin
    const first = isKnown ? previous : this.#context.notes.received(task, message, undefined)
    const next = { ...continuedWith(first, open), note }
    return await this.#begin(task, next, open, { isContinued: true, isComplete: isKnown })
  }

  /**
   * Begins a run, and takes its message from the queue. When that is impossible the task fails, and this resolves to `false`.
   *
   * @throws {A2AError} `STORE_FAILED`, as a rejection.
   */
  async #begin(
    task: TaskSnapshot,
    next: QueuedMessage<P>,
    earlier?: EarlierAttempts,
    { isContinued, isComplete } = { isContinued: false, isComplete: false },
  ): Promise<boolean> {
    const { tasks, leased } = this.#context
    const { registry, begin } = this.#port
    const { id, owner = null } = task
    try {
      const message = isComplete ? next : await this.#restore(task, next)
      const references = await referencesOf(tasks, message.request, { owner })
      registry.requireOpen()
      // The task has changed by now, or another message comes first.
      if (this.#unread.has(id) || leased.peekTask(id)?.generation !== task.generation) return false
      if (!isContinued && registry.queues.first(id) !== next) return false
      const isNoted = next.note !== undefined
      // A turn that continues for a message has not taken it from the queue.
      const staysWaiting = isContinued && isInterrupted(task.state) && !registry.queues.has(id)
      if (!isContinued) registry.queues.shift(id)
      const { broken } = begin(message, { task, references, isNoted, earlier, staysWaiting })
      const previous = this.#previous.get(id)
      if (previous !== undefined) broken.catch(previous.break)
      this.#previous.delete(id)
      this.#followed.stop(id)
      return true
    } catch (error) {
      if (A2AError.is(error, 'STORE_FAILED')) throw error
      if (this.#isLeftToOthers(next)) {
        this.#leaveToOthers(id, next)
        return false
      }
      registry.queues.delete(id)
      const { state } = leased.peekTask(id) ?? { state: 'canceled' }
      if (isTerminal(state)) return false
      if (!registry.isClosing) this.report(error, id)
      this.#fail(id, registry.isClosing ? SHUT_DOWN : FAILED)
      return false
    }
  }

  /** Whether a process that recovers the task begins the run of this message, which is stored. */
  #isLeftToOthers({ isForwarded }: QueuedMessage<P>): boolean {
    return this.#port.registry.isClosing && (isForwarded === true || this.#context.leased.handsOver)
  }

  /** The lease expires, and a process that recovers the task begins with this message, or with that of a run which was cut off. */
  #leaveToOthers(taskId: string, next: QueuedMessage<P>): void {
    const isCutOff = this.#previous.get(taskId)?.run.abortReason !== undefined
    if (next.note === undefined && !isCutOff) this.#context.leased.setNote(taskId, toNote(next))
    this.#port.registry.queues.delete(taskId)
  }

  #fail(taskId: string, text: string): void {
    const { leased } = this.#context
    try {
      leased.patchTask(taskId, { state: 'failed', message: text })
    } catch {
      // The message may exceed the conversation's limit.
      leased.patchTask(taskId, { state: 'failed' })
    }
  }
}
