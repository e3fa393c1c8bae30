/**
 * Log of the latest events of a task, from which readers resume.
 *
 * @module
 */
import type { TaskCreated, TaskEvent } from './events.js'
import { createdEvent } from './events.js'
import type { TaskSnapshot } from './task.js'

/** The maximum bytes of JSON in the events of one log: a thousand versions of an artifact can be large. */
const MAX_BYTES = 4_194_304

export interface LogReader<S extends string> {
  /** The event of `generation`; `undefined` if it is not held, or not among the latest `size`. */
  at(generation: number, task: TaskSnapshot<S>, size: number): TaskEvent<S> | undefined
}

interface Segment<S extends string> {
  readonly events: readonly TaskEvent<S>[]
  readonly bytes: number
  readonly cost: number
}

/**
 * The latest `size` events, or fewer if they are large. Two segments make dropping old events O(1): when the newer
 * segment is full, it replaces the older one.
 *
 * The `created` event is not kept until the metadata change: the task holds all its data, and 100,000 of these events take
 * 10 MB.
 */
export class TaskLog<S extends string> implements LogReader<S> {
  /** Undefined until the newer segment is full once, which most logs never reach. */
  #older: Segment<S> | undefined
  #newer: TaskEvent<S>[] | undefined
  #newerBytes = 0
  #newerCost = 0
  /** The first event of a task whose metadata have changed since. */
  #created: TaskCreated<S> | undefined
  /** Generation of the latest event that is no longer held; 0 while all are. */
  #dropped: number

  /** @param dropped The generation up to which events are not held: 0 for a new task, its own for a restored one. */
  constructor(dropped: number) {
    this.#dropped = dropped
  }

  /** The bytes of heap that the events take beside what the task shares with them. */
  get cost(): number {
    return (this.#older?.cost ?? 0) + this.#newerCost
  }

  /**
   * @param bytes What the event adds to the size of the log.
   * @param cost What the event adds to {@link cost}.
   * @param size The number of events to keep.
   */
  push(event: TaskEvent<S>, bytes: number, cost: number, size: number): void {
    // A literal reserves one element, pushing to an empty array 17.
    if (this.#newer === undefined) this.#newer = [event]
    else this.#newer.push(event)
    this.#newerBytes += bytes
    this.#newerCost += cost
    // The latest event is kept even if it alone exceeds the maximum.
    if ((this.#older?.bytes ?? 0) + this.#newerBytes > MAX_BYTES) this.#replaceOlder(undefined)
    if (this.#newer.length >= size) {
      this.#replaceOlder({ events: this.#newer, bytes: this.#newerBytes, cost: this.#newerCost })
    } else if (this.#newerBytes >= MAX_BYTES / 2) {
      // The segment is large but not full: the older events may still fit.
      const { events, bytes, cost } = this.#older ?? { events: [], bytes: 0, cost: 0 }
      this.#older = {
        events: [...events, ...this.#newer],
        bytes: bytes + this.#newerBytes,
        cost: cost + this.#newerCost,
      }
    } else {
      return
    }
    this.#newer = undefined
    this.#newerBytes = 0
    this.#newerCost = 0
  }

  at(generation: number, task: TaskSnapshot<S>, size: number): TaskEvent<S> | undefined {
    if (generation <= this.#dropped || generation <= task.generation - size) return undefined
    if (generation === 1) return this.#created ?? createdOf(task)
    const first = this.#newer?.[0]
    if (first !== undefined && generation >= first.generation)
      return this.#newer?.[generation - first.generation]
    const oldest = this.#older?.events[0]
    return oldest && this.#older?.events[generation - oldest.generation]
  }

  /** The metadata of the task are about to change. */
  keepCreated(task: TaskSnapshot<S>): void {
    this.#created ??= createdOf(task)
  }

  /** Frees what pushing reserved. For a task that has ended. */
  trim(): void {
    this.#newer = this.#newer?.slice()
  }

  #replaceOlder(segment: Segment<S> | undefined): void {
    this.#dropped = this.#older?.events.at(-1)?.generation ?? this.#dropped
    this.#older = segment
  }
}

/** The first event of a task, which holds all its data. */
function createdOf<S extends string>(task: TaskSnapshot<S>): TaskCreated<S> {
  return createdEvent(task, task.history[0]?.state ?? task.state, task.createdAt)
}
