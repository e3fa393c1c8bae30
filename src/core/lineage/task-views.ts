/**
 * Views of a manager's tasks that are the same over memory and a store.
 *
 * @module
 */
import { TaskEmitter } from '../emitter.js'
import type { JournalRecorded } from '../events.js'
import { feedOf } from '../feed/feed.js'
import type { FeedOptions, FeedSource, TaskFeed } from '../feed/types.js'
import type { Lifecycle } from '../lifecycle.js'
import type { DeadLetterQuery, DeadLetters, RedriveQuery, RedriveReport } from '../history/dead-letters.js'
import type { RequireRoom, TaskPage, TaskQuery } from '../queries.js'
import type { ForkOptions } from '../history/fork.js'
import type { Task, TaskKey, TaskSnapshot } from '../task.js'
import type { ChildTask, TaskChildren } from './children.js'

type Eventual<T> = T | Promise<T>

/** Makes new tasks from the logs of others. */
export interface Forks<S extends string> {
  fork(taskId: string, options: ForkOptions, requireRoom: RequireRoom): Eventual<Task<S>>
  redrive(taskId: string, requireRoom: RequireRoom): Eventual<Task<S>>
  /** The ids of those of these tasks that were redriven. */
  redriven(tasks: readonly TaskKey[]): Eventual<ReadonlySet<string>>
}

export abstract class TaskViews<S extends string> extends TaskEmitter<S> {
  readonly #limits = new Set<RequireRoom>()
  /** The age in ms at which a task that has not ended fails. `Infinity` for none. */
  readonly taskTimeoutMs: number
  abstract readonly lifecycle: Lifecycle<S>

  /** @param options - Those of the manager, which checks them. */
  constructor(options: { readonly taskTimeoutMs?: number | undefined } | null | undefined) {
    super()
    this.taskTimeoutMs = options?.taskTimeoutMs ?? Infinity
  }

  abstract peekTask(taskId: string): Eventual<TaskSnapshot<S> | null>
  abstract pageTasks(query?: TaskQuery<S> | null): Eventual<TaskPage<S>>
  abstract journal(taskId: string): Eventual<JournalRecorded[]>
  /** Loads what makes forks: most programs fork nothing. */
  protected abstract loadForks(): Promise<Forks<S>>
  /** `undefined` without the option `feedSize`. */
  protected abstract readonly feedSource: FeedSource<S> | undefined
  protected abstract childTasks(parentId: string): Promise<ChildTask<S>[]>

  /**
   * The events of all tasks in one order, and the removals of tasks, from now on or after a cursor: no event is left out, and
   * none comes twice. Needs the option `feedSize` of the manager, or of its store. Begins with a `resync` entry unless `after`
   * is the cursor of an entry that is still kept; a reader that falls behind by more than `feedSize` entries receives one, too.
   * Restored tasks have no events. Ends when `signal` aborts, and when the manager is destroyed.
   *
   * @throws {TypeError} without `feedSize`.
   * @throws {A2AError} `INVALID_PARAMS` for an invalid option; from `next()`: `STORE_FAILED`.
   */
  feed(options: FeedOptions = {}): TaskFeed<S> {
    return feedOf(this.feedSource, options)
  }

