/**
 * Who works next on a task that this process holds.
 *
 * @module
 */
import { isInterrupted, isTerminal } from '../../core/lifecycle.js'
import type { OwnerFilter } from '../../core/queries.js'
import type { Message, TaskSnapshot, TaskKey } from '../../core/task.js'
import type { JsonValue } from '../../core/json-types.js'
import type { SharedTasks, LeasedTasks, MaybePromise } from '../../core/managers.js'
import type { AcceptedTask } from './accepted-message.js'
import type { Queued } from './question.js'
import type { LiveRun } from './active-run.js'
import { toDo, type NotedRequests } from './request-notes.js'
import type { Settings } from '../options.js'
import type { Queues } from './message-queue.js'
import { referencesOf } from './references.js'
import type { Incoming, Start } from './run-context.js'
import { FAILED, SHUT_DOWN } from './run-failures.js'
import { toNote } from './run-note.js'
import { KeyedQueue } from '../../runtime/keyed-queue.js'
import type { Principal } from '../caller.js'

/** When what a store was away for is tried again. */
const LATER_MS = 10_000

/** The runs of this process. */
export interface RunsHere<P extends Principal> {
  readonly queues: Queues<P>
  readonly isClosing: boolean
  /** @throws {A2AError} `UNAVAILABLE`. */
  requireOpen(): void
  /** Whether one more run may begin, beside `others` that are about to. */
  hasRoom(others: number): boolean
  runOf(taskId: string): LiveRun<P> | undefined
  takeIn(task: TaskSnapshot, incoming: Incoming<P>): AcceptedTask
  start(given: Queued<P>, owner: OwnerFilter, how: Start): LiveRun<P>
  lose(taskId: string, reason: Error, task: TaskKey | undefined): void
}

/** What there is to work with. */
interface Workplace<P extends Principal> {
  readonly settings: Settings<P>
  readonly tasks: SharedTasks
  readonly leased: LeasedTasks
  readonly runs: RunsHere<P>
  readonly requests: NotedRequests<P>
}

/**
 * A run at a time for each task, and then the next message's; when none waits, the task is given back. One that has neither
 * ended nor waits for the user never is: somebody ought to work on it.
 */
export class WorkTurns<P extends Principal> {
  readonly #place: Workplace<P>
  readonly #turns = new KeyedQueue()
  /** The latest runs of tasks that are held here, and are not worked on at the moment. */
  readonly #over = new Map<string, LiveRun<P>>()
  /** How many runs of processes that have died are about to begin here. */
  #restarting = 0
  /** End the timers of what is tried again. */
  readonly #later = new Set<() => void>()
  #isClosed = false

  constructor(place: Workplace<P>) {
    this.#place = place
  }

