/**
 * Tasks on their way to the store and back.
 *
 * @module
 */
import { TIMEOUT_MESSAGE } from '../../core/decide.js'
import { A2AError, type EndingCode } from '../../core/errors.js'
import type { TaskEvent } from '../../core/events.js'
import { apply, thawTask } from '../../core/evolve.js'
import { jsonSize } from '../../core/json.js'
import { isTerminal, type Lifecycle } from '../../core/lifecycle.js'
import type { Task, TaskSnapshot } from '../../core/task.js'
import { payloadSize } from '../../core/sizes.js'
import type { StoredTask, TaskHead } from '../task-store.js'

/** What an event takes in a log besides what it carries, in bytes, about. */
const EVENT_BYTES = 150
/** A task that is smaller than this is not worth keeping whole each time that it doubles. */
const MIN_TAIL_BYTES = 16_384

/** `task` after `events`: a task of its own. O(size of the structure, and of the events). */
export function fold<S extends string>(task: TaskSnapshot<S>, events: readonly TaskEvent<S>[]): Task<S> {
  const folded = thawTask(task)
  for (const event of events) apply(folded, event)
  return folded
}

/**
 * The task that a store gave.
 *
 * @throws {A2AError} `STORE_FAILED` when its events do not follow each other, or its state is not in the lifecycle.
 */
export function unfold<S extends string>(
  { checkpoint, events }: StoredTask,
  { states }: Lifecycle<S>,
): Task<S> {
  // Checked next.
  const task = fold(checkpoint as TaskSnapshot<S>, events as readonly TaskEvent<S>[])
  if (events.length > 0 && task.generation !== checkpoint.generation + events.length) {
    throw unreadable(`The log of task ${task.id} has a gap after generation ${checkpoint.generation}`)
  }
  if (!states.includes(task.state)) {
    throw unreadable(`Task ${task.id} is in state "${task.state}", which the lifecycle does not have`)
  }
  return task
}

/** What a store holds cannot be used. */
export function unreadable(message: string, operation = 'get'): A2AError<'STORE_FAILED'> {
  return new A2AError('STORE_FAILED', message, { operation })
}

/** Why nobody need work on a task that has ended. Whoever failed it since it is late says so by this very message. */
export function endingOf({ state, message }: TaskSnapshot<string>): EndingCode | undefined {
  if (state === 'canceled') return 'TASK_CANCELED'
  return state === 'failed' && message === TIMEOUT_MESSAGE ? 'TASK_TIMED_OUT' : undefined
}

/** What a store is to know of `task` after `events`, of which there is at least one. */
export function headOf<S extends string>(
  task: TaskSnapshot<S>,
  events: readonly TaskEvent<S>[],
  lifecycle: Lifecycle<S>,
): TaskHead {
  const { id, createdAt } = task
  let { state, generation, updatedAt } = task
  for (const event of events) {
    if (event.type === 'status') state = event.to
    generation = event.generation
    updatedAt = event.timestamp
  }
  return { id, createdAt, generation, state, hasEnded: isTerminal(state, lifecycle), updatedAt }
}

/**
 * When to store a task whole: when its events since the last time weigh as much as it did then, and when it ends. So a
 * task is read in twice its size at most, and n chunks cost O(n), checkpoints included.
 */
export class Checkpoints {
  #wholeBytes: number
  #tailBytes: number

  /** Of a task that was whole in the store before `tail`. */
  constructor(checkpoint: TaskSnapshot<string>, tail: readonly TaskEvent<string>[] = []) {
    this.#wholeBytes = jsonSize(checkpoint)
    this.#tailBytes = sizeOf(tail)
  }

  isDue(events: readonly TaskEvent<string>[], hasEnded: boolean): boolean {
    return hasEnded || this.#tailBytes + sizeOf(events) > Math.max(MIN_TAIL_BYTES, this.#wholeBytes)
  }

  /** These have been stored, with the whole task where there is one. */
  note(events: readonly TaskEvent<string>[], checkpoint: TaskSnapshot<string> | undefined): void {
    this.#tailBytes = checkpoint === undefined ? this.#tailBytes + sizeOf(events) : 0
    if (checkpoint !== undefined) this.#wholeBytes = jsonSize(checkpoint)
  }
}

/** In bytes, about. */
export function sizeOf(events: readonly TaskEvent<string>[]): number {
  return events.reduce((sum, event) => sum + payloadSize(event) + EVENT_BYTES, 0)
}
