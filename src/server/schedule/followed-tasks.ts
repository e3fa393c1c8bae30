/**
 * Tasks that wait for other agents, without their code in memory: this process holds their leases and follows the agents.
 *
 * @module
 */
import { onAbort } from '../../runtime/abort.js'
import type { LeasedTasks } from '../../core/managers.js'
import type { TaskKey } from '../../core/task.js'
import type { Parked } from './active-run.js'
import type { DelegationMarks } from '../journal/delegation-marks.js'
import { isOver, type Follower } from '../../remote/follower.js'
import type { NamedEntry } from '../../core/history/named-entry.js'
import { isTaskEnd } from '../../core/errors.js'

interface Followed {
  /** Empty once the turn is to continue. */
  readonly followers: Set<Follower>
  /** What else continues the turn. */
  readonly parked: Parked
  /** Ends the connection to the task's signal. */
  unfollow: () => void
}

export class FollowedTasks {
  readonly #leased: LeasedTasks
  readonly #marks: DelegationMarks
  readonly #onNews: (taskId: string) => void
  readonly #onError: (error: unknown, taskId: string) => void
  readonly #tasks = new Map<string, Followed>()

  /** @param onNews - Called when the turn of a task is to continue. */
  constructor(
    { leased, marks }: { readonly leased: LeasedTasks; readonly marks: DelegationMarks },
    onNews: (taskId: string) => void,
    onError: (error: unknown, taskId: string) => void,
  ) {
    this.#leased = leased
    this.#marks = marks
    this.#onNews = onNews
    this.#onError = onError
  }

  /** What continues the turn of the task, beside its agents. `undefined` for a task that was not let go with agents. */
  parkedOf(taskId: string): Parked | undefined {
    return this.#tasks.get(taskId)?.parked
  }

  /** Whether agents are followed for the task now. */
  isFollowing(taskId: string): boolean {
    return (this.#tasks.get(taskId)?.followers.size ?? 0) > 0
  }

  /** Whether an agent has ended, so that the turn is to continue. Stays so until {@link stop}. */
  hasEnded(taskId: string): boolean {
    return this.#tasks.get(taskId)?.followers.size === 0
  }

  /** Follows the agents of a task in place of its code, until one of them has ended. */
  add(taskId: string, followers: ReadonlySet<Follower>, parked: Parked): void {
    const isParallel = followers.size > 1 || parked.isBesideOthers
    const signal = this.#leased.signalOf(taskId)
    const followed: Followed = { followers: new Set(followers), parked, unfollow: () => {} }
    this.#tasks.set(taskId, followed)
    for (const follower of followers) {
      const record = (entry: NamedEntry): void =>
        this.#leased.recordJournal(taskId, [isParallel ? { ...entry, isParallel } : entry])
      follower.handTo({
        record,
        stored: () => this.#leased.stored(taskId),
        settle: (outcome) => {
          if (!this.isFollowing(taskId)) return
          try {
            // An error is thrown where the code asks for the result.
            if ('result' in outcome) record(follower.entryOf(outcome.result))
          } catch (error) {
            this.#onError(error, taskId)
          }
          this.leave(taskId)
          this.#onNews(taskId)
        },
      })
    }
    followed.unfollow = onAbort(signal, () => this.#end(taskId, signal.reason))
  }

  /** Leaves the agents' tasks to the code, which is to continue. From now on nothing of them is recorded. */
  leave(taskId: string): void {
    const { followers } = this.#tasks.get(taskId) ?? {}
    const left = [...(followers ?? [])]
    followers?.clear()
    for (const follower of left) follower.stop(undefined)
  }

  /** As {@link leave}, and forgets the task: its code continues, in this process or another. */
  stop(taskId: string): void {
    for (const follower of this.#remove(taskId)) follower.stop(undefined)
  }

  /** Leaves all of them, whose turns another process continues. */
  close(): void {
    for (const taskId of this.#tasks.keys()) this.leave(taskId)
  }

  #end(taskId: string, reason: unknown): void {
    const task = this.#leased.peekTask(taskId)
    const isAsked = this.parkedOf(taskId)?.isAskedByAgent === true
    const followers = this.#remove(taskId)
    if (isTaskEnd(reason)) void this.#cancel(followers, reason, isAsked ? null : task)
    else for (const follower of followers) follower.stop(reason)
  }

  /**
   * A task that could not be canceled at its agent stays marked, and so does one whose agents were left to the code, which has
   * not continued.
   *
   * @param marked - Whose mark is removed when all followed tasks are canceled. `null` where a task that nobody follows is left.
   */
  async #cancel(followers: ReadonlySet<Follower>, reason: unknown, marked: TaskKey | null): Promise<void> {
    if (followers.size === 0) return
    const outcomes = [...followers].map((follower) => follower.canceled(reason))
    if ((await Promise.all(outcomes)).every(isOver) && marked !== null) await this.#marks.remove(marked)
  }

  #remove(taskId: string): ReadonlySet<Follower> {
    const followed = this.#tasks.get(taskId)
    this.#tasks.delete(taskId)
    followed?.unfollow()
    return followed?.followers ?? new Set()
  }
}
