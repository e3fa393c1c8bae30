/**
 * One process of several that share their tasks.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { TaskEvent } from '../../core/events.js'
import { isInterrupted, isTerminal } from '../../core/lifecycle.js'
import { isOwnedBy, type OwnerFilter } from '../../core/queries.js'
import type { Message, TaskSnapshot } from '../../core/task.js'
import type { JsonValue } from '../../core/json-types.js'
import { settleWithin } from '../../runtime/shutdown.js'
import { unavailable } from '../unavailable.js'
import type { SharedTasks, LeasedTasks, LeasedTasksListener, Taking } from '../../core/managers.js'
import type { Accepted, AcceptedTask } from './accepted-message.js'
import type { Queued } from './question.js'
import { noMore, policyFor, requireTaking } from './follow-up.js'
import { isListening, steer, type LiveRun } from './active-run.js'
import { NotedRequests } from './request-notes.js'
import type { Settings } from '../options.js'
import { referencesOf } from './references.js'
import type { Incoming } from './run-context.js'
import { toNote } from './run-note.js'
import { requireVisible, type Principal } from '../caller.js'
import { WorkTurns, type RunsHere } from './lease-scheduler.js'

/** How often a message looks for whoever works on its task, while that changes. */
const MAX_ROUNDS = 20
/** How long closing waits for the store. */
const STORING_MS = 5_000

/**
 * Who works on what: a task that is worked on is held by one process, which gets the messages of all. What is done to
 * one task happens in turn here, so that none of it finds the lease half taken or half given back.
 */
export class Replica<P extends Principal> implements LeasedTasksListener {
  readonly leased: LeasedTasks
  readonly #settings: Settings<P>
  readonly #tasks: SharedTasks
  readonly #runs: RunsHere<P>
  readonly #requests: NotedRequests<P>
  readonly #turns: WorkTurns<P>
  /** What is being sent to tasks that are held here. */
  readonly #sent = new Map<string, Queued<P>>()

  constructor(settings: Settings<P>, tasks: SharedTasks, runs: RunsHere<P>) {
    this.#settings = settings
    this.#tasks = tasks
    this.#runs = runs
    this.#requests = new NotedRequests(settings, tasks.documents)
    this.leased = tasks.lease(this)
    const { leased } = this
    this.#turns = new WorkTurns({ settings, tasks, leased, runs, requests: this.#requests })
  }