  /** Whether there is room for one more run of a process that has died. */
  get hasRoom(): boolean {
    const { runs } = this.#place
    return !runs.isClosing && runs.hasRoom(this.#restarting)
  }

  /** Does `job` when all that was begun about this task before is done. */
  take<T>(taskId: string, job: () => Promise<T>): Promise<T> {
    return this.#turns.run(taskId, job)
  }

  /** Resolves when there is nothing left to do. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const cancel of this.#later) cancel()
    await this.#turns.ended()
  }

  /** The request that the latest run was begun for, of a task that is held here. */
  latest(taskId: string): Queued<P> | undefined {
    return (this.#place.runs.runOf(taskId) ?? this.#over.get(taskId))?.given
  }

  /** From now on the work is about this message: whoever has to do it again begins with it. */
  workOn(taskId: string, given: Queued<P>): void {
    const { leased, runs } = this.#place
    leased.setNote(taskId, toNote(given))
    if (given.isHeard) runs.runOf(taskId)?.heard.push(given)
  }

  /**
   * Nobody works on the task at the moment: it is the turn of a message that waits, or else anybody's.
   *
   * @param over - The run that was the last.
   */
  goOn(taskId: string, over?: LiveRun<P>): void {
    if (over !== undefined) {
      this.#over.set(taskId, over)
      this.#forget(taskId, over)
    }
    void this.take(taskId, () => this.goOnNow(taskId))
  }

  /** What came with the messages that a run has dealt with. An answer that it has not looked at waits for another. */
  #forget(taskId: string, { task, heard }: LiveRun<P>): void {
    const { requests, runs } = this.#place
    if (task === undefined) return
    for (const given of heard) {
      if (!runs.queues.includes(taskId, given)) void requests.remove(task, given.request.message)
    }
  }

  /** The task was taken for nothing: it may be given back as it is now, where nothing happens to it meanwhile. */
  giveBack(taskId: string): void {
    const { generation } = this.#place.leased.peekTask(taskId) ?? {}
    void this.take(taskId, () => this.goOnNow(taskId, generation))
  }

  /** As {@link goOn}, for whoever has taken his turn. */
  async goOnNow(taskId: string, found?: number): Promise<void> {
    const { leased, runs } = this.#place
    try {
      for (;;) {
        await leased.stored(taskId)
        if (runs.runOf(taskId) !== undefined) return
        // No await from here until it is being released: what others say meanwhile is not to be overlooked.
        const task = leased.peekTask(taskId)
        const next = this.#nextOf(taskId, task)
        if (task !== null && next !== undefined) {
          if (next.isHeard && runs.isClosing) {
            // Whoever has sent it did not send it here: another process sees to it, when the lease has run out.
            if (next.note === undefined) leased.setNote(taskId, toNote(next))
            runs.queues.delete(taskId)
            break
          }
          if (await this.#begin(task, () => this.#recall(task, next), next.note !== undefined)) return
        } else if (task !== null && isLeft(task, runs.isClosing ? undefined : found)) {
          // Its lease runs out, and another process sees to it.
          if (runs.isClosing) break
          this.report(new Error('The work on this task is over, and the task is not'), taskId)
          this.#fail(taskId, FAILED)
        } else if (await leased.release(taskId)) break
      }
    } catch (error) {
      // Of what is lost, `onLost` is told.
      if (leased.peekTask(taskId) !== null) {
        this.report(error, taskId)
        this.#goOnLater(taskId)
      }
    }
    this.#over.delete(taskId)
  }

  /** The store was away for too long for a task to be given back. */
  #goOnLater(taskId: string): void {
    if (this.#isClosed) return
    const { clock } = this.#place.settings
    const cancel = clock.schedule(() => {
      this.#later.delete(cancel)
      this.goOn(taskId)
    }, LATER_MS)
    this.#later.add(cancel)
  }

  /**
   * Has done again what was being done by a process that has died, and then what waited there for its turn: before
   * anything that comes from now on.
   *
   * @param isSteered - Whether a run deals with this message that is begun for one before it.
   */
  restart(task: TaskSnapshot, note: JsonValue | undefined, isSteered: (message: Message) => boolean): void {
    const { requests, runs } = this.#place
    const { id } = task
    const [first, ...later] = toDo(task, note)
    const waiting = later.filter((message) => !isSteered(message))
    if (first !== undefined) {
      const interrupted = { ...requests.heard(first, undefined), note: note ?? null }
      runs.queues.unshift(id, [interrupted, ...waiting.map((message) => requests.heard(message, undefined))])
    }
    this.#restarting += 1
    void this.take(id, () => this.goOnNow(id)).finally(() => (this.#restarting -= 1))
  }

  /** The task is not held here any more. */
  lose(taskId: string, reason: Error): void {
    const over = this.#over.get(taskId)
    this.#over.delete(taskId)
    this.#place.runs.lose(taskId, reason, over?.task)
    over?.break(reason)
  }

  report(error: unknown, taskId: string): void {
    this.#place.settings.onError(error, { during: 'execute', taskId })
  }

  #nextOf(taskId: string, task: TaskSnapshot | null): Queued<P> | undefined {
    const { queues } = this.#place.runs
    if (task !== null && !isTerminal(task.state)) return queues.shift(taskId)
    queues.delete(taskId)
    return undefined
  }

  /** With what came with it. */
  #recall(task: TaskSnapshot, next: Queued<P>): MaybePromise<Queued<P>> {
    const { requests } = this.#place
    const { message } = next.request
    if (next.note !== undefined) return requests.restore(message, next.note)
    return next.isHeard ? requests.recall(task, next, this.latest(task.id)) : next
  }

  /** Begins a run. Where that cannot be, the task fails, and this is `false`. */
  async #begin(task: TaskSnapshot, give: () => MaybePromise<Queued<P>>, isNoted: boolean): Promise<boolean> {
    const { tasks, leased, runs } = this.#place
    const { id, owner = null } = task
    try {
      const given = await give()
      const references = await referencesOf(tasks, given.request, { owner })
      runs.requireOpen()
      const { broken } = runs.start(given, { owner }, { task, references, isNoted })
      const before = this.#over.get(id)
      if (before !== undefined) broken.catch(before.break)
      this.#over.delete(id)
      return true
    } catch (error) {
      runs.queues.delete(id)
      const { state } = leased.peekTask(id) ?? { state: 'canceled' }
      if (isTerminal(state)) return false
      if (!runs.isClosing) this.report(error, id)
      this.#fail(id, runs.isClosing ? SHUT_DOWN : FAILED)
      return false
    }
  }

  #fail(taskId: string, text: string): void {
    const { leased } = this.#place
    try {
      leased.patchTask(taskId, { state: 'failed', message: text })
    } catch {
      // The conversation has no room for one more message.
      leased.patchTask(taskId, { state: 'failed' })
    }
  }
}

/** Whether somebody ought to work on the task: it is not as it was `found`, has not ended, and does not wait for the user. */
function isLeft({ state, generation }: TaskSnapshot, found: number | undefined): boolean {
  return generation !== found && !isTerminal(state) && !isInterrupted(state)
}
