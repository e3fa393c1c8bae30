/**
 * Run scheduler for tasks that several processes share.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import { isSignal, type TaskEvent } from '../../core/events.js'
import type { JsonValue } from '../../core/json-types.js'
import { isInterrupted, isTerminal } from '../../core/lifecycle.js'
import type { AcquireResult, LeasedTasks, LeasedTasksListener, SharedTasks } from '../../core/managers.js'
import { isOwnedBy, type OwnerFilter } from '../../core/queries.js'
import type { Message, TaskSnapshot } from '../../core/task.js'
import { settleWithin } from '../../runtime/shutdown.js'
import type { SendRequest } from '../../wire/dialect.js'
import {
  acceptedAgain,
  type AcceptedMessage,
  type AcceptedTask,
  type ActiveRun,
  isListening,
  steer,
} from './active-run.js'
import { policyFor, requireAcceptsMessage, terminalTask, unrepeated } from './follow-up.js'
import { DelegationMarks } from '../journal/delegation-marks.js'
import { EndedDelegations } from './ended-delegations.js'
import { LeaseScheduler } from './lease-scheduler.js'
import { toNote, type QueuedMessage } from '../run/message-queue.js'
import { referencesOf } from './references.js'
import { RequestNotes } from './request-notes.js'
import type { SchedulePort, RunScheduler } from './run-scheduler.js'
import type { FollowUpPolicy, Settings } from '../options.js'
import type { Principal } from '../caller.js'
import { messageOf, requireSame } from '../idempotency.js'
import { findChosen, requireVisible } from '../chosen-ids.js'
import { unavailable } from '../unavailable.js'

/** Attempts to deliver a message while the process that holds its task changes. */
const MAX_ATTEMPTS = 20
/** How long closing waits for the store, twice, in ms. */
const STORING_MS = 5_000

/** A message on its way through the store to a task that is held here. */
interface InFlight<P extends Principal> {
  readonly queued: QueuedMessage<P>
  /** Absent for a message to a task that waits for one. */
  readonly policy: FollowUpPolicy | undefined
  /** The task when the message arrived, before any work on it. */
  opening?: TaskSnapshot
}

/**
 * One process holds the lease of each task that is worked on, and receives the messages of all processes through the store, in
 * the order of the log: also those that come in here. Those for a task held elsewhere are forwarded.
 */
export class ReplicaRuns<P extends Principal> implements RunScheduler<P>, LeasedTasksListener {
  readonly tasks: LeasedTasks
  readonly #settings: Settings<P>
  readonly #shared: SharedTasks
  readonly #port: SchedulePort<P>
  readonly #notes: RequestNotes<P>
  readonly #scheduler: LeaseScheduler<P>
  readonly marks: DelegationMarks
  /** Absent in a process without the code that cancels the agents' tasks. */
  readonly #ended: EndedDelegations<P> | undefined
  /** By task, of which each has at most one. */
  readonly #inFlight = new Map<string, InFlight<P>>()

