/**
 * One process of several that share their tasks.
 *
 * @module
 */
import { A2AError } from '../core/errors.js'
import type { TaskEvent } from '../core/events.js'
import { isInterrupted, isTerminal } from '../core/lifecycle.js'
import { isOwnedBy, type OwnerFilter } from '../core/queries.js'
import type { JsonValue, Message, TaskSnapshot } from '../core/task.js'
import type { DurableTaskManager, LeasedTasks, LeasedTasksListener } from '../durable/index.js'
import type { SendRequest } from '../wire/index.js'
import type { Accepted, AcceptedTask } from './accepted.js'
import type { Queued } from './answer.js'
import { settled, unavailable } from './closing.js'
import { noMore, policyFor, requireTaking } from './follow-up.js'
import type { LiveRun } from './live-run.js'
import type { Settings } from './options.js'
import type { Queues } from './queues.js'
import type { Incoming, Start } from './run-context.js'
import { FAILED, SHUT_DOWN } from './run-failures.js'
import { fromNote, toNote } from './run-note.js'
import type { Soon } from './tasks.js'
import { Turns } from './turns.js'
import { requireVisible, type Caller, type Principal } from './visibility.js'

/** The runs of this process. */
export interface RunsHere<P extends Principal> {
  readonly queues: Queues<P>
  readonly isClosing: boolean
  /** @throws {A2AError} `UNAVAILABLE`. */
  requireOpen(): void
  runOf(taskId: string): LiveRun<P> | undefined
  takeIn(task: TaskSnapshot, incoming: Incoming<P>): AcceptedTask
  start(given: Queued<P>, owner: OwnerFilter, how: Start): LiveRun<P>
  lose(taskId: string, reason: Error): void
}

/** How often a message looks for whoever works on its task, while that changes. */
const MAX_ROUNDS = 20
/** How many of the tasks that a message refers to its run can read. */
const MAX_REFERENCES = 100
/** How long closing waits for the store. */
const STORING_MS = 5_000

/**
 * Who works on what: a task that is worked on is held by one process, which gets the messages of all. What is done to
 * one task happens in turn here, so that none of it finds the lease half taken or half given back.
 */
export class Replica<P extends Principal> implements LeasedTasksListener {
  readonly leased: LeasedTasks
  readonly #settings: Settings<P>
  readonly #tasks: DurableTaskManager
  readonly #runs: RunsHere<P>
  readonly #turns = new Turns()
  /** What is being sent to tasks that are held here. */
  readonly #sent = new Map<string, Queued<P>>()
  /** The latest runs of tasks that are held here, and are not worked on at the moment. */
  readonly #over = new Map<string, LiveRun<P>>()