  /**
   * One page of the tasks that have failed for good, latest first, without those that were redriven: their `execute` threw,
   * with a handler's `retry` in its last attempt, or their processes died. Their `failure` says why. Reads failed tasks: a page
   * may have fewer than `pageSize`, and further ones follow.
   */
  async deadLetters(query: DeadLetterQuery = {}): Promise<TaskPage<S>> {
    const { deadLettersOf } = await import('../history/dead-letters.js')
    return await deadLettersOf(this.#letters, query)
  }

  /**
   * Continues a dead letter in a new task, as {@link fork} does. Steps that are done stay done. The failed step that ended the
   * last attempt is done again, with the same `key`. Attempts and restarts count from the start. The dead letter stays
   * `failed`, and leaves `deadLetters`. Calls for one dead letter, in any process and at any time, make one task.
   *
   * @returns A copy of the new task: of the present one when the dead letter was redriven before.
   * @throws {A2AError} As a rejection: those of `fork`; `INVALID_PARAMS` for a task that is not a dead letter;
   *   `UNSUPPORTED_OPERATION` for a task of a gateway.
   */
  async redrive(taskId: string): Promise<Task<S>> {
    const forks = await this.loadForks()
    return await forks.redrive(taskId, this.#requireRoom)
  }

  /**
   * Redrives all dead letters that match, one after the other, latest first. One that cannot be redriven stays in the list,
   * and the others are redriven anyway.
   *
   * @throws {A2AError} As a rejection: `INVALID_PARAMS` for the query.
   */
  async redriveAll(query: RedriveQuery<S> = {}): Promise<RedriveReport> {
    const { redriveAllOf } = await import('../history/dead-letters.js')
    return await redriveAllOf(this.#letters, query)
  }

  /**
   * Makes a new task that shares the past of another one up to a generation, with other answers or outputs of steps if given,
   * and continues from there. The other task, which may have ended, stays as it is. The new one has its owner, context, input,
   * conversation, artifacts and journal, and names it in `referenceTaskIds`.
   *
   * The turn that was under way continues: a request handler calls `execute`, which replays the journal. Over a store, any
   * replica does. What the code had shown after the last entry of the shared journal, it shows again. Steps that run again
   * have keys of the new task, and agents that the turn waited for receive their message again. Where no turn was under way,
   * or a question is open, the new task waits for the user.
   *
   * @returns A copy of the new task.
   * @throws {A2AError} As a rejection: `TASK_NOT_FOUND`; `INVALID_PARAMS` for a generation that the task does not have, a name
   *   that the past of the turn does not hold, a task without a journal, and a log that does not reach back to the creation of
   *   the task; `LIMIT_EXCEEDED`; `RATE_LIMITED` when a handler in this process has a limit of tasks per owner, and the owner
   *   of the task has as many. Over a `TaskManager` also `TASK_LIMIT_REACHED`, `UNAVAILABLE` and `RATE_LIMITED` when no run can
   *   begin.
   */
  async fork(taskId: string, options: ForkOptions = {}): Promise<Task<S>> {
    const forks = await this.loadForks()
    return await forks.fork(taskId, options, this.#requireRoom)
  }

  /** Asks for room before each fork and redrive, as request handlers do. Returns a function that ends this. */
  limitForks(requireRoom: RequireRoom): () => void {
    this.#limits.add(requireRoom)
    return () => void this.#limits.delete(requireRoom)
  }

  /**
   * What a task has led to: the tasks of this manager whose first message names it as their parent, by its lineage, and the
   * delegations of its journal. The task itself may be another agent's. A lineage is what a client says: it proves nothing.
   * Over memory, O(number of tasks); over a store, O(number of children).
   */
  async children(taskId: string): Promise<TaskChildren<S>> {
    const { delegationsIn } = await import('./children.js')
    const tasks = await this.childTasks(taskId)
    const task = await this.peekTask(taskId)
    return { tasks, delegations: task === null ? [] : delegationsIn(await this.journal(taskId)) }
  }

  readonly #requireRoom: RequireRoom = (owner, isWorking) => {
    const pending = [...this.#limits].flatMap((requireRoom) => requireRoom(owner, isWorking) ?? [])
    return pending.length === 0 ? undefined : Promise.all(pending).then(() => undefined)
  }

  get #letters(): DeadLetters<S> {
    const { lifecycle } = this
    return {
      lifecycle,
      pageTasks: (query) => this.pageTasks(query),
      redriven: async (tasks) => (await this.loadForks()).redriven(tasks),
      redrive: (taskId) => this.redrive(taskId),
    }
  }
}