  /** Of messages that begin a task with the same id at once, the first begins it, and the others are more to it. */
  async acceptChosen(
    accept: () => Promise<Accepted>,
    taskId: string,
    ownerOf: () => OwnerFilter,
  ): Promise<Accepted> {
    try {
      return await accept()
    } catch (error) {
      const isTaken = A2AError.is(error, 'INVALID_PARAMS') && error.data.path === 'id'
      if (!isTaken || (await this.#tasks.peekTask(taskId, ownerOf())) === null) throw error
      return await accept()
    }
  }

  /** As that of {@link LeasedTasks}, for whoever may look at it later. */
  stored(taskId: string): Promise<void> {
    const stored = this.leased.stored(taskId)
    stored.catch(() => undefined)
    return stored
  }

  /** As those of {@link WorkTurns}. */
  workOn(taskId: string, given: Queued<P>): void {
    this.#turns.workOn(taskId, given)
  }

  goOn(taskId: string, over: LiveRun<P>): void {
    this.#turns.goOn(taskId, over)
  }

  /**
   * Takes a message in to whoever works on its task: here, elsewhere, or, where nobody does, here from now on.
   *
   * @throws {A2AError} As `Runs.accept`.
   */
  async followUp(taskId: string, incoming: Incoming<P>): Promise<AcceptedTask> {
    const { request, owner } = incoming
    // Before it takes its turn: whoever may not see the task holds up nobody who may.
    const here = this.leased.peekTask(taskId)
    if (here === null || !isOwnedBy(here, owner)) await requireVisible(this.#tasks, taskId, owner)
    const references = await referencesOf(this.#tasks, request, owner)
    const offered = await this.#turns.take(taskId, () => this.#offer(taskId, { ...incoming, references }))
    await offered.stored
    const task = await requireVisible(this.#tasks, taskId, owner)
    const { messageId } = request.message
    // Somebody else has ended it before this could be stored.
    if (isTerminal(task.state) && !task.messages.some((message) => message.messageId === messageId)) {
      throw noMore(task)
    }
    const { opening = task, broken } = offered.accepted
    return { type: 'task', taskId, broken, opening: opening.generation > task.generation ? task : opening }
  }

  async #offer(taskId: string, incoming: Incoming<P>): Promise<Offered> {
    const wasHeld = this.leased.peekTask(taskId) !== null
    try {
      for (let round = 0; round < MAX_ROUNDS; round += 1) {
        // What others have said to it since it was taken comes first.
        if (this.#runs.runOf(taskId) === undefined && this.#runs.queues.has(taskId))
          await this.#turns.goOnNow(taskId)
        const offered = this.#offerHere(taskId, incoming) ?? (await this.#offerElsewhere(taskId, incoming))
        if (offered !== undefined) return offered
      }
      throw unavailable('cannot get hold of this task')
    } catch (error) {
      if (this.#runs.runOf(taskId) === undefined) {
        if (wasHeld) this.#turns.goOn(taskId)
        else this.#turns.giveBack(taskId)
      }
      throw error
    }
  }

  /** `undefined` when the task is not held here. */
  #offerHere(taskId: string, incoming: Incoming<P>): Offered | undefined {
    this.#runs.requireOpen()
    const task = this.leased.peekTask(taskId)
    if (task === null || !isOwnedBy(task, incoming.owner)) return undefined
    // What ends here may yet be told that there is more; what has to be compared is compared in the store.
    if (isTerminal(task.state) || incoming.request.ifGeneration !== undefined) return undefined
    const accepted = this.#runs.takeIn(task, incoming)
    return { accepted, stored: this.stored(taskId) }
  }

  /** Where it is held, by whomever. `undefined` when that is here by now, or it has changed meanwhile. */
  async #offerElsewhere(taskId: string, incoming: Incoming<P>): Promise<Offered | undefined> {
    const { request, owner } = incoming
    // One of somebody else's that is new here: its id may turn out to be taken.
    await this.stored(taskId).catch(() => undefined)
    const task = await requireVisible(this.#tasks, taskId, owner)
    requireTaking(task, request)
    const taking = await this.leased.take(taskId, toNote(incoming, task.messages.length))
    const isHere = taking.type === 'taken'
    if (isHere && request.ifGeneration === undefined) return undefined
    const { contextId, state } = task
    const message = { ...request.message, contextId }
    const isWorking = !isInterrupted(state) && (!isHere || this.#runs.runOf(taskId) !== undefined)
    if (isWorking) policyFor(this.#settings.onFollowUp, message, task)
    const given = { request: { ...request, message }, caller: incoming.caller }
    const isSent = isHere
      ? await this.#sendHere(task, taking, given)
      : await this.#sendAway(task, taking, given)
    if (!isSent) return undefined
    // If whoever works on it dies, the task says so.
    const broken = new Promise<never>(() => undefined)
    return { accepted: { type: 'task', taskId, opening: undefined, broken }, stored: undefined }
  }

  async #sendHere(task: TaskSnapshot, { leaseId }: Taking, given: Queued<P>): Promise<boolean> {
    this.#sent.set(task.id, given)
    try {
      return await this.leased.send(task, leaseId, given.request.message)
    } finally {
      this.#sent.delete(task.id)
    }
  }

  async #sendAway(task: TaskSnapshot, { leaseId }: Taking, given: Queued<P>): Promise<boolean> {
    const { message } = given.request
    const isNoted = await this.#requests.put(task, given)
    try {
      const isSent = await this.leased.send(task, leaseId, message)
      if (isNoted && !isSent) await this.#requests.remove(task, message)
      return isSent
    } catch (error) {
      // Otherwise nobody knows whether it was sent.
      if (isNoted && !A2AError.is(error, 'STORE_FAILED')) await this.#requests.remove(task, message)
      throw error
    }
  }

  readonly onNews = (task: TaskSnapshot, events: readonly TaskEvent[]): void => {
    const hasEnded = isTerminal(task.state)
    for (const event of hasEnded ? [] : events) {
      // It is the log's, frozen, and runs show it as what cannot be written to.
      if (event.type === 'message' && event.message.role === 'user')
        this.#hear(task, event.message as Message)
    }
    const live = this.#runs.runOf(task.id)
    if (live === undefined) this.#turns.goOn(task.id)
    else if (hasEnded) live.run.abort(live.run.abortReason ?? endedElsewhere(task))
  }

  /** A message joined the conversation by the store. */
  #hear(task: TaskSnapshot, message: Message): void {
    const { id } = task
    const live = this.#runs.runOf(id)
    const like = this.#turns.latest(id) ?? this.#sent.get(id)
    const queued = this.#sentHere(task, message) ?? this.#requests.heard(message, like)
    if (live === undefined || !isListening(live)) {
      this.#runs.queues.push(id, queued)
    } else if (live.run.isWaiting) {
      live.run.resume(queued)
      this.workOn(id, queued)
    } else if (this.#isSteered(task, message)) {
      void this.#steer(task, live, queued)
    } else {
      this.#runs.queues.push(id, queued)
    }
  }

  async #steer(task: TaskSnapshot, live: LiveRun<P>, queued: Queued<P>): Promise<void> {
    const isSeen = await steer(live, queued)
    if (isSeen && queued.isHeard) await this.#requests.remove(task, queued.request.message)
  }

  /** Whether a run that can read the message deals with it: that it is taken at all was decided where it came in. */
  #isSteered(task: TaskSnapshot, message: Message): boolean {
    try {
      return this.#settings.onFollowUp(message, task) === 'steer'
    } catch (error) {
      this.#settings.onError(error, { during: 'onFollowUp', taskId: task.id })
      return false
    }
  }

  #sentHere({ id }: TaskSnapshot, { messageId }: Message): Queued<P> | undefined {
    const sent = this.#sent.get(id)
    return sent?.request.message.messageId === messageId ? sent : undefined
  }

  readonly onLost = (taskId: string, reason: Error): void => {
    this.#turns.lose(taskId, reason)
    // An id that is taken is the client's affair.
    if (!A2AError.is(reason, 'INVALID_PARAMS')) this.#turns.report(reason, taskId)
  }

  readonly hasRoom = (): boolean => this.#turns.hasRoom

  readonly onOrphan = (task: TaskSnapshot, note: JsonValue | undefined): void => {
    this.#turns.restart(task, note, (message) => this.#isSteered(task, message))
  }

  /** Waits until all is stored, and leaves what is held here to the others. */
  async close(): Promise<void> {
    const { clock } = this.#settings
    await settleWithin(clock, STORING_MS, [this.#turns.close()])
    await settleWithin(clock, STORING_MS, [this.leased.close()])
  }
}

/** For a run whose signal has no better reason. */
function endedElsewhere({ id, state }: TaskSnapshot): A2AError<'TASK_TERMINAL'> {
  return new A2AError('TASK_TERMINAL', `Task ${id} was ended by others: ${state}`, { taskId: id, state })
}

interface Offered {
  readonly accepted: AcceptedTask
  readonly stored: Promise<void> | undefined
}