  constructor(settings: Settings<P>, tasks: DurableTaskManager, runs: RunsHere<P>) {
    this.#settings = settings
    this.#tasks = tasks
    this.#runs = runs
    this.leased = tasks.lease(this)
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

  /** The tasks that a message refers to and `owner` has. Runs ask for them at once, so they are read before. */
  async referencesOf({ message }: SendRequest, owner: OwnerFilter): Promise<TaskSnapshot[]> {
    const found: TaskSnapshot[] = []
    for (const id of message.referenceTaskIds?.slice(0, MAX_REFERENCES) ?? []) {
      const task = await this.#tasks.peekTask(id, owner)
      if (task !== null) found.push(task)
    }
    return found
  }

  /**
   * Takes a message in to whoever works on its task: here, elsewhere, or, where nobody does, here from now on.
   *
   * @throws {A2AError} As `Runs.accept`.
   */
  async followUp(taskId: string, incoming: Incoming<P>): Promise<AcceptedTask> {
    const { request, owner } = incoming
    const references = await this.referencesOf(request, owner)
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
    try {
      for (let round = 0; round < MAX_ROUNDS; round += 1) {
        const offered = this.#offerHere(taskId, incoming) ?? (await this.#offerElsewhere(taskId, incoming))
        if (offered !== undefined) return offered
      }
    } catch (error) {
      // It may have been taken for nothing.
      if (this.#runs.runOf(taskId) === undefined) this.goOn(taskId)
      throw error
    }
    throw unavailable('cannot get hold of this task')
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
    const taking = await this.leased.take(taskId, toNote(incoming))
    const isHere = taking.type === 'taken'
    if (isHere && request.ifGeneration === undefined) return undefined
    const { contextId, state } = task
    const message = { ...request.message, contextId }
    const isWorking = !isInterrupted(state) && (!isHere || this.#runs.runOf(taskId) !== undefined)
    if (isWorking) policyFor(this.#settings.onFollowUp, message, task)
    try {
      if (isHere) this.#sent.set(taskId, { request: { ...request, message }, caller: incoming.caller })
      if (!(await this.leased.send(task, taking.leaseId, message))) return undefined
    } finally {
      this.#sent.delete(taskId)
    }
    // If whoever works on it dies, the task says so.
    const broken = new Promise<never>(() => undefined)
    return { accepted: { type: 'task', taskId, opening: undefined, broken }, stored: undefined }
  }

  /** Nobody works on the task at the moment: it is the turn of a message that waits, or else anybody's. */
  goOn(taskId: string, over?: LiveRun<P>): void {
    if (over !== undefined) this.#over.set(taskId, over)
    void this.#turns.take(taskId, () => this.#goOn(taskId))
  }

  async #goOn(taskId: string): Promise<void> {
    try {
      do {
        await this.leased.stored(taskId)
        if (this.#runs.runOf(taskId) !== undefined || (await this.#nextTurn(taskId))) return
      } while (!(await this.leased.release(taskId)))
    } catch (error) {
      // Of what is lost, `onLost` is told.
      if (this.leased.peekTask(taskId) !== null) this.#report(error, taskId)
    }
    this.#over.delete(taskId)
  }

  /** Whether there is another turn. */
  async #nextTurn(taskId: string): Promise<boolean> {
    const { queues } = this.#runs
    const task = this.leased.peekTask(taskId)
    if (task === null || isTerminal(task.state)) {
      queues.delete(taskId)
      return false
    }
    const next = queues.shift(taskId)
    return next !== undefined && (await this.#begin(task, () => next))
  }

  /** Begins a run on a task that is held here. Where that cannot be, the task fails. */
  async #begin(task: TaskSnapshot, give: () => Soon<Queued<P>>): Promise<boolean> {
    const { id, owner = null } = task
    try {
      const given = await give()
      const references = await this.referencesOf(given.request, { owner })
      this.#runs.requireOpen()
      const { broken } = this.#runs.start(given, { owner }, { task, references })
      const before = this.#over.get(id)
      if (before !== undefined) broken.catch(before.break)
      this.#over.delete(id)
      return true
    } catch (error) {
      this.#runs.queues.delete(id)
      const { state } = this.leased.peekTask(id) ?? { state: 'canceled' }
      if (isTerminal(state) || isInterrupted(state)) return false
      if (!this.#runs.isClosing) this.#report(error, id)
      this.leased.patchTask(id, { state: 'failed', message: this.#runs.isClosing ? SHUT_DOWN : FAILED })
      return false
    }
  }

  readonly onNews = (task: TaskSnapshot, events: readonly TaskEvent[]): void => {
    for (const event of events) {
      // It is the log's, frozen, and runs show it as what cannot be written to.
      if (event.type === 'message' && event.message.role === 'user')
        this.#hear(task, event.message as Message)
    }
    const live = this.#runs.runOf(task.id)
    if (live === undefined) this.goOn(task.id)
    else if (isTerminal(task.state)) live.run.abort(endedElsewhere(task))
  }

  /** A message joined the conversation by the store: of one that another process took in, no more is known. */
  #hear(task: TaskSnapshot, message: Message): void {
    const live = this.#runs.runOf(task.id)
    const queued = this.#sentHere(task, message) ?? this.#standingIn(task, message)
    try {
      if (live?.run.isWaiting) {
        live.run.resume(queued)
        return
      }
      if (live !== undefined && this.#settings.onFollowUp(message, task) === 'steer') return
    } catch (error) {
      this.#settings.onError(error, { during: 'onFollowUp', taskId: task.id })
    }
    this.#runs.queues.push(task.id, queued)
  }

  #sentHere({ id }: TaskSnapshot, { messageId }: Message): Queued<P> | undefined {
    const sent = this.#sent.get(id)
    return sent?.request.message.messageId === messageId ? sent : undefined
  }

  /** As if it came from whoever has sent the one that is worked on: the task belongs to both. */
  #standingIn({ id }: TaskSnapshot, message: Message): Queued<P> {
    const { given } = this.#runs.runOf(id) ?? this.#over.get(id) ?? { given: this.#given(undefined, message) }
    const { acceptedOutputModes, tenant } = given.request
    const beside = { acceptedOutputModes, ...(tenant !== undefined && { tenant }) }
    return { request: { message, returnImmediately: true, ...beside }, caller: given.caller }
  }

  readonly onLost = (taskId: string, reason: Error): void => {
    const over = this.#over.get(taskId)
    this.#over.delete(taskId)
    this.#runs.lose(taskId, reason)
    over?.break(reason)
    // An id that is taken is the client's affair.
    if (!A2AError.is(reason, 'INVALID_PARAMS')) this.#report(reason, taskId)
  }

  readonly onOrphan = (task: TaskSnapshot, note: JsonValue | undefined): void => {
    const restarted = this.#turns.take(task.id, async () => {
      if (!(await this.#begin(task, () => this.#restore(task, note)))) this.goOn(task.id)
    })
    restarted.catch((error: unknown) => this.#report(error, task.id))
  }

  async #restore({ messages }: TaskSnapshot, note: JsonValue | undefined): Promise<Queued<P>> {
    const message = messages.findLast(({ role }) => role === 'user')
    if (message === undefined) throw new TypeError('The task has no message to begin with again')
    const { principal: id } = fromNote(note)
    const principal = id === undefined ? undefined : await this.#settings.principalOf?.(id)
    // As in `onNews`.
    return this.#given(note, message as Message, principal)
  }

  #given(note: JsonValue | undefined, message: Message, principal?: P): Queued<P> {
    const { acceptedOutputModes = [], extensions = [], metadata, tenant } = fromNote(note)
    const [dialect] = this.#settings.dialects
    const caller: Caller<P> = { dialect, namesVersion: false, principal, extensions }
    const beside = { ...(metadata && { metadata }), ...(tenant !== undefined && { tenant }) }
    return { request: { message, returnImmediately: true, acceptedOutputModes, ...beside }, caller }
  }

  /** Ends a task that is late, whoever works on it. */
  fail(taskId: string, text: string): void {
    const failed = async (): Promise<void> =>
      this.#tasks.patchTask(taskId, { state: 'failed', message: text })
    failed().catch((error: unknown) => {
      const hasEnded = A2AError.is(error, 'TASK_TERMINAL') || A2AError.is(error, 'TASK_NOT_FOUND')
      if (!hasEnded) this.#report(error, taskId)
    })
  }

  /** Waits until all is stored, and leaves what is held here to the others. */
  async close(): Promise<void> {
    const { clock } = this.#settings
    await settled(clock, STORING_MS, [this.#turns.ended()])
    await settled(clock, STORING_MS, [this.leased.close()])
  }

  #report(error: unknown, taskId: string): void {
    this.#settings.onError(error, { during: 'execute', taskId })
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
