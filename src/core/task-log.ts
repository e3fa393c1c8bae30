/**
 * The events of one task, as many as memory allows for.
 *
 * @module
 */
import type { TaskEvent } from './events.js'
import { createdEvent } from './evolve.js'
import type { TaskSnapshot } from './task.js'

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
export class TaskLog<S extends string> {
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
    if (generation === 1) return createdEvent(task)
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
