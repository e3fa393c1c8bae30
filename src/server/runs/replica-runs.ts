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
import { acceptedAgain, type AcceptedMessage, type AcceptedTask } from './accepted-message.js'
import { isListening, steer, type ActiveRun } from './active-run.js'
import { acceptHere, isRepeat, policyFor, requireAcceptsMessage, terminalTask } from './follow-up.js'
import { DelegationMarks } from '../history/delegation-marks.js'
import { EndedDelegations } from '../history/ended-delegations.js'
import { LeaseScheduler } from './lease-scheduler.js'
import type { QueuedMessage } from './message-queue.js'
import { referencesOf } from './references.js'
import { RequestNotes, toNote } from './request-notes.js'
import type { RunHost, RunScheduler } from './run-scheduler.js'
import type { Settings } from '../options.js'
import type { Principal } from '../caller.js'
import { findChosen, requireVisible } from '../chosen-ids.js'
import { unavailable } from '../unavailable.js'

/** Attempts to deliver a message while the process that holds its task changes. */
const MAX_ATTEMPTS = 20
/** How long closing waits for the store, twice, in ms. */
const STORING_MS = 5_000

interface Delivered {
  readonly accepted: AcceptedTask
  /** Resolves when the message is stored. Absent where it is. */
  readonly stored: Promise<void> | undefined
}

/**
 * One process holds the lease of each task that is worked on, and receives the messages of all processes: those that come
 * in here for a task held elsewhere are forwarded through the store, and the listener receives those that others forward.
 */
export class ReplicaRuns<P extends Principal> implements RunScheduler<P>, LeasedTasksListener {
  readonly tasks: LeasedTasks
  readonly #settings: Settings<P>
  readonly #shared: SharedTasks
  readonly #host: RunHost<P>
  readonly #notes: RequestNotes<P>
  readonly #scheduler: LeaseScheduler<P>
  readonly marks: DelegationMarks
  readonly #ended: EndedDelegations<P>
  /** Messages on their way through the store to tasks that are held here. */
  readonly #inFlight = new Map<string, QueuedMessage<P>>()
  /** Messages that came in here to tasks that are held here, until they are stored. */
  readonly #storing = new StoringMessages()