  constructor(shared: SharedTasks, port: SchedulePort<P>) {
    this.#settings = port.settings
    this.#shared = shared
    this.#port = port
    this.#notes = new RequestNotes(port.settings, shared.documents)
    this.marks = new DelegationMarks(shared.documents)
    this.tasks = shared.lease(this)
    const context = { tasks: shared, leased: this.tasks, notes: this.#notes, marks: this.marks }
    this.#scheduler = new LeaseScheduler(context, port)
    const { settings } = port
    this.#ended = settings.dispatcher ? undefined : new EndedDelegations({ settings, ...context })
  }

  get handsOver(): boolean {
    return this.tasks.handsOver
  }

  async acceptChosen(
    accept: () => Promise<AcceptedMessage>,
    taskId: string,
    ownerOf: () => OwnerFilter,
  ): Promise<AcceptedMessage> {
    try {
      return await accept()
    } catch (error) {
      const isInUse = A2AError.is(error, 'INVALID_PARAMS') && error.data.path === 'id'
      if (!isInUse || (await findChosen(this.#shared, taskId, ownerOf())) === null) throw error
      return await accept()
    }
  }

  async followUp(taskId: string, incoming: QueuedMessage<P>): Promise<AcceptedTask> {
    const { owner } = incoming
    // Checked before the message queues up: a caller who may not see the task must not delay those who may.
    const held = this.tasks.peekTask(taskId)
    const known =
      held !== null && isOwnedBy(held, owner) ? held : await requireVisible(this.#shared, taskId, owner)
    const unseen = unrepeated(known, incoming.request, this.#settings)
    if (unseen === undefined && (known !== held || (await this.#isStored(taskId, incoming.request))))
      return acceptedAgain(this.#port.registry, known)
    // The process may have lost the task before it stored the first of two equal messages.
    const request = unseen ?? incoming.request
    try {
      return await this.#followUp(taskId, { ...incoming, request })
    } catch (error) {
      // The message may be stored by now, from another request with it, and the task changed or ended since.
      const task = await this.#shared.peekTask(taskId, owner)
      if (task === null) throw error
      const other = unrepeated(task, incoming.request, this.#settings)
      if (other === undefined) return acceptedAgain(this.#port.registry, task)
      if (other.message.messageId === request.message.messageId) throw error
      // Another message has taken the id in between.
      return await this.#followUp(taskId, { ...incoming, request: other })
    }
  }

  async #followUp(taskId: string, incoming: QueuedMessage<P>): Promise<AcceptedTask> {
    const { opening: first, broken } = await this.#scheduler.run(taskId, () =>
      this.#deliver(taskId, incoming),
    )
    const { request, owner } = incoming
    const task = await requireVisible(this.#shared, taskId, owner)
    const { messageId } = request.message
    // Another process may have ended the task before the message was stored.
    if (isTerminal(task.state) && !task.messages.some((message) => message.messageId === messageId)) {
      throw terminalTask(task)
    }
    const opening = first === undefined || first.generation > task.generation ? task : first
    return { type: 'task', taskId, broken, opening }
  }

  loadReferences(request: SendRequest, owner: OwnerFilter): Promise<readonly TaskSnapshot[]> {
    return referencesOf(this.#shared, request, owner)
  }

  referencesOf(): readonly TaskSnapshot[] {
    return []
  }

  stored(taskId: string): Promise<void> {
    const stored = this.tasks.stored(taskId)
    // The caller may look at it later.
    stored.catch(() => undefined)
    return stored
  }

  assigned(taskId: string, message: QueuedMessage<P>): void {
    this.#scheduler.assigned(taskId, message)
  }

  runEnded(taskId: string, active: ActiveRun<P>): void {
    this.#scheduler.runEnded(taskId, active)
    if (this.#settings.takesDue?.() === true) this.tasks.takeDue()
  }

  async take(taskId: string): Promise<void> {
    const acquired = await this.tasks.take(taskId)
    if (acquired.type === 'elsewhere') return
    const left = this.#scheduler.left(taskId)
    this.#scheduler.giveBack(taskId)
    await left
  }

  takeDue(): void {
    this.tasks.takeDue()
  }

  /** Waits for the store, and releases what another process can continue with. */
  async close(): Promise<void> {
    const { clock } = this.#settings
    this.#ended?.close()
    await settleWithin(clock, STORING_MS, [this.#scheduler.close()])
    await settleWithin(clock, STORING_MS, [this.tasks.close()])
  }

  async #deliver(taskId: string, incoming: QueuedMessage<P>): Promise<AcceptedTask> {
    const { registry } = this.#port
    // A task created here may turn out to have an id that is in use: then the message is for the other task.
    if (this.#shared.lastSeen(taskId) === undefined) await this.stored(taskId).catch(() => undefined)
    const wasHeld = this.tasks.peekTask(taskId) !== null
    try {
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
        // Messages that others forwarded since the task was acquired come first.
        if (registry.runOf(taskId) === undefined && registry.queues.has(taskId))
          await this.#scheduler.nextTurn(taskId)
        registry.requireOpen()
        const delivered =
          (await this.#deliverHere(taskId, incoming)) ?? (await this.#deliverByStore(taskId, incoming))
        if (delivered?.isRepeated === true) this.#leave(taskId, wasHeld)
        if (delivered !== undefined) return delivered
      }
      throw unavailable('cannot get hold of this task')
    } catch (error) {
      this.#leave(taskId, wasHeld)
      throw error
    }
  }

  /** Has a task looked at that may have been acquired for a message which begins nothing. */
  #leave(taskId: string, wasHeld: boolean): void {
    if (this.#port.registry.runOf(taskId) !== undefined) return
    if (wasHeld) this.#scheduler.schedule(taskId)
    else this.#scheduler.giveBack(taskId)
  }

  /**
   * Adds a message to a task that is held here. Its run receives it by {@link onNews} when it is stored, so in the order of the
   * log, after messages that other processes have stored before. `undefined` when such a message came first, the task is not
   * held here, or the store has to decide.
   */
  async #deliverHere(taskId: string, incoming: QueuedMessage<P>): Promise<AcceptedTask | undefined> {
    const { registry } = this.#port
    const { request, owner } = incoming
    if (this.tasks.peekTask(taskId) === null || request.ifGeneration !== undefined) return undefined
    const acquired = await this.tasks.acquire(taskId)
    if (acquired.type === 'acquired') registry.runOf(taskId)?.run.adopt()
    // From here on without an await: the task cannot change before the message is decided.
    const task = this.tasks.peekTask(taskId)
    if (task === null || !isOwnedBy(task, owner)) return undefined
    // An end that is not stored yet may be overtaken by a message from elsewhere.
    if (isTerminal(task.state)) return undefined
    if (unrepeated(task, request, this.#settings) !== request) return await this.#takenHere(task, request)
    requireAcceptsMessage(task, request, this.#port)
    const message = { ...request.message, contextId: task.contextId }
    const isWorked = registry.runOf(taskId) !== undefined || task.turn !== undefined
    const isWorking = isWorked && !isInterrupted(task.state)
    const policy = isWorking ? policyFor(this.#settings.onFollowUp, message, task) : undefined
    // Starting or resuming work needs a run slot.
    const release = isWorking ? undefined : registry.reserve(owner)
    const sent: InFlight<P> = { queued: { ...incoming, request: { ...request, message } }, policy }
    const isSent = await this.#sendHere(task, acquired, sent).finally(() => {
      // The run begins in a job that is scheduled by now.
      if (release !== undefined) void this.#scheduler.run(taskId, () => Promise.resolve().then(release))
    })
    if (!isSent) {
      // Another process has received the same message and stored it first, with a note that is not needed here.
      if (sent.opening !== undefined) void this.#notes.remove(task, message)
      return undefined
    }
    return { type: 'task', taskId, opening: sent.opening, broken: this.#brokenOf(taskId) }
  }

  /** Whether a task that is held here has this message, once what it shows is stored, or has failed to be. */
  async #isStored(taskId: string, request: SendRequest): Promise<boolean> {
    await this.tasks.stored(taskId).catch(() => undefined)
    const task = this.tasks.peekTask(taskId)
    return task !== null && unrepeated(task, request, this.#settings) !== request
  }

  /** As {@link #taken}, of a task that is held here. `undefined` when it is lost before it is stored with the message. */
  async #takenHere(task: TaskSnapshot, request: SendRequest): Promise<AcceptedTask | undefined> {
    return (await this.#isStored(task.id, request)) ? this.#taken(task, request) : undefined
  }

  /**
   * The answer to a message whose id the task has by now.
   *
   * @throws {A2AError} `INVALID_PARAMS` when it is the id of another message.
   */
  #taken(task: TaskSnapshot, { message }: SendRequest): AcceptedTask {
    const first = messageOf(task, message.messageId)
    if (first !== undefined) requireSame(first, message)
    return acceptedAgain(this.#port.registry, task)
  }

  /** As {@link ActiveRun.broken} of the run that the message has led to. */
  #brokenOf(taskId: string): Promise<never> {
    const broken = new Promise<never>((_, reject) => {
      // The run begins in a job that is scheduled by now.
      void this.#scheduler.run(taskId, () => {
        this.#port.registry.runOf(taskId)?.broken.catch(reject)
        return Promise.resolve()
      })
    })
    // Most messages have no client that waits for it.
    broken.catch(() => undefined)
    return broken
  }

  /** Sends the message under the task's lease. `undefined` when the lease is held here by now, or the task has changed. */
  async #deliverByStore(taskId: string, incoming: QueuedMessage<P>): Promise<AcceptedTask | undefined> {
    const { request, owner } = incoming
    const task = await requireVisible(this.#shared, taskId, owner)
    if (unrepeated(task, request, this.#settings) !== request) return this.#taken(task, request)
    requireAcceptsMessage(task, request, this.#port)
    const acquired = await this.tasks.acquire(taskId, toNote(incoming, task.messages.length))
    const isHere = acquired.type === 'acquired'
    if (isHere && request.ifGeneration === undefined) return undefined
    const { contextId, state } = task
    const message = { ...request.message, contextId }
    const isWorking = !isInterrupted(state) && (!isHere || this.#port.registry.runOf(taskId) !== undefined)
    const policy = isWorking ? policyFor(this.#settings.onFollowUp, message, task) : undefined
    const queued = { ...incoming, request: { ...request, message } }
    const isSent = isHere
      ? await this.#sendHere(task, acquired, { queued, policy })
      : await this.#sendElsewhere(task, acquired, queued)
    if (!isSent) return undefined
    // If the process that holds the task dies, the task itself shows it.
    const broken = new Promise<never>(() => undefined)
    return { type: 'task', taskId, opening: undefined, broken }
  }

  async #sendHere(task: TaskSnapshot, { leaseId }: AcquireResult, sent: InFlight<P>): Promise<boolean> {
    this.#inFlight.set(task.id, sent)
    try {
      return await this.tasks.send(task, leaseId, sent.queued.request.message)
    } finally {
      this.#inFlight.delete(task.id)
    }
  }

  async #sendElsewhere(
    task: TaskSnapshot,
    { leaseId }: AcquireResult,
    queued: QueuedMessage<P>,
  ): Promise<boolean> {
    const { message } = queued.request
    const isNoted = await this.#notes.put(task, queued)
    try {
      const isSent = await this.tasks.send(task, leaseId, message)
      if (isNoted && !isSent) await this.#notes.remove(task, message)
      return isSent
    } catch (error) {
      // After a failure of the store the message may have been sent: it keeps its note.
      if (isNoted && !A2AError.is(error, 'STORE_FAILED')) await this.#notes.remove(task, message)
      throw error
    }
  }

  readonly onNews = (task: TaskSnapshot, events: readonly TaskEvent[]): void => {
    const hasEnded = isTerminal(task.state)
    this.#port.registry.runOf(task.id)?.run.adopt()
    const read = readAmong(events)
    for (const event of hasEnded ? [] : events) {
      // The event belongs to the log and is frozen. Runs expose its message as read-only.
      if (event.type === 'message' && event.message.role === 'user' && !read.has(event.message.messageId))
        this.#receive(task, event.message as Message)
    }
    const active = this.#port.registry.runOf(task.id)
    if (active === undefined) this.#scheduler.schedule(task.id)
    else if (hasEnded) active.run.abort(active.run.abortReason ?? endedElsewhere(task))
    else if (events.some(isSignal)) active.run.turn.onSignal()
  }

  /** Gives a message that came through the store to the task's run, or queues it. */
  #receive(task: TaskSnapshot, message: Message): void {
    const { id } = task
    const { registry } = this.#port
    const active = registry.runOf(id)
    const similar = this.#scheduler.latestMessage(id) ?? this.#inFlight.get(id)?.queued
    const sent = this.#sentFromHere(task, message)
    if (sent !== undefined) sent.opening = task
    // Another process may have stored another message with this id first.
    const queued =
      sent === undefined
        ? this.#notes.received(task, message, similar)
        : { ...sent.queued, request: { ...sent.queued.request, message } }
    const isSteered = (): boolean =>
      sent?.policy === undefined ? this.#isSteered(task, message) : sent.policy === 'steer'
    if (active === undefined || !isListening(active)) {
      const isLeft = active === undefined && task.turn !== undefined && sent?.policy === 'steer'
      if (isLeft) this.#scheduler.steerLater(task, queued)
      else registry.queues.push(id, queued)
    } else if (active.run.turn.isAsking) {
      active.run.turn.parts.questions.resume(queued)
      this.assigned(id, queued)
    } else if (!this.#isAwaited(id, active) && isSteered()) {
      void this.#steer(task, active, queued)
    } else {
      registry.queues.push(id, queued)
    }
  }

  /** Whether the message answers a question that the run has yet to ask again: an earlier attempt has. */
  #isAwaited(taskId: string, { run: { turn } }: ActiveRun<P>): boolean {
    return turn.isLeftAsking && !this.#port.registry.queues.has(taskId)
  }

  async #steer(task: TaskSnapshot, active: ActiveRun<P>, queued: QueuedMessage<P>): Promise<void> {
    const isRead = await steer(active, queued)
    if (isRead && queued.isForwarded) await this.#notes.remove(task, queued.request.message)
  }

  /** Whether the current run deals with the message. The process that accepted it has applied the policy `'reject'`. */
  #isSteered(task: TaskSnapshot, message: Message): boolean {
    try {
      return this.#settings.onFollowUp(message, task) === 'steer'
    } catch (error) {
      this.#settings.onError(error, { during: 'onFollowUp', taskId: task.id })
      return false
    }
  }

  #sentFromHere({ id }: TaskSnapshot, { messageId }: Message): InFlight<P> | undefined {
    const sent = this.#inFlight.get(id)
    return sent?.queued.request.message.messageId === messageId ? sent : undefined
  }

  readonly onLost = (taskId: string, reason: Error): void => {
    this.#scheduler.lose(taskId, reason)
    // That a chosen id is in use is the client's error, and answered to the client.
    if (!A2AError.is(reason, 'INVALID_PARAMS')) this.#scheduler.report(reason, taskId)
  }

  readonly hasRoom = (): boolean => this.#scheduler.hasRoom

  readonly onOrphan = (task: TaskSnapshot, note: JsonValue | undefined): void => {
    this.#scheduler.restart(task, note, (message) => this.#isSteered(task, message))
  }
}

/** The ids of the messages that another process has read, by its entries among the events. */
function readAmong(events: readonly TaskEvent[]): ReadonlySet<string> {
  const read = new Set<string>()
  for (const event of events) {
    if (event.type !== 'journal') continue
    const { entry } = event
    if (entry.kind === 'turn' || entry.kind === 'answer') read.add(entry.messageId)
  }
  return read
}

/** The reason for a run whose task's signal has no better one. */
function endedElsewhere({ id, state, failure }: TaskSnapshot): A2AError {
  if (failure?.reason === 'restarts') {
    const text = `Task ${id} was failed by another process, because the lease of this one was not renewed in time`
    return new A2AError('LEASE_LOST', text, { taskId: id })
  }
  return new A2AError('TASK_TERMINAL', `Task ${id} was ended by another process: ${state}`, {
    taskId: id,
    state,
  })
}
