/**
 * A task's events as a webhook is told of them.
 *
 * @module
 */
import type { ArtifactChanged, OutputChanged, TaskEvent, TaskStreamEvent } from '../../core/events.js'
import { apply, thawTask } from '../../core/evolve.js'
import type { TaskSubscription } from '../../core/subscription.js'
import type { Task, TaskSnapshot } from '../../core/task.js'
import type { StreamEntry } from '../../wire/dialect.js'
import { TaskStream } from '../streams/task-stream.js'
import { isShared, lastSeen, type ServedTasks } from '../tasks.js'

/** An entry of a task's stream. */
export interface Happening {
  readonly entry: StreamEntry
  /** The task as it was then, where whole tasks are told. To be read until the next one is asked for. */
  readonly task: TaskSnapshot | undefined
  readonly generation: number
}

/** A cursor into the task's log, beginning with the task as it is, or after what was told. */
export class PushStory {
  readonly #tasks: ServedTasks
  readonly #id: string
  readonly #reader: WholeReader | undefined
  readonly #stream: TaskStream
  /** Where whole tasks are told: the generation that was. */
  readonly #told: number | undefined
  #isGone = false

  /**
   * @param turn - Where whole tasks are told, what to wait for when there are artifacts. Those that come meanwhile are
   *   told at once.
   * @param told - The generation that the story goes on after. Where whole tasks are told, it is with the task as it is.
   */
  constructor(
    tasks: ServedTasks,
    { id, contextId }: TaskSnapshot,
    turn: (() => Promise<void>) | undefined,
    told?: number,
  ) {
    const after = turn === undefined ? told : undefined
    this.#tasks = tasks
    this.#id = id
    this.#told = turn && told
    const events = tasks.subscribe(id, { after })
    this.#reader = turn && new WholeReader(events, turn, () => this.#task()?.generation)
    this.#stream = new TaskStream(this.#reader ?? events, {
      ...{ contextId, historyLength: undefined, endsAtInput: false, onEnd: () => undefined, after },
      task: () => this.#task(),
    })
  }

  /** Waits for what comes next; `undefined` when nothing will. */
  async next(): Promise<Happening | undefined> {
    for (;;) {
      const { value: entry } = await this.#stream.next()
      if (entry === undefined) return undefined
      const happening = this.#happeningOf(entry)
      if (happening.generation !== this.#told) return happening
    }
  }

  /**
   * Whether there is nothing to tell any more: the task is neither there nor released, so its manager was destroyed. Of
   * tasks in a store it is the store that says so.
   */
  get isOver(): boolean {
    return !isShared(this.#tasks) && !this.#isGone && this.#task() === undefined
  }

  /** The task is gone: there may be another one with its id. */
  release(): void {
    this.#isGone = true
  }

  /** Ends the story as soon as all that has happened is told. */
  close(): void {
    this.#stream.close()
  }

  /** Ends it now, also while `next()` waits. */
  end(): void {
    void this.#stream.return()
  }

  #task(): TaskSnapshot | undefined {
    return this.#isGone ? undefined : lastSeen(this.#tasks, this.#id)
  }

  #happeningOf(entry: StreamEntry): Happening {
    return { entry, task: this.#reader?.task, generation: generationOf(entry) }
  }
}

function generationOf(entry: StreamEntry): number {
  if (entry.type === 'task') return entry.task.generation
  // Streams of tasks have no replies.
  return entry.type === 'message' ? 0 : entry.event.generation
}

type Result = Awaited<ReturnType<TaskSubscription['next']>>

/** Keeps the task as it was at the latest event that was read, at the cost of the event. */
class WholeReader implements TaskSubscription {
  readonly #events: TaskSubscription
  readonly #turn: () => Promise<void>
  /** Of the latest event there is; absent when the task is gone. */
  readonly #latest: () => number | undefined
  #task: Task | undefined
  /** What was read, and is not told yet. */
  #ahead: Result | undefined

  constructor(events: TaskSubscription, turn: () => Promise<void>, latest: () => number | undefined) {
    this.#events = events
    this.#turn = turn
    this.#latest = latest
  }

  get task(): TaskSnapshot | undefined {
    return this.#task
  }

  async next(): Promise<Result> {
    const result = this.#ahead ?? (await this.#events.next())
    this.#ahead = undefined
    const { value: event } = result
    if (event === undefined) return result
    this.#follow(event)
    if (!isProduct(event)) return result
    await this.#turn()
    return await this.#skip(event)
  }

  return(): ReturnType<TaskSubscription['return']> {
    return this.#events.return()
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** To the latest artifact before the next change of state. */
  async #skip(first: Product): Promise<Result> {
    let product = first
    let generation = first.generation
    // What there is comes at once; the log of a task that is gone has an end.
    while (generation !== this.#latest()) {
      const result = await this.#events.next()
      const { value: event } = result
      if (event === undefined || !(isProduct(event) || event.type === 'message')) {
        this.#ahead = result
        break
      }
      this.#follow(event)
      if (isProduct(event)) product = event
      generation = event.generation
    }
    // Messages are no news, but the task has them.
    return { done: false, value: { ...product, generation } }
  }

  #follow(event: TaskStreamEvent): void {
    if (event.type === 'snapshot' || event.type === 'resync') this.#task = thawTask(event.task)
    else if (this.#task !== undefined) apply(this.#task, event)
  }
}

type Product = Extract<TaskEvent, ArtifactChanged | OutputChanged>

function isProduct(event: TaskStreamEvent): event is Product {
  return event.type === 'artifact' || event.type === 'output'
}
