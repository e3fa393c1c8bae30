/**
 * A task as a manager holds it. Nothing in here is ever handed out but what `show` freezes.
 *
 * @module
 */
import type { EndingCode, RemovalCode } from './errors.js'
import type { TaskEvent } from './events.js'
import { apply, thawTask } from './evolve.js'
import { freezeDeep } from './json.js'
import type { Link } from './task-index.js'
import { TaskLog } from './task-log.js'
import type { Task, TaskSnapshot } from './task.js'
import type { Instant } from './timeline.js'
import { payloadSize, usageAfter, type Usage } from './sizes.js'

/** Settles when the task does what it waits for. */
export interface Waiter<S extends string> {
  /** Whether it wants to see a task in `state` at all: one that only waits for a state costs nothing meanwhile. */
  isCurious(state: S): boolean
  offer(task: TaskSnapshot<S>): void
  abandon(code: RemovalCode): void
}

export interface Followers<S extends string> {
  controller: AbortController | undefined
  readonly waiters: Set<Waiter<S>>
  /** Wake the subscribers that have read all there is. */
  readonly wakers: Set<() => void>
}

const NO_USAGE: Usage = { artifacts: 0, messages: 0 }

export class TaskRecord<S extends string> {
  /** In order of creation. */
  previous: TaskRecord<S> | undefined
  next: TaskRecord<S> | undefined
  /** Place in the order of creation. */
  position = 0
  /** Place in the order of the latest change. */
  stamp = 0
  /** This task's links in the indexes that are in use, by the slot of the index. */
  links: (Link<S> | undefined)[] | undefined

  readonly created: Instant
  usage: Usage
  readonly log: TaskLog<S>
  #task: Task<S>
  #shown = false

  /** Why nobody need work on the task any more: why it is gone, or, once it has ended, why its signal is aborted. */
  over: EndingCode | undefined
  /** Whoever waits for something to happen to the task. Most tasks end without anybody. */
  followers: Followers<S> | undefined

  constructor(task: Task<S>, created: Instant, usage: Usage = NO_USAGE, dropped = 0) {
    this.#task = task
    this.created = created
    this.usage = usage
    this.log = new TaskLog(dropped)
  }

  /** The task, to read and not to keep. */
  get task(): TaskSnapshot<S> {
    return this.#task
  }

  /**
   * The task, frozen: shared by all who ask until it changes. Freezing costs more than copying, so nothing is frozen
   * before somebody asks, and then in place; the next change goes on with a copy of what it has to write to.
   */
  show(): TaskSnapshot<S> {
    if (!this.#shown) {
      this.#shown = true
      freezeDeep(this.#task)
    }
    return this.#task
  }

  append(event: TaskEvent<S>, logSize: number): void {
    if (this.#shown) {
      this.#task = thawTask(this.#task)
      this.#shown = false
    }
    const bytes = payloadSize(event)
    const usage = usageAfter(this.usage, this.#task, event, bytes)
    apply(this.#task, event)
    this.usage = usage
    this.log.push(event, bytes, logSize)
  }

  /** Gives back what growing reserved. For a task that has ended. */
  trim(): void {
    this.#task.history = this.#task.history.slice()
    this.log.trim()
  }

  follow(): Followers<S> {
    this.followers ??= { controller: undefined, waiters: new Set(), wakers: new Set() }
    return this.followers
  }

  wake(): void {
    if (this.followers === undefined) return
    const wakers = [...this.followers.wakers]
    this.followers.wakers.clear()
    for (const wake of wakers) wake()
  }
}
