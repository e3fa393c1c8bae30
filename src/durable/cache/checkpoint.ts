/**
 * Conversion between tasks and their stored form, and the policy for storing checkpoints.
 *
 * @module
 */
import { withJoinedTexts } from '../../core/artifacts/append-parts.js'
import { TIMEOUT_MESSAGE } from '../../core/decide.js'
import { A2AError, type EndReason } from '../../core/errors.js'
import type { TaskEvent } from '../../core/events.js'
import { apply, thawTask } from '../../core/evolve.js'
import { jsonSize } from '../../core/json.js'
import { isTerminal, type Lifecycle } from '../../core/lifecycle.js'
import type { Task, TaskSnapshot } from '../../core/task.js'
import { payloadSize } from '../../core/sizes.js'
import type { StoredTask, TaskHead } from '../task-store.js'
import { fromStored } from '../stored-events.js'

/** Approximate size of an event in a log without its payload, in bytes. */
const EVENT_BYTES = 150
/** Below this size a log is cheap to read, and a checkpoint would save nothing. */
const MIN_TAIL_BYTES = 16_384

/** The form of checkpoints. Earlier releases wrote none, and kept each chunk of a text as a part of its own. */
const FORM = 2

/** A task as a store keeps it. */
export interface Checkpoint<S extends string = string> extends TaskSnapshot<S> {
  readonly form?: number
}

/** The checkpoint to store of `task`. */
export function toCheckpoint<S extends string>(task: TaskSnapshot<S>): Checkpoint<S> {
  return { ...task, form: FORM }
}

/** The task of a checkpoint. One without a form does not say which texts one write has brought: all neighbours become one. */
function fromCheckpoint({ form, ...task }: Checkpoint): TaskSnapshot<string> {
  if (form !== undefined) return task
  return { ...task, artifacts: task.artifacts.map(withJoinedTexts) }
}

/** A new task: `task` with those of `events` applied that it lacks. O(size of the structure and of the events). */
export function fold<S extends string>(task: TaskSnapshot<S>, events: readonly TaskEvent<S>[]): Task<S> {
  const folded = thawTask(task)
  for (const event of events) if (event.generation > folded.generation) apply(folded, event)
  return folded
}

/**
 * The task that a store returned, with its events applied to its checkpoint.
 *
 * @throws {A2AError} `STORE_FAILED` when its events do not follow each other, or its state is not in the lifecycle.
 */
export function unfold<S extends string>(
  { checkpoint, events }: StoredTask,
  { states }: Lifecycle<S>,
): Task<S> {
  // The state and the generation are checked below; a manager of this lifecycle wrote the rest.
  const task = fold(fromCheckpoint(checkpoint) as TaskSnapshot<S>, events.map(fromStored) as TaskEvent<S>[])
  if (events.length > 0 && task.generation !== checkpoint.generation + events.length) {
    throw unreadable(`The log of task ${task.id} has a gap after generation ${checkpoint.generation}`)
  }
  if (!states.includes(task.state)) {
    throw unreadable(`Task ${task.id} is in state "${task.state}", which the lifecycle does not have`)
  }
  return task
}

/** @throws {A2AError} `STORE_FAILED` unless the event follows the task. */
export function requireNext(
  { id, generation }: TaskSnapshot<string>,
  { generation: next }: TaskEvent<string>,
): void {
  if (next !== generation + 1) throw unreadable(`The log of task ${id} has a gap before generation ${next}`)
}

/** The error for stored data that this manager cannot use. */
export function unreadable(message: string, operation = 'get'): A2AError<'STORE_FAILED'> {
  return new A2AError('STORE_FAILED', message, { operation })
}

/** Why work on the task should stop, if it was canceled or timed out. A timeout is recognized by its status message. */
export function endingOf({ state, message }: TaskSnapshot<string>): EndReason | undefined {
  if (state === 'canceled') return 'TASK_CANCELED'
  return state === 'failed' && message === TIMEOUT_MESSAGE ? 'TASK_TIMED_OUT' : undefined
}

/** The head of `task` with `events` applied. */
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
 * Decides when to store a checkpoint: when the events since the last one are as large as that was, and when the task ends.
 * A read then costs at most twice the size of the task, and storing n chunks costs O(n), checkpoints included.
 */
export class Checkpoints {
  #checkpointBytes: number
  #tailBytes: number

  /** @param tail - The events that are stored after the checkpoint. */
  constructor(checkpoint: TaskSnapshot<string>, tail: readonly TaskEvent<string>[] = []) {
    this.#checkpointBytes = jsonSize(checkpoint)
    this.#tailBytes = sizeOf(tail)
  }

  isDue(events: readonly TaskEvent<string>[], hasEnded: boolean): boolean {
    return hasEnded || this.#tailBytes + sizeOf(events) > Math.max(MIN_TAIL_BYTES, this.#checkpointBytes)
  }

  /** Records that `events` were stored, with `checkpoint` if there was one. */
  record(events: readonly TaskEvent<string>[], checkpoint: TaskSnapshot<string> | undefined): void {
    this.#tailBytes = checkpoint === undefined ? this.#tailBytes + sizeOf(events) : 0
    if (checkpoint !== undefined) this.#checkpointBytes = jsonSize(checkpoint)
  }
}

/** The approximate size of events in bytes. */
export function sizeOf(events: readonly TaskEvent<string>[]): number {
  return events.reduce((sum, event) => sum + payloadSize(event).bytes + EVENT_BYTES, 0)
}
