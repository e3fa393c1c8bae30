/**
 * A task as a manager holds it, with its log. Callers receive nothing of it but what `show` freezes.
 *
 * @module
 */
import type { TaskEvent } from './events.js'
import { createdEvent, apply, thawTask } from './evolve.js'
import type { TaskSnapshot, Task } from './task.js'
import type { EndReason, RemovalCode } from './errors.js'
import { freezeDeep } from './json.js'
import type { Instant } from './timeline.js'
import { payloadSize, usageAfter, type Usage } from './sizes.js'

/** Settles when the task does what it waits for. */
export interface Waiter<S extends string> {
  /** Whether it wants to see a task in `state` at all: one that only waits for a state costs nothing meanwhile. */
  accepts(state: S): boolean
  offer(task: TaskSnapshot<S>): void
  abandon(code: RemovalCode): void
}

export interface Watchers<S extends string> {
  controller: AbortController | undefined
  readonly waiters: Set<Waiter<S>>
  /** Wake the subscribers that have read all there is. */
  readonly wakers: Set<() => void>
}

/** A position in a {@link Chain}. */
export interface Link<S extends string> {
  readonly record: TaskRecord<S>
  readonly chain: Chain<S>
  previous: Link<S> | undefined
  next: Link<S> | undefined
}

/** The tasks of one value, least recently changed first. */
export interface Chain<S extends string> {
  readonly key: string
  size: number
  first: Link<S> | undefined
  last: Link<S> | undefined
}

const NO_USAGE: Usage = { artifacts: 0, messages: 0 }

/** What the events of one log may take, in bytes: a thousand versions of an artifact can be large. */
const MAX_BYTES = 4_194_304
/** What an event takes besides what it carries. */
const EVENT_BYTES = 150

interface Segment<S extends string> {
  readonly events: readonly TaskEvent<S>[]
  readonly bytes: number
}

/**
 * Keeps the latest `size` events, fewer where they are large. Two segments make dropping old ones O(1): when the
 * newer is full it becomes the older, and the older goes.
 *
 * The `created` event is not kept: all that it says stays in the task for good, and 100,000 of them weigh 10 MB.
 */
class TaskLog<S extends string> {
  /** Most tasks end without one. */
  #older: Segment<S> | undefined
  #newer: TaskEvent<S>[] | undefined
  #newerBytes = 0
  /** Generation of the latest event that is no longer held; 0 when all are. */
  #dropped: number

  /** `dropped` is the generation up to which events are not held: 0 for a new task, its own for a restored one. */
  constructor(dropped: number) {
    this.#dropped = dropped
  }

  /** `bytes` is what the event carries, `size` how many events are kept. */
  push(event: TaskEvent<S>, bytes: number, size: number): void {
    // A literal holds one element; pushing to an empty array makes room for 17.
    if (this.#newer === undefined) this.#newer = [event]
    else this.#newer.push(event)
    this.#newerBytes += bytes + EVENT_BYTES
    // A single event may be larger than all of the log should be: it stays as long as it is the latest.
    if ((this.#older?.bytes ?? 0) + this.#newerBytes > MAX_BYTES) this.#replaceOlder(undefined)
    if (this.#newer.length >= size) {
      this.#replaceOlder({ events: this.#newer, bytes: this.#newerBytes })
    } else if (this.#newerBytes >= MAX_BYTES / 2) {
      // Not full yet, only heavy: what came before may still fit.
      const { events, bytes } = this.#older ?? { events: [], bytes: 0 }
      this.#older = { events: [...events, ...this.#newer], bytes: bytes + this.#newerBytes }
    } else {
      return
    }
    this.#newer = undefined
    this.#newerBytes = 0
  }

  /** The event of `generation`; `undefined` when it is not held, or not among the latest `size`. */
  at(generation: number, task: TaskSnapshot<S>, size: number): TaskEvent<S> | undefined {
    if (generation <= this.#dropped || generation <= task.generation - size) return undefined
    // The task keeps everything that its first event held.
    if (generation === 1) return createdEvent(task, task.history[0]?.state ?? task.state, task.createdAt)
    const first = this.#newer?.[0]
    if (first !== undefined && generation >= first.generation)
      return this.#newer?.[generation - first.generation]
    const oldest = this.#older?.events[0]
    return oldest && this.#older?.events[generation - oldest.generation]
  }

  /** Gives back what pushing reserved. For a task that has ended. */
  trim(): void {
    this.#newer = this.#newer?.slice()
  }

  #replaceOlder(segment: Segment<S> | undefined): void {
    this.#dropped = this.#older?.events.at(-1)?.generation ?? this.#dropped
    this.#older = segment
  }
}

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
  #isFrozen = false

  /** Why nobody need work on the task any more: why it is gone, or, once it has ended, why its signal is aborted. */
  endReason: EndReason | undefined
  /** Whoever waits for something to happen to the task. Most tasks end without anybody. */
  watchers: Watchers<S> | undefined

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
  snapshot(): TaskSnapshot<S> {
    if (!this.#isFrozen) {
      this.#isFrozen = true
      freezeDeep(this.#task)
    }
    return this.#task
  }

  append(event: TaskEvent<S>, logSize: number): void {
    if (this.#isFrozen) {
      this.#task = thawTask(this.#task)
      this.#isFrozen = false
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

  watch(): Watchers<S> {
    this.watchers ??= { controller: undefined, waiters: new Set(), wakers: new Set() }
    return this.watchers
  }

  wake(): void {
    if (this.watchers === undefined) return
    const wakers = [...this.watchers.wakers]
    this.watchers.wakers.clear()
    for (const wake of wakers) wake()
  }
}
