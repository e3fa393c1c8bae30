/**
 * Views of a manager's tasks that are the same over memory and a store.
 *
 * @module
 */
import { TaskEmitter } from '../emitter.js'
import type { HistoryRecorded } from '../events.js'
import { feedOf } from '../feed/feed.js'
import type { FeedOptions, FeedSource, TaskFeed } from '../feed/types.js'
import type { Lifecycle } from '../lifecycle.js'
import { deadLettersOf, type DeadLetterQuery, type TaskPage, type TaskQuery } from '../queries.js'
import type { TaskSnapshot } from '../task.js'
import { delegationsIn, type ChildTask, type TaskChildren } from './children.js'

type Eventual<T> = T | Promise<T>

export abstract class TaskViews<S extends string> extends TaskEmitter<S> {
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
  abstract history(taskId: string): Eventual<HistoryRecorded[]>
  /** `undefined` without the option `feedSize`. */
  protected abstract readonly feedSource: FeedSource<S> | undefined
  protected abstract childTasks(parentId: string): Eventual<ChildTask<S>[]>

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
   * One page of the tasks that have failed for good, latest first: after all attempts of a handler's `retry`, or because their
   * processes died. Their `failure` says why. Reads failed tasks: a page may have fewer than `pageSize`, and further ones follow.
   */
  async deadLetters(query: DeadLetterQuery = {}): Promise<TaskPage<S>> {
    return await deadLettersOf(this, query)
  }

  /**
   * What a task has led to: the tasks of this manager whose first message names it as their parent, by its lineage, and the
   * delegations of its history. The task itself may be another agent's. A lineage is what a client says: it proves nothing.
   * Over memory, O(number of tasks); over a store, O(number of children).
   */
  async children(taskId: string): Promise<TaskChildren<S>> {
    const tasks = await this.childTasks(taskId)
    const task = await this.peekTask(taskId)
    return { tasks, delegations: task === null ? [] : delegationsIn(await this.history(taskId)) }
  }
}
