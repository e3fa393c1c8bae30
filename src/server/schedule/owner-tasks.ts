/**
 * Limit on the tasks of one owner that have not ended.
 *
 * @module
 */
import type { A2AError } from '../../core/errors.js'
import { isInterrupted, isTerminal, type TaskState } from '../../core/lifecycle.js'
import type { MaybePromise } from '../../core/managers.js'
import type { OwnerFilter } from '../../core/queries.js'
import { limitForks } from '../../views/room.js'
import type { Settings } from '../options.js'
import { tooManyOf } from '../owner-counts.js'
import { isPromise, isShared } from '../tasks.js'
import { untilTimeoutMs } from './waiting-tasks.js'

type Needed = 'clock' | 'limits' | 'tasks'
type LiveTasks = ReadonlyMap<TaskState, number>

/**
 * Counts in the manager, so over a store the tasks of all processes count. Messages that come to several processes at the same
 * moment may exceed the limit.
 */
export class OwnerTasks {
  readonly #settings: Pick<Settings, Needed>
  readonly #beginning: (owner: OwnerFilter) => number

  /** @param beginning - How many tasks of an owner this process may begin that its manager does not count yet. */
  constructor(settings: Pick<Settings, Needed>, beginning: (owner: OwnerFilter) => number) {
    this.#settings = settings
    this.#beginning = beginning
  }

  /**
   * The numbers of the owner's unended tasks, by state. `undefined` without a limit. Over a manager in memory nothing has to be
   * awaited.
   */
  count(owner: OwnerFilter): MaybePromise<LiveTasks> | undefined {
    const { tasks, limits } = this.#settings
    if (limits.maxTasksPerOwner === Infinity) return undefined
    const { lifecycle } = tasks
    const states = lifecycle.states.filter((state) => !isTerminal(state, lifecycle))
    const live = new Map<TaskState, number>()
    const pending: Promise<unknown>[] = []
    for (const state of states) {
      const count = tasks.countTasks({ ...owner, state })
      if (isPromise(count)) pending.push(count.then((known) => live.set(state, known)))
      else live.set(state, count)
    }
    return pending.length === 0 ? live : Promise.all(pending).then(() => live)
  }

  /**
   * Requires that the owner can have one more task. `undefined` where it can, and nothing has to be awaited.
   *
   * @throws {A2AError} As a rejection: `RATE_LIMITED`.
   */
  requireRoom(owner: OwnerFilter): Promise<void> | undefined {
    const check = (live: LiveTasks | undefined): Promise<void> | undefined =>
      live && this.refusal(owner, live)?.then((error) => Promise.reject(error))
    const counting = this.count(owner)
    return isPromise(counting) ? counting.then(check) : check(counting)
  }

  /**
   * Limits forks, which no message begins.
   *
   * @param requireRun - Throws when this process can begin no run for the owner.
   * @returns A function that ends it.
   */
  limitForks(requireRun: (owner: OwnerFilter) => void): () => void {
    const { tasks } = this.#settings
    return limitForks(tasks, (owner, isWorking) => {
      // Over a store, a process that has room continues the fork.
      if (isWorking && !isShared(tasks)) requireRun(owner)
      return this.requireRoom(owner)
    })
  }

  /** The error for an owner that cannot begin another task; `undefined` for one that can. */
  refusal(owner: OwnerFilter, live: LiveTasks): Promise<A2AError> | undefined {
    const { limits, tasks } = this.#settings
    const beginning = this.#beginning(owner)
    const total = [...live.values()].reduce((sum, count) => sum + count, beginning)
    if (total < limits.maxTasksPerOwner) return undefined
    const isAtWork = [...live].some(([state, count]) => count > 0 && !isInterrupted(state, tasks.lifecycle))
    return this.#refusal(owner, isAtWork || beginning > 0)
  }

  async #refusal(owner: OwnerFilter, isAtWork: boolean): Promise<A2AError> {
    if (isAtWork) return tooManyOf('tasks')
    // All wait for the user. Without an answer, there is room when the first of them is canceled.
    return tooManyOf('tasks', await untilTimeoutMs(this.#settings, owner))
  }
}
