/**
 * Tasks that were removed while their readers take large answers: how much memory they may take.
 *
 * @module
 */
import { sizeOf } from '../../core/json.js'

export interface TaskId {
  readonly taskId: string
  /** Tells tasks with the same id apart; `undefined` where an answer does not show it. */
  readonly createdAt: string | undefined
}

/** A task, or an event of one, that an answer shows. */
export interface Shown extends TaskId {
  readonly value: object
}

/** A large answer that is being written. */
interface Reading {
  readonly shown: readonly Shown[]
  readonly drop: () => void
}

/** Whether a task is in memory for other reasons than its readers. */
export type IsInMemory = (task: TaskId) => boolean

export class RemovedTasks {
  readonly #max: number
  readonly #isInMemory: IsInMemory
  /** The oldest first. */
  readonly readings = new Set<Reading>()
  readonly #costs = new WeakMap<object, number>()

  /** @param max The bytes of heap that such tasks may take. */
  constructor(max: number, isInMemory: IsInMemory) {
    this.#max = max
    this.#isInMemory = isInMemory
  }

  has(task: TaskId): boolean {
    return !this.#isInMemory(task)
  }

  /** Returns a function that ends the reading. */
  read(shown: readonly Shown[], drop: () => void): () => void {
    const reading: Reading = { shown, drop }
    this.readings.add(reading)
    return () => void this.readings.delete(reading)
  }

  /** Drops the oldest answers that hold more removed tasks than there is room for. */
  trim(): void {
    const counted = new Set<object>()
    let cost = 0
    for (const reading of [...this.readings].reverse()) {
      const removed = reading.shown.filter((each) => !counted.has(each.value) && this.has(each))
      const more = removed.reduce((sum, { value }) => sum + this.#costOf(value), 0)
      if (more > 0 && cost + more > this.#max) {
        this.readings.delete(reading)
        reading.drop()
        continue
      }
      cost += more
      for (const { value } of removed) counted.add(value)
    }
  }

  /** Measured once: what answers show is frozen. */
  #costOf(value: object): number {
    const known = this.#costs.get(value)
    if (known !== undefined) return known
    const { cost } = sizeOf(value)
    this.#costs.set(value, cost)
    return cost
  }
}

interface Task {
  readonly id: string
  readonly createdAt: string
}

/** What the result of an operation, or an entry of a stream, may show. */
interface Answer {
  readonly task?: Task | undefined
  readonly tasks?: readonly { readonly task: Task }[] | undefined
  readonly event?: { readonly taskId: string } | undefined
}

/** The tasks and events in the result of an operation, or in an entry of a stream. */
export function shownIn(answer: unknown): Shown[] {
  if (typeof answer !== 'object' || answer === null) return []
  // Others have none of these.
  const { task, tasks = [], event } = answer as Answer
  const all = [...(task === undefined ? [] : [task]), ...tasks.map((view) => view.task)]
  const shown: Shown[] = all.map((each) => ({ taskId: each.id, createdAt: each.createdAt, value: each }))
  if (event !== undefined) shown.push({ taskId: event.taskId, createdAt: undefined, value: event })
  return shown
}