  constructor(shared: SharedTasks, host: RunHost<P>) {
    this.#settings = host.settings
    this.#shared = shared
    this.#host = host
    this.#notes = new RequestNotes(host.settings, shared.documents)
    this.marks = new DelegationMarks(shared.documents)
    this.tasks = shared.lease(this)
    const context = { tasks: shared, leased: this.tasks, notes: this.#notes, marks: this.marks }
    this.#scheduler = new LeaseScheduler(context, host)
    this.#ended = new EndedDelegations({ settings: host.settings, ...context })
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
    const { request, owner } = incoming
    // Checked before the message queues up: a caller who may not see the task must not delay those who may.
    const held = this.tasks.peekTask(taskId)
    if (held === null || !isOwnedBy(held, owner)) await requireVisible(this.#shared, taskId, owner)
    const references = await referencesOf(this.#shared, request, owner)
    try {
      return await this.#followUp(taskId, incoming, references)
    } catch (error) {
      // The message may be stored by now, from another request with it, and the task changed or ended since.
      const task = await this.#shared.peekTask(taskId, owner)
      if (task === null || !isRepeat(task, incoming.request)) throw error
      return acceptedAgain(this.#host.registry, task)
    }
  }

  async #followUp(
    taskId: string,
    incoming: QueuedMessage<P>,
    references: readonly TaskSnapshot[],
  ): Promise<AcceptedTask> {
    const delivered = await this.#scheduler.run(taskId, () => this.#deliver(taskId, incoming, references))
    await delivered.stored
    const { request, owner } = incoming
    const task = await requireVisible(this.#shared, taskId, owner)
    const { messageId } = request.message
    // Another process may have ended the task before the message was stored.
    if (isTerminal(task.state) && !task.messages.some((message) => message.messageId === messageId)) {
      throw terminalTask(task)
    }
    const { opening = task, broken } = delivered.accepted
    return { type: 'task', taskId, broken, opening: opening.generation > task.generation ? task : opening }
  }

  loadReferences(request: SendRequest, owner: OwnerFilter): Promise<readonly TaskSnapshot[]> {
    return referencesOf(this.#shared, request, owner)
  }

  referencesOf(): readonly TaskSnapshot[] {
    return []
  }

  noteOf(message: QueuedMessage<P>): JsonValue {
    return toNote(message)
  }

  stored(taskId: string): Promise<void> {
    const stored = this.tasks.stored(taskId)
    // The caller may look at it later.
    stored.catch(() => undefined)
    return stored
  }

  continueTurn(taskId: string): void {
    this.#scheduler.schedule(taskId)
  }

  assigned(taskId: string, message: QueuedMessage<P>): void {
    this.#scheduler.assigned(taskId, message)
  }

  runEnded(taskId: string, active: ActiveRun<P>): void {
    this.#scheduler.runEnded(taskId, active)
  }

  /** Waits for the store, and releases what another process can continue with. */
  async close(): Promise<void> {
    const { clock } = this.#settings
    this.#ended.close()
    await settleWithin(clock, STORING_MS, [this.#scheduler.close()])
    await settleWithin(clock, STORING_MS, [this.tasks.close()])
  }

  async #deliver(
    taskId: string,
    incoming: QueuedMessage<P>,
    references: readonly TaskSnapshot[],
  ): Promise<Delivered> {
    const { registry } = this.#host
    // A task created here may turn out to have an id that is in use: then the message is for the other task.
    if (this.#shared.lastSeen(taskId) === undefined) await this.stored(taskId).catch(() => undefined)
    const wasHeld = this.tasks.peekTask(taskId) !== null
    try {
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
        // Messages that others forwarded since the task was acquired come first.
        if (registry.runOf(taskId) === undefined && registry.queues.has(taskId))
          await this.#scheduler.nextTurn(taskId)
        const delivered =
          this.#deliverHere(taskId, incoming, references) ?? (await this.#deliverByStore(taskId, incoming))
        if (delivered !== undefined) return delivered
      }
      throw unavailable('cannot get hold of this task')
    } catch (error) {
      if (registry.runOf(taskId) === undefined) {
        if (wasHeld) this.#scheduler.schedule(taskId)
        else this.#scheduler.giveBack(taskId)
      }
      throw error
    }
  }

  /** `undefined` when the task is not held here, or the store has to decide. */
  #deliverHere(
    taskId: string,
    incoming: QueuedMessage<P>,
    references: readonly TaskSnapshot[],
  ): Delivered | undefined {
    this.#host.registry.requireOpen()
    const task = this.tasks.peekTask(taskId)
    if (task === null || !isOwnedBy(task, incoming.owner)) return undefined
    // An end that is not stored yet may be overtaken by a message from elsewhere. Generations are compared in the store.
    if (isTerminal(task.state) || incoming.request.ifGeneration !== undefined) return undefined
    this.#host.registry.runOf(taskId)?.run.adopt()
    const accepted = acceptHere(this.#host, this, task, incoming, references)
    const stored = this.stored(taskId)
    this.#storing.add(taskId, incoming.request.message, stored)
    return { accepted, stored }
  }

  /** Sends the message under the task's lease. `undefined` when the lease is held here by now, or the task has changed. */
  async #deliverByStore(taskId: string, incoming: QueuedMessage<P>): Promise<Delivered | undefined> {
    const { request, owner } = incoming
    await this.stored(taskId).catch(() => undefined)
    const task = await requireVisible(this.#shared, taskId, owner)
    if (isRepeat(task, request)) {
      return { accepted: acceptedAgain(this.#host.registry, task), stored: undefined }
    }
    requireAcceptsMessage(task, request)
    const acquired = await this.tasks.acquire(taskId, toNote(incoming, task.messages.length))
    const isHere = acquired.type === 'acquired'
    if (isHere && request.ifGeneration === undefined) return undefined
    const { contextId, state } = task
    const message = { ...request.message, contextId }
    const isWorking = !isInterrupted(state) && (!isHere || this.#host.registry.runOf(taskId) !== undefined)
    if (isWorking) policyFor(this.#settings.onFollowUp, message, task)
    const queued = { ...incoming, request: { ...request, message } }
    const isSent = isHere
      ? await this.#sendHere(task, acquired, queued)
      : await this.#sendElsewhere(task, acquired, queued)
    if (!isSent) return undefined
    // If the process that holds the task dies, the task itself shows it.
    const broken = new Promise<never>(() => undefined)
    return { accepted: { type: 'task', taskId, opening: undefined, broken }, stored: undefined }
  }

  async #sendHere(
    task: TaskSnapshot,
    { leaseId }: AcquireResult,
    queued: QueuedMessage<P>,
  ): Promise<boolean> {
    this.#inFlight.set(task.id, queued)
    try {
      return await this.tasks.send(task, leaseId, queued.request.message)
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
    this.#host.registry.runOf(task.id)?.run.adopt()
    for (const event of hasEnded ? [] : events) {
      // The event belongs to the log and is frozen. Runs expose its message as read-only.
      if (event.type === 'message' && event.message.role === 'user')
        this.#receive(task, event.message as Message)
    }
    const active = this.#host.registry.runOf(task.id)
    if (active === undefined) this.#scheduler.schedule(task.id)
    else if (hasEnded) active.run.abort(active.run.abortReason ?? endedElsewhere(task))
    else if (events.some(isSignal)) active.run.turn.onSignal()
  }

  /** Gives a message that came through the store to the task's run, or queues it. */
  #receive(task: TaskSnapshot, message: Message): void {
    const { id } = task
    const { registry } = this.#host
    if (this.#storing.has(id, message)) {
      // Another process has received the same message and stored it first. A run here has it already.
      void this.#notes.remove(task, message)
      return
    }
    const active = registry.runOf(id)
    const similar = this.#scheduler.latestMessage(id) ?? this.#inFlight.get(id)
    const queued = this.#sentFromHere(task, message) ?? this.#notes.received(task, message, similar)
    if (active === undefined || !isListening(active)) {
      registry.queues.push(id, queued)
    } else if (active.run.isWaiting) {
      active.run.turn.questions.resume(queued)
      this.assigned(id, queued)
    } else if (this.#isSteered(task, message)) {
      void this.#steer(task, active, queued)
    } else {
      registry.queues.push(id, queued)
    }
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

  #sentFromHere({ id }: TaskSnapshot, { messageId }: Message): QueuedMessage<P> | undefined {
    const sent = this.#inFlight.get(id)
    return sent?.request.message.messageId === messageId ? sent : undefined
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

class StoringMessages {
  readonly #keys = new Set<string>()

  add(taskId: string, message: Message, stored: Promise<void>): void {
    const key = this.#keyOf(taskId, message)
    this.#keys.add(key)
    const remove = (): unknown => this.#keys.delete(key)
    stored.then(remove, remove)
  }

  has(taskId: string, message: Message): boolean {
    return this.#keys.has(this.#keyOf(taskId, message))
  }

  #keyOf(taskId: string, { messageId }: Message): string {
    return JSON.stringify([taskId, messageId])
  }
}

/** The reason for a run whose task's signal has no better one. */
function endedElsewhere({ id, state }: TaskSnapshot): A2AError<'TASK_TERMINAL'> {
  return new A2AError('TASK_TERMINAL', `Task ${id} was ended by another process: ${state}`, {
    taskId: id,
    state,
  })
}
