/**
 * A task's events as a webhook is told of them.
 *
 * @module
 */
import type { TaskStreamEvent } from '../core/events.js'
import { apply, thawTask } from '../core/evolve.js'
import type { TaskManager } from '../core/task-manager.js'
import type { TaskSubscription } from '../core/subscription.js'
import type { Task, TaskSnapshot } from '../core/task.js'
import type { StreamEntry } from '../wire/index.js'
import { EntryStream } from './entry-stream.js'

/** An entry of a task's stream. */
export interface Happening {
  readonly entry: StreamEntry
  /** The task as it was then. To be read until the next one is asked for. */
  readonly task: TaskSnapshot
  readonly generation: number
}

/** A cursor into the task's log, beginning with the task as it is. */
export class PushStory {
  readonly #reader: TaskReader
  readonly #stream: EntryStream

  constructor(tasks: TaskManager, { id, contextId }: TaskSnapshot) {
    this.#reader = new TaskReader(tasks.subscribe(id))
    this.#stream = new EntryStream(this.#reader, {
      ...{ contextId, historyLength: undefined, endsAtInput: false, onEnd: () => undefined },
      task: () => tasks.peekTask(id) ?? undefined,
    })
  }

  /** Waits for what comes next; `undefined` when nothing will. */
  async next(): Promise<Happening | undefined> {
    const { value } = await this.#stream.nextAs((entry) => this.#happeningOf(entry))
    return value
  }

  /** Ends the story as soon as all that has happened is told. */
  close(): void {
    this.#stream.close()
  }

  /** Ends it now, also while `next()` waits. */
  end(): void {
    void this.#stream.return()
  }

  #happeningOf(entry: StreamEntry): Happening {
    const { task } = this.#reader
    // The stream's entries come of what the reader has read.
    if (task === undefined) throw new TypeError('An entry came before its task')
    return { entry, task, generation: task.generation }
  }
}

/** Keeps the task as it was at the latest event that was read, at the cost of the event. */
class TaskReader implements TaskSubscription {
  readonly #events: TaskSubscription
  #task: Task | undefined

  constructor(events: TaskSubscription) {
    this.#events = events
  }

  get task(): TaskSnapshot | undefined {
    return this.#task
  }

  async next(): ReturnType<TaskSubscription['next']> {
    const result = await this.#events.next()
    if (result.value !== undefined) this.#follow(result.value)
    return result
  }

  return(): ReturnType<TaskSubscription['return']> {
    return this.#events.return()
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #follow(event: TaskStreamEvent): void {
    if (event.type === 'snapshot' || event.type === 'resync') this.#task = thawTask(event.task)
    else if (this.#task !== undefined) apply(this.#task, event)
  }
}
